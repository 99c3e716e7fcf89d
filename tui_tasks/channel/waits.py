"""Waiting requests. Each is checked again after every change, until its deadline. `ask` serves one request and waits
itself, for callers without a channel.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.channel.replies import drop_stored, newest_seq, refused, served, store_reply
from tui_tasks.channel.request_reader import DEFECT_MESSAGE, PendingRequest
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import storage_errors
from tui_tasks.core.errors import Refusal, StorageFailed
from tui_tasks.dialects.tool_table import Call, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tui_tasks.channel.presence import Presence
    from tui_tasks.channel.session import Session
    from tui_tasks.channel.subscription import MessageDelivery
    from tui_tasks.core.engine.commit_watch import Watch
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.tool_table import Channel

_log = logging.getLogger(__name__)

# Microseconds until a wait whose end the storage refused is tried again.
RETRY: Final = 500_000
# Microseconds of such tries once the input has ended; then the wait is answered with the storage's refusal.
_RETRIES_AT_END: Final = 1_000_000

# With this many waits for answers, one read finds all open questions.
_MANY: Final = 8


class Waiting(msgspec.Struct, eq=False):
    """A request whose reply waits.

    Attributes:
        pending: the request.
        wait: what it waits for.
        not_before: after a storage error, the `Channel.database_now` before which it is not tried again.
        failing_since: the `Channel.database_now` of the first of the storage errors without a success between them.
    """

    pending: PendingRequest
    wait: Wait
    not_before: int = 0
    failing_since: int | None = None

    @property
    def due(self) -> int | None:
        """When it must be looked at whatever happens; None: never."""
        if self.failing_since is not None:
            return self.not_before
        return None if self.wait.deadline is None else max(self.wait.deadline, self.not_before)

    def must_be_looked_at(self, database_now: int, *, ending: bool) -> bool:
        """Return whether it may end without a change of what it waits for."""
        return (self.due is not None and self.due <= database_now) or self.is_over(database_now, ending=ending)

    def is_over(self, database_now: int, *, ending: bool) -> bool:
        """Return whether the wait ends now unless it has a result; `ending`: the input has ended."""
        return self.wait.deadline <= database_now if self.wait.deadline is not None else ending


class Waits:
    """The waits of a session."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        channel: Channel,
        messages: MessageDelivery,
        presence: Presence | None,
    ) -> None:
        """Create the waits of a session, which tools see as `channel`.

        `presence` records that a question is waited for; None: it is not recorded.
        """
        self._store = store
        self._clock = clock
        self._channel = channel
        self._messages = messages
        self._presence = presence
        self._waiting: list[Waiting] = []
        # The agent and the id of the requests that were cancelled, some of which may be added with the next.
        self._cancelled: set[tuple[str, str | int | None]] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def can_give_up(self, database_now: int) -> bool:
        """Return whether a wait without a deadline can be given up now."""
        return any(one.wait.deadline is None and one.not_before <= database_now for one in self._waiting)

    def add(self, waiting: list[Waiting]) -> None:
        """Add waits; end cancelled ones."""
        self._waiting += waiting
        if self._cancelled:
            for one in self._waiting:
                if (one.pending.agent, one.pending.id) in self._cancelled:
                    self._end_now(one)
            self._cancelled.clear()

    def cancel(self, agent: str, id: str | int) -> None:
        """End the waits of a request, also those that are not added yet; `settle` returns the reply."""
        self._cancelled.add((agent, id))

    def _end_now(self, waiting: Waiting) -> None:
        database_now, wait = self._channel.database_now(), waiting.wait
        wait.deadline = min(database_now, wait.deadline or database_now)
        wait.give_up = wait.abandon or wait.give_up

    def due(self) -> int | None:
        """Return the first deadline, or try after a storage error, as `Channel.database_now` counts, or None."""
        return min((at for one in self._waiting if (at := one.due) is not None), default=None)

    def settle(self, *, ending: bool) -> list[dict[str, Any]]:
        """Return the replies of the waits that are over; `ending`: the input has ended."""
        replies = []
        database_now, unanswered = self._channel.database_now(), self._unanswered()
        for waiting in list(self._waiting):
            if waiting.wait.question in unanswered and not waiting.must_be_looked_at(database_now, ending=ending):
                continue
            reply = self._reply(waiting, ending=ending)
            if reply is not None:
                self._waiting.remove(waiting)
                self._messages.add_late(waiting.pending, reply)
                replies.append(reply)
        return replies

    def _unanswered(self) -> Collection[str]:
        """Return the open questions, where many are waited for: one by one they cost a busy database's channel."""
        if sum(waiting.wait.question is not None for waiting in self._waiting) < _MANY:
            return ()
        from tui_tasks.core.read import ask_queries  # commands that are soon over wait for nothing

        try:
            with storage_errors(self._store.path):
                return ask_queries.open_uids(self._store.db)
        except StorageFailed:  # each wait finds out
            return ()

    def abandon(self, id: str | int | None) -> None:
        """Give up the waits of a request whose caller is gone, without a reply."""
        for waiting in [waiting for waiting in self._waiting if waiting.pending.id == id]:
            self._waiting.remove(waiting)
            self._end_now(waiting)
            self._reply(waiting, ending=True)

    def _reply(self, waiting: Waiting, *, ending: bool) -> dict[str, Any] | None:
        try:
            with storage_errors(self._store.path):
                reply = self._reply_or_refusal(waiting, ending=ending)
            waiting.failing_since = None
            return reply
        except StorageFailed as failure:
            database_now = self._channel.database_now()
            if waiting.failing_since is None:
                waiting.failing_since = database_now
                _log.warning("%s", failure.message)
            if (
                ending
                and waiting.is_over(database_now, ending=True)
                and database_now - waiting.failing_since >= _RETRIES_AT_END
            ):
                return self._refused_reply(waiting.pending, failure)
            waiting.not_before = database_now + RETRY
            return None
        except Exception:  # the other waits must still be answered
            _log.exception("a wait failed")
            return self._refused_reply(waiting.pending, Refusal(DEFECT_MESSAGE))

    def _reply_or_refusal(self, waiting: Waiting, *, ending: bool) -> dict[str, Any] | None:
        pending = waiting.pending
        try:
            result = self._result(waiting, ending=ending)
            if result is not None:
                self._forget_question(waiting)
        except StorageFailed:
            raise
        except Refusal as refusal:
            self._drop_key(pending)
            self._forget_question(waiting)
            return self._refused_reply(pending, refusal)
        if result is None:
            return None
        return served(pending, result, journal.newest(self._store.db))

    def _forget_question(self, waiting: Waiting) -> None:
        agent, question = waiting.pending.agent, waiting.wait.question
        if question is None or self._presence is None:
            return
        asked = (one.wait.question for one in self._waiting if one is not waiting and one.pending.agent == agent)
        self._presence.forget_wait(agent, question, next(filter(None, asked), None))

    def _refused_reply(self, pending: PendingRequest, refusal: Refusal) -> dict[str, Any]:
        return refused(pending, refusal, newest_seq(self._store.db))

    def _drop_key(self, pending: PendingRequest) -> None:
        """Delete the idempotency key of a request: refusals are not stored (docs: protocol, section 2)."""
        assert pending.request is not None
        if pending.writes and pending.request.idempotency_key is not None:
            with self._store.db.transaction(write=True):
                drop_stored(self._store.db, pending)

    def _result(self, waiting: Waiting, *, ending: bool) -> Any:
        """Return the result of the wait; None while it continues."""
        pending, wait, store = waiting.pending, waiting.wait, self._store
        assert pending.request is not None
        call = Call(db=store.db, now=self._clock(), agent=pending.agent, channel=self._channel)
        result = wait.check(call)
        if result is None and waiting.is_over(call.database_now, ending=ending):
            result = self._give_up(waiting, call)
        pending.note = call.note
        if result is not None and wait.subject is not None and self._presence is not None:
            # The asker got a ticket, so its process need not wait any longer.
            self._presence.forget_asker(wait.subject)
        if result is not None and pending.writes and pending.request.idempotency_key is not None:
            with store.transaction(call.now) as transaction:
                store_reply(store.db, pending, result, transaction.seq, transaction.database_now)
        return result

    def _give_up(self, waiting: Waiting, call: Call) -> Any:
        request = waiting.pending.request
        assert request is not None
        refused: Refusal
        with self._store.transaction(call.now) as transaction, transaction.change():
            transaction.speak(call.agent, request.why)
            call.transaction = transaction
            try:
                return waiting.wait.give_up(call)
            except Refusal as refusal:
                # Raised after the commit, so that what giving up wrote, such as a closed question, is kept.
                refused = refusal
        raise refused


def ask(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """Serve one request and return its reply, blocking while the request waits.

    If the caller is interrupted meanwhile, the request is withdrawn.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    reply: dict[str, Any] = msgspec.json.decode(ask_encoded(session, request))
    return reply


def ask_encoded(session: Session, request: dict[str, Any]) -> bytes:
    """Serve a request as `ask` does; return its reply as the line that a channel sends."""
    replies = session.answer([request])
    if not replies:
        replies = _wait_for_reply(session, request.get("id"))
    return replies[0]


def _wait_for_reply(session: Session, id: Any) -> list[bytes]:
    from tui_tasks.core.engine.commit_watch import Watch

    watch = Watch(session.store.db)
    session.store.db.follow()
    try:
        while not (replies := session.settle()):
            _sleep_until_change(session, watch)
    except BaseException:
        session.waits.abandon(id)
        raise
    finally:
        watch.close()
    return replies


def _sleep_until_change(session: Session, watch: Watch) -> None:
    """Sleep until another process has committed, or something is due."""
    while not watch.changed(time.monotonic()):
        due = session.due()
        left = float("inf") if due is None else (due - session.database_now()) / 1_000_000
        if left <= 0:
            return
        watch.sleep(left)
