"""Sends what needs the human to the phone, and takes the answers: one process at a time for a database.

On threads of its own, with a connection of its own: whatever the server does, nobody waits for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from tui_tasks.core import phone_answers
from tui_tasks.core.engine import lock_file
from tui_tasks.core.errors import Conflict, Refusal
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.asks import AnswerByPhone
from tui_tasks.core.operations.changes import RecordRefusal
from tui_tasks.core.read import alerts, views
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Ask
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN, SYSTEM
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.phone import messages
from tui_tasks.phone.ntfy_client import NtfyClient, NtfyFailed, NtfyForbidden
from tui_tasks.settings.config import NtfySettings

_log = logging.getLogger(__name__)

TOOL: Final = "ntfy"
"""Under this name the journal keeps answers that were refused."""
LOOK_SECONDS: Final = 0.5
# Seconds between two tries to become the process that sends, and to reach a server that is not there.
_TAKE_OVER: Final = 5.0
_FIRST_WAIT, _LONGEST_WAIT = 2.0, 300.0
_TURNED_AWAY: Final = 60.0
_MOST_REPLIES: Final = 1_000
# Anybody who knows the topic of answers can write to it: of what is refused, so much is kept in an hour.
MOST_REFUSALS: Final = 20
_HOUR: Final = 3_600_000_000
_SECOND: Final = 1_000_000
_STOP: Final = 2.0
_KEY: Final = "ntfy"


class PhoneService:
    """`run` sends and takes until `stop`; `look` and `take` are one step each."""

    def __init__(
        self, path: str, settings: NtfySettings, token: str | None, clock: Callable[[], int], look: float = LOOK_SECONDS
    ) -> None:
        self._path = path
        self._settings = settings
        self._clock = clock
        self._look_seconds = look
        self._client = NtfyClient(settings.server, token)
        self._stopped = threading.Event()
        self._replies: queue.Queue[tuple[str, str]] = queue.Queue(_MOST_REPLIES)
        self._refused: deque[int] = deque(maxlen=MOST_REFUSALS)
        self._seen = -1
        self._is_waiting = False
        self._again_at = 0.0
        self._wait = _FIRST_WAIT

    def stop(self) -> None:
        """End `run` soon, from any thread."""
        self._stopped.set()

    def run(self) -> None:
        """Send and take, as soon as no other process does. Whom the server turns away lets another try."""
        while not self._stopped.is_set():
            handle = lock_file.open_lock_file(f"{self._path}-ntfy", make=True)
            try:
                while not _is_locked(handle):
                    if self._stopped.wait(_TAKE_OVER):
                        return
                with Store(self._path) as store:
                    self._serve(store)
            except NtfyForbidden as forbidden:
                _log.warning("ntfy: %s: %s; is the token in the environment?", self._settings.server, forbidden)
            finally:
                os.close(handle)
            self._stopped.wait(_TURNED_AWAY)

    def _serve(self, store: Store) -> None:
        self.begin(store)
        ended = threading.Event()
        self._replies = queue.Queue(_MOST_REPLIES)
        if self._settings.replies:
            threading.Thread(
                target=self._listen, args=(self._since(store), self._replies, ended), name="ntfy replies", daemon=True
            ).start()
        try:
            while not self._stopped.is_set():
                try:
                    self._step(store)
                except Refusal as refusal:
                    _log.warning("ntfy: %s", refusal)
                    self._stopped.wait(_TAKE_OVER)
        finally:
            ended.set()

    def _step(self, store: Store) -> None:
        with contextlib.suppress(queue.Empty):
            number, text = self._replies.get(timeout=self._look_seconds)
            try:
                self.take(store, text)
            except Refusal:  # it could not be written: again, when it can
                self._replies.put((number, text))
                raise
            self._remember(store, since=number)
        self.look(store)

    def begin(self, store: Store) -> None:
        """Begin where the process before this one has ended; at the first time, with what happens from now on."""
        phone_answers.withdraw_half_sent(store.db)
        if views.get(store.db, _KEY) is None:
            self._remember(store, seq=journal.newest(store.db), since=str(self._clock() // _SECOND))

    def _remember(self, store: Store, **values: object) -> None:
        views.put(store.db, _KEY, {**(views.get(store.db, _KEY) or {}), **values})

    # Out

    def look(self, store: Store) -> None:
        """Send what has come since; where the server cannot be reached, again a while later."""
        newest = journal.newest(store.db)
        if (newest == self._seen and not self._is_waiting) or time.monotonic() < self._again_at:
            return
        try:
            self._is_waiting = self._send_asks(store)
            self._send_failures(store, newest)
        except NtfyForbidden:
            raise
        except NtfyFailed as failed:
            _log.warning("ntfy: %s: %s", self._settings.server, failed)
            self._again_at = time.monotonic() + self._wait
            self._wait = min(self._wait * 2, _LONGEST_WAIT)
            self._is_waiting = True
            return
        self._seen, self._wait = newest, _FIRST_WAIT

    def _send_asks(self, store: Store) -> bool:
        """Send the questions that have stood for a while; return whether others do not yet."""
        open_asks = queries.open_asks(store.db)
        phone_answers.forget_closed(store.db, (ask.uid for ask in open_asks))
        sent, now = phone_answers.sent(store.db), self._clock()
        waiting = [ask for ask in open_asks if ask.uid not in sent]
        due = [ask for ask in waiting if now - ask.opened_at >= self._settings.delay * _SECOND]
        for ask in due:
            self._send_ask(store, ask, now)
        return len(due) < len(waiting)

    def _send_ask(self, store: Store, ask: Ask, now: int) -> None:
        settings = self._settings
        offered = messages.answers(ask, titles=settings.titles) if settings.replies else ()
        if why_unanswerable(self._path, ask) is not None:
            offered = ()
        nonces = {answer: secrets.token_urlsafe(24) for answer in offered}
        kept = {phone_answers.hashed(nonce): answer for answer, nonce in nonces.items()}
        phone_answers.offer(store.db, ask.uid, kept, now + settings.expires * _SECOND)
        session = sessions.find(store.db, ask.agent)
        project = ask.project or (session.project if session is not None else None) or ""
        address = f"{self._client.server}/{settings.replies}"
        try:
            self._publish(messages.of_ask(ask, project, nonces, address, titles=settings.titles))
        except NtfyFailed:
            phone_answers.withdraw(store.db, ask.uid)
            raise
        phone_answers.mark_sent(store.db, ask.uid, now)

    def _send_failures(self, store: Store, newest: int) -> None:
        since = int((views.get(store.db, _KEY) or {}).get("seq", newest))
        if newest <= since:
            return
        found = [alert for alert in alerts.between(store.db, since, newest) if alert.kind != "ask"]
        if found:
            self._publish(messages.of_failures(found, titles=self._settings.titles))
        self._remember(store, seq=newest)

    def _publish(self, message: dict[str, object]) -> None:
        self._client.publish({"topic": self._settings.topic, **message})

    # In

    def _since(self, store: Store) -> str:
        return str((views.get(store.db, _KEY) or {}).get("since", "10m"))

    def _listen(self, since: str, replies: queue.Queue[tuple[str, str]], ended: threading.Event) -> None:
        wait = _FIRST_WAIT
        while not ended.is_set():
            try:
                for number, text in self._client.messages(self._settings.replies, since):
                    if ended.is_set():
                        return
                    since, wait = number, _FIRST_WAIT
                    replies.put((number, text))
            except NtfyFailed as failed:
                _log.info("ntfy: %s: %s", self._settings.server, failed)
            ended.wait(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def take(self, store: Store, nonce: str) -> bool:
        """Take an answer by its nonce; one that is refused is kept in the journal. Return whether it was taken."""
        now, hashed = self._clock(), phone_answers.hashed(nonce.strip())
        found = phone_answers.find(store.db, hashed)
        try:
            ask = queries.ask(store.db, found.ask) if found is not None else None
            if ask is not None and ask.state == "open" and (why := why_unanswerable(self._path, ask)) is not None:
                raise Conflict(why)
            store.commit(AnswerByPhone(hashed), actor=HUMAN, now=now, why={"topic": "answered by ntfy"})
        except Refusal as refused:
            if refused.code in ("forbidden", "conflict", "not_found"):
                self._refuse(store, hashed, refused, now)
                return False
            raise
        return True

    def _refuse(self, store: Store, hashed: str, refused: Refusal, now: int) -> None:
        """Keep that an answer was refused; tell whoever gave it, where it was one of ours."""
        if len(self._refused) < MOST_REFUSALS or now - self._refused[0] >= _HOUR:
            self._refused.append(now)
            store.commit(RecordRefusal(TOOL, refused.message), actor=SYSTEM, now=now)
        found = phone_answers.find(store.db, hashed)
        if found is None or found.used_at is not None:
            return
        with store.db.transaction(write=True):
            phone_answers.spend(store.db, hashed, now)
        with contextlib.suppress(NtfyFailed):
            self._publish(messages.too_late(queries.ask(store.db, found.ask), titles=self._settings.titles))


def _is_locked(handle: int) -> bool:
    """Whether the lock was free, and is held from now on."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without such locks
        return True
    return True


@contextlib.contextmanager
def following(path: str, settings: NtfySettings, token: str | None, clock: Callable[[], int]) -> Iterator[None]:
    """Send and take while the block runs, where a topic is configured."""
    service = PhoneService(path, settings, token, clock)

    def serve() -> None:
        try:
            service.run()
        except Exception:  # the front end goes on without it
            _log.exception("nothing is sent to the phone any more")

    thread = threading.Thread(target=serve, name="ntfy", daemon=True)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(_STOP)
