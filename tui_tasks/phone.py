"""Sends what needs the human to the phone, and accepts the answers: in one process at a time for each database
(docs: phone).

It has threads and a connection of its own, so that a slow server delays nobody else.
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
from collections.abc import Callable
from typing import Final

from tui_tasks import ntfy
from tui_tasks.clock import uptime_beside
from tui_tasks.core.agent_snapshots import Ask, Process
from tui_tasks.core.commit import journal
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.engine import write_queue
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Refusal
from tui_tasks.core.operations import RecordRefusal
from tui_tasks.core.operations.asks import AnswerByPhone
from tui_tasks.core.read import ask_queries, overview
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.overview import Alert
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, heartbeats, local_values, phone_answers
from tui_tasks.core.unjournaled.heartbeats import LEASE
from tui_tasks.core.vocab import HUMAN, SYSTEM
from tui_tasks.hooks.replies.reply_sender import why_unanswerable
from tui_tasks.ntfy import NtfyClient, NtfyFailed, NtfyForbidden
from tui_tasks.settings.config import NtfySettings
from tui_tasks.text.times import DAY, HOUR, SECOND

_log = logging.getLogger(__name__)

TOOL: Final = "ntfy"
"""The name of the tool in the journal's entries of refused answers."""
POLL_SECONDS: Final = 0.5
# Seconds between attempts to become the sending process, and to reach the server again.
_TAKE_OVER_SECONDS: Final = 5.0
_FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 2.0, 300.0
_FORBIDDEN_SECONDS: Final = 60.0
_MAX_REPLIES: Final = 1_000
# Anybody who knows the topic of answers can write to it, so at most this many refusals are recorded in an hour.
MAX_REFUSALS: Final = 20
_KEY: Final = "ntfy"


class PhoneService:
    """Sends and receives in `run` until `stop`; `send_pending` and `accept_answer` are its steps."""

    def __init__(
        self, path: str, settings: NtfySettings, token: str | None, clock: Callable[[], int], poll: float = POLL_SECONDS
    ) -> None:
        self._path = path
        self._settings = settings
        self._clock = clock
        self._poll_seconds = poll
        self._client = NtfyClient(settings.server, token)
        self._stopped = threading.Event()
        self._replies: queue.Queue[tuple[str, str]] = queue.Queue(_MAX_REPLIES)
        self._refused: deque[int] = deque(maxlen=MAX_REFUSALS)
        self._sent_seq = -1
        # The refusal that was logged last.
        self._refusal = ""
        self._is_waiting = False
        # When questions that another machine is sending were first seen, by `time.monotonic`.
        self._half_sent: dict[str, float] = {}
        self._database_clock = DatabaseClock(uptime_beside(clock))
        self._retry_at = 0.0
        self._retry_seconds = _FIRST_RETRY_SECONDS

    def stop(self) -> None:
        """Make `run` end soon; from any thread."""
        self._stopped.set()

    def run(self) -> None:
        """Send and receive while no other process does. If the server forbids it, another process may try.

        While the database cannot be opened, it is tried again.
        """
        while not self._stopped.is_set():
            pause = _FORBIDDEN_SECONDS
            handle = write_queue.open_lock_file(f"{self._path}-ntfy", make=True)
            try:
                while not _try_lock(handle):
                    if self._stopped.wait(_TAKE_OVER_SECONDS):
                        return
                with Store(self._path, makes=False) as store:
                    self._serve(store)
            except NtfyForbidden as forbidden:
                _log.warning("ntfy: %s: %s; is the token in the environment?", self._settings.server, forbidden)
            except Refusal as refusal:
                self._warn(refusal)
                pause = _TAKE_OVER_SECONDS
            finally:
                os.close(handle)
            self._stopped.wait(pause)

    def _warn(self, refusal: Refusal) -> None:
        """Log why nothing is sent now, unless that was logged last."""
        if str(refusal) != self._refusal:
            self._refusal = str(refusal)
            _log.warning("ntfy: %s", refusal)

    def _serve(self, store: Store) -> None:
        self.resume(store)
        ended = threading.Event()
        self._replies = queue.Queue(_MAX_REPLIES)
        if self._settings.replies:
            since = str((local_values.get(store.db, _KEY) or {}).get("since", "10m"))
            threading.Thread(
                target=self._listen, args=(since, self._replies, ended), name="ntfy replies", daemon=True
            ).start()
        try:
            while not self._stopped.is_set():
                try:
                    self._step(store)
                except Refusal as refusal:
                    self._warn(refusal)
                    self._stopped.wait(_TAKE_OVER_SECONDS)
        finally:
            ended.set()

    def _step(self, store: Store) -> None:
        with contextlib.suppress(queue.Empty):
            number, text = self._replies.get(timeout=self._poll_seconds)
            try:
                self.accept_answer(store, text)
            except Refusal:  # it could not be written now: try it again
                self._replies.put((number, text))
                raise
            self._remember(store, since=number)
        self.send_pending(store)

    def resume(self, store: Store) -> None:
        """Resume where the previous process ended; the first time, begin with what happens from now on."""
        self._withdraw_half_sent(store)
        self._renew_phone(store)
        if local_values.get(store.db, _KEY) is None:
            self._remember(store, seq=journal.newest(store.db), since=str(self._clock() // SECOND))

    def _withdraw_half_sent(self, store: Store) -> None:
        phone_answers.withdraw_half_sent(store.db, (local_values.get(store.db, _KEY) or {}).get("sending"))

    def _remember(self, store: Store, **values: object) -> None:
        local_values.put(store.db, _KEY, {**(local_values.get(store.db, _KEY) or {}), **values})

    # Sending

    def send_pending(self, store: Store) -> None:
        """Send what came up since the last time. If the server cannot be reached, the next attempt is a while later.

        Raises:
            NtfyForbidden: the server does not accept the token.
        """
        self._renew_phone(store)
        newest = journal.newest(store.db)
        if (newest == self._sent_seq and not self._is_waiting) or time.monotonic() < self._retry_at:
            return
        try:
            self._is_waiting = self._send_asks(store)
            self._send_failures(store, newest)
        except NtfyForbidden:
            raise
        except NtfyFailed as failed:
            _log.warning("ntfy: %s: %s", self._settings.server, failed)
            self._retry_at = time.monotonic() + self._retry_seconds
            self._retry_seconds = min(self._retry_seconds * 2, _LONGEST_RETRY_SECONDS)
            self._is_waiting = True
            return
        self._sent_seq, self._retry_seconds = newest, _FIRST_RETRY_SECONDS

    def _send_asks(self, store: Store) -> bool:
        """Send the questions open for longer than the configured delay; return whether others wait to be sent."""
        is_waiting = self._withdraw_left(store)
        open_asks = ask_queries.open_asks(store.db)
        phone_answers.forget_closed(store.db, (ask.uid for ask in open_asks))
        sent, now = phone_answers.sent(store.db), store.db.server_time(self._clock())
        waiting = [ask for ask in open_asks if ask.uid not in sent]
        old = [ask for ask in waiting if now - ask.opened_at >= self._settings.delay * SECOND]
        due = [ask for ask in old if not self._is_anothers(store, ask)]
        for ask in due:
            self._send_ask(store, ask, now)
        return is_waiting or len(due) < len(waiting)

    def _withdraw_left(self, store: Store) -> bool:
        """Withdraw what another machine has been about to send for longer than a machine's lease, so that it is sent;
        return whether other messages are being sent.
        """
        half, now = phone_answers.half_sent(store.db) if store.db.machine else set(), time.monotonic()
        self._half_sent = {uid: self._half_sent.get(uid, now) for uid in half}
        left = {uid for uid, since in self._half_sent.items() if now - since > LEASE / SECOND}
        for uid in left:
            phone_answers.withdraw(store.db, uid)
        return bool(half - left)

    def _send_ask(self, store: Store, ask: Ask, now: int) -> None:
        settings = self._settings
        offered = ntfy.answers(ask, titles=settings.titles) if settings.replies else ()
        if why_unanswerable(store.db, ask) is not None:
            offered = ()
        nonces = {answer: f"{_tag(store.db.machine)}{secrets.token_urlsafe(24)}" for answer in offered}
        hashes = {phone_answers.hashed(nonce): answer for answer, nonce in nonces.items()}
        if store.db.machine:
            self._withdraw_half_sent(store)
            self._remember(store, sending=ask.uid)
        if not phone_answers.offer(store.db, ask.uid, hashes, now + settings.expires * SECOND):
            return
        session = session_queries.find(store.db, ask.agent)
        project = ask.project or (session.project if session is not None else None) or ""
        address = f"{self._client.server}/{settings.replies}"
        try:
            self._publish(ntfy.of_ask(ask, project, nonces, address, titles=settings.titles))
        except NtfyFailed:
            phone_answers.withdraw(store.db, ask.uid)
            raise
        phone_answers.mark_sent(store.db, ask.uid, now)

    def _renew_phone(self, store: Store) -> None:
        """Record on a server that this machine has a phone: others leave its questions to it."""
        if store.db.machine and heartbeats.is_phone_due(store.db, self._database_clock.look(store.db, self._clock())):
            with store.transaction(self._clock()):
                heartbeats.renew_phone(store.db, self._database_clock.record(store.db, self._clock()))

    def _has_phone(self, store: Store, machine: str) -> bool:
        if machine in ("", store.db.machine):
            return False
        return heartbeats.has_phone(store.db, machine, self._database_clock.look(store.db, self._clock()))

    def _is_anothers(self, store: Store, ask: Ask) -> bool:
        """Return whether a question is known to come from another machine, and is left to that one's phone."""
        if not store.db.machine or self._settings.all_machines:
            return False
        asker = dict(connections.askers(store.db)).get(ask.uid)
        process = asker or _process(store.db, ask.agent)
        return process is not None and self._has_phone(store, process.machine)

    def _send_failures(self, store: Store, newest: int) -> None:
        since = int((local_values.get(store.db, _KEY) or {}).get("seq", newest))
        if newest <= since:
            return
        alerts = [alert for alert in overview.between(store.db, since, newest) if alert.kind != "ask"]
        if store.db.machine:
            alerts = self._of_this_machine(store, alerts)
        if alerts:
            try:
                self._publish(ntfy.of_failures(alerts, titles=self._settings.titles))
            except NtfyFailed:
                phone_answers.return_alerts(store.db, [alert.seq for alert in alerts])
                raise
        self._remember(store, seq=newest)

    def _of_this_machine(self, store: Store, alerts: list[Alert]) -> list[Alert]:
        """Return the entries to send, which no other machine has sent or is to send to its own phone."""
        own = [alert for alert in alerts if store.db.server_time(self._clock()) - alert.at < DAY]
        if not self._settings.all_machines:
            elsewhere = {
                one.uid
                for one in session_queries.live(store.db)
                if self._has_phone(store, session_queries.process(one).machine)
            }
            own = [alert for alert in own if alert.who not in elsewhere]
        new = phone_answers.claim_alerts(store.db, {alert.seq for alert in own}) if own else set()
        return [alert for alert in own if alert.seq in new]

    def _publish(self, message: dict[str, object]) -> None:
        self._client.publish({"topic": self._settings.topic, **message})

    # Receiving

    def _listen(self, since: str, replies: queue.Queue[tuple[str, str]], ended: threading.Event) -> None:
        wait = _FIRST_RETRY_SECONDS
        while not ended.is_set():
            try:
                for number, text in self._client.messages(self._settings.replies, since):
                    if ended.is_set():
                        return
                    since, wait = number, _FIRST_RETRY_SECONDS
                    replies.put((number, text))
            except NtfyFailed as failed:
                _log.info("ntfy: %s: %s", self._settings.server, failed)
            ended.wait(wait)
            wait = min(wait * 2, _LONGEST_RETRY_SECONDS)

    def accept_answer(self, store: Store, nonce: str) -> bool:
        """Accept the answer with that nonce; return whether it was accepted. A refusal is recorded in the journal.

        An answer to what another machine has sent is left to that one.

        Raises:
            Refusal: it could not be written; the same answer may be tried again.
        """
        if _is_tagged_by_another(store.db, nonce.strip()):
            return False
        now, hashed = self._clock(), phone_answers.hashed(nonce.strip())
        sent = phone_answers.find(store.db, hashed)
        try:
            ask = ask_queries.ask(store.db, sent.ask) if sent is not None else None
            if ask is not None and ask.state == "open" and (why := why_unanswerable(store.db, ask)) is not None:
                raise Conflict(why)
            store.commit(AnswerByPhone(hashed), actor=HUMAN, now=now, why={"topic": "answered by ntfy"})
        except Refusal as refused:
            if refused.code in ("forbidden", "conflict", "not_found"):
                self._record_refusal(store, hashed, refused, now)
                return False
            raise
        return True

    def _record_refusal(self, store: Store, hashed: str, refused: Refusal, now: int) -> None:
        """Record that an answer was refused, and notify the phone if the nonce was ours."""
        if len(self._refused) < MAX_REFUSALS or now - self._refused[0] >= HOUR:
            self._refused.append(now)
            store.commit(RecordRefusal(TOOL, refused.message), actor=SYSTEM, now=now)
        sent = phone_answers.find(store.db, hashed)
        if sent is None or sent.used_at is not None:
            return
        with store.db.transaction(write=True):
            phone_answers.spend(store.db, hashed, now)
        with contextlib.suppress(NtfyFailed):
            self._publish(ntfy.too_late(ask_queries.ask(store.db, sent.ask), titles=self._settings.titles))


def _process(db: Database, agent: str) -> Process | None:
    """Return the process of an agent's live session."""
    session = session_queries.find(db, agent)
    is_live = session is not None and session.state != session_queries.GONE
    return session_queries.process(session) if session is not None and is_live else None


def _tag(machine: str) -> str:
    """Return how the nonces of a machine begin."""
    return f"{machine.rpartition('-')[2]}." if machine else ""


def _is_tagged_by_another(db: Database, nonce: str) -> bool:
    others = heartbeats.leases(db).keys() - {db.machine} if db.machine else ()
    return any(nonce.startswith(_tag(machine)) for machine in others)


def _try_lock(handle: int) -> bool:
    """Take the lock if it is free; return whether this process has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no such locks
        return True
    return True
