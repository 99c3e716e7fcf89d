"""A session with an agent: executes requests, and returns replies and events. It uses neither pipes nor screens.

Requests that arrive together are committed in one transaction. Each is a change of its own, so that a refused one does
not affect the others, and replies are returned after the commit (docs: protocol, section 3).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.channel.executor import RequestExecutor, refused_batch
from tui_tasks.channel.presence import Presence
from tui_tasks.channel.replies import ReplyEncoder, ReplyLine, newest_seq, refused, whole
from tui_tasks.channel.request_reader import Line, PendingRequest, RequestReader
from tui_tasks.channel.subscription import MessageDelivery, Subscription
from tui_tasks.channel.waits import Waiting, Waits
from tui_tasks.clock import Uptime, uptime_beside
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.commit.transaction import HalfWritten, PartlyDone, Reading, Transaction
from tui_tasks.core.engine.driver import storage_errors
from tui_tasks.core.errors import Busy, InputsUnread, OutcomeUnknown, Refusal, StorageFailed, WriteConflict
from tui_tasks.core.store import Store, release_lapsed, release_lapsed_claims
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import Table

if TYPE_CHECKING:
    from tui_tasks.core.snapshots import Entry
    from tui_tasks.runner.checks.check_keeper import CheckKeeper


class Session:
    """Serves the requests of one channel, in the thread that opened the store.

    Attributes:
        store: the store.
        table: the served tools.
        identity: the default agent and list, and the limits.
        clock: returns the time of day, in microseconds since the epoch.
        subscription: the subscription to events.
        waits: the requests whose replies wait.
        checks: brings the state of checks up to date before requests are served; None if another process does.
    """

    def __init__(
        self,
        store: Store,
        table: Table,
        identity: Identity,
        clock: Callable[[], int],
        uptime: Callable[[], Uptime] | None = None,
        presence: Presence | None = None,
        *,
        delivers_messages: bool = True,
    ) -> None:
        """Open a session.

        Args:
            clock: returns the time of day, in microseconds since the epoch.
            uptime: returns how long the machine has been up; the default goes with the clock.
            presence: records which agents speak here; None if they are not to count as connected.
            delivers_messages: whether the human's messages go with replies; False if agents get them by other means.
        """
        self.store = store
        self.table = table
        self.identity = identity
        self.clock = clock
        self.checks: CheckKeeper | None = None
        self._database_clock = store.database_clock = DatabaseClock(uptime or uptime_beside(clock))
        self._presence = presence = None if identity.read_only else presence
        self._messages = messages = MessageDelivery(
            store,
            clock,
            lambda agent, seq: self.subscription.will_send(agent, seq),
            is_off=identity.read_only or not delivers_messages,
        )
        self.subscription = Subscription(store, self._is_visible, messages.record)
        self.waits = Waits(store, clock, self, messages, presence)
        self._reader = RequestReader(table, identity, clock)
        self._executor = RequestExecutor(self, self.subscription, presence)
        self._encoder = ReplyEncoder()

    def _is_visible(self, entry: Entry) -> bool:
        """Return whether the subscriber may receive an entry."""
        from tui_tasks.dialects.requests.confinement import is_visible

        return is_visible(self.store.db, self.identity, entry)

    # Requests

    def answer(self, values: list[Any]) -> list[bytes]:
        """Serve the JSON values of lines that arrived together. A value may be a `Refusal`, for a line that is no JSON.

        Return the replies that are ready, in order, each a line without its newline.
        """
        return [whole(line) for line in self.answer_lines(values)]

    def answer_lines(self, values: list[Any]) -> list[ReplyLine]:
        """Serve lines as `answer` does; long replies are not kept in memory."""
        return self.serve_lines(self.read_lines(values))

    def read_lines(self, values: list[Any]) -> list[Line]:
        """Return the requests of lines, for `serve_lines`."""
        return [self._reader.line(value) for value in values]

    def serve_lines(self, lines: list[Line]) -> list[ReplyLine]:
        """Serve the requests of lines; return the replies as `answer_lines` does."""
        return [reply for group in _group_lines(lines) for reply in self._answer_group(group)]

    def _answer_group(self, lines: list[Line]) -> list[ReplyLine]:
        try:
            return self._serve(lines)
        except Exception as error:
            failure = self._failure_of(error)
            return [reply for line in lines for reply in self._serve_alone(line, failure, len(lines))]

    def _serve_alone(self, line: Line, failure: Refusal, group_size: int) -> list[ReplyLine]:
        """Serve one line of a group that failed, as another line or the storage may be the cause."""
        waited_out = isinstance(failure, (Busy, OutcomeUnknown)) and line.writes
        if waited_out or group_size == 1:
            return self._refused_line(line, failure)
        try:
            return self._serve([line])
        except Exception as error:
            return self._refused_line(line, self._failure_of(error))

    def _failure_of(self, error: Exception) -> Refusal:
        """Return the refusal of lines whose transaction failed. A defect is logged, and does not end the channel."""
        return error if isinstance(error, StorageFailed) else self._executor.refusal_of(error, self.store.db)

    def _refused_line(self, line: Line, failure: Refusal) -> list[ReplyLine]:
        seq = newest_seq(self.store.db)
        replies = [refused(pending, pending.refusal or failure, seq) for pending in line.requests]
        return [self._encoder.line(reply) for reply in ([replies] if line.is_batch else replies)]

    def _serve(self, lines: list[Line]) -> list[ReplyLine]:
        now = self.clock()
        self.look_at_checks()
        waiting: list[Waiting] = []
        writes = not self.identity.read_only and any(line.writes for line in lines)
        replies = None if writes else self._read(lines, now, waiting)
        if replies is None:
            try:
                replies = self._write(lines, now, waiting)
            except Busy:
                if writes:
                    raise
                # The next session that can write does what was to be done first.
                waiting.clear()
                replies = self._read(lines, now, waiting, settles=False) or []
        self.waits.add(waiting)
        if self._presence is not None:
            speakers, self._executor.speakers = self._executor.speakers, set()
            self._presence.record_speakers(speakers, now)
            self._presence.record_waits(
                ((one.pending.agent, one.wait.question) for one in waiting if one.wait.question is not None), now
            )
        return [self._encoder.line(reply) for reply in replies if reply is not None]

    def settle_claims(self) -> None:
        """Release lapsed claims, so that a read shows what holds; not while the database is locked."""
        if not self.identity.read_only:
            with contextlib.suppress(StorageFailed):
                release_lapsed(self.store, self._database_clock, self.clock())

    def look_at_checks(self) -> None:
        """Bring the state of checks up to date with the files (docs: protocol, section 11)."""
        if self.checks is not None:
            # If the database stays locked, skip this rather than delay the requests. What else is wrong with it, the
            # requests themselves find.
            with contextlib.suppress(StorageFailed), storage_errors(self.store.path):
                self.checks.look(self.store, self.clock())

    def _read(self, lines: list[Line], now: int, waiting: list[Waiting], *, settles: bool = True) -> list[Any] | None:
        """Serve lines that write nothing. With `settles`, return None if something must be written first: a lapsed
        lease, a message's delivery.
        """
        with self.store.reading() as reading:
            if not settles:
                return [self._serve_line(line, now, reading, waiting) for line in lines]
            lapse = reading.state_cache.next_lapse()
            if lapse is not None and lapse <= self.database_now() and not self.identity.read_only:
                return None
            if any(self._messages.waiting_for(pending, reading) for line in lines for pending in line.requests):
                return None
            return [self._serve_line(line, now, reading, waiting) for line in lines]

    def _write(self, lines: list[Line], now: int, waiting: list[Waiting]) -> list[Any]:
        """Serve lines in one transaction; repeat it with savepoints if a request failed that had written something, or
        others have written to the server meanwhile.

        Inputs of checks are read between two tries, as reading them may take long.
        """
        cursor, savepoints = self.subscription.cursor, False
        inputs_read: dict[str, bool] = {}
        while True:
            try:
                in_steps = not savepoints and lines[0].in_steps
                with self.store.transaction(
                    now, savepoints=savepoints, in_steps=in_steps, inputs_read=inputs_read
                ) as transaction:
                    release_lapsed_claims(transaction)
                    return [self._serve_line(line, now, transaction, waiting) for line in lines]
            except HalfWritten:
                savepoints = True
            except WriteConflict:
                savepoints = True
                self._messages.forget_after(transaction.seq - transaction.entries)
            except InputsUnread as unread:
                inputs_read |= self._inputs_of(unread, now)
            except PartlyDone as partly:
                # Its steps were undone.
                if not isinstance(partly.__cause__, InputsUnread):
                    return self._replies_to_partly_done(lines, partly)
                inputs_read |= self._inputs_of(partly.__cause__, now)
            self.subscription.cursor = cursor
            waiting.clear()

    def _inputs_of(self, unread: InputsUnread, now: int) -> dict[str, bool]:
        """Return of runs of checks whether their inputs are as they were, read for the next try."""
        read = self.checks.read_inputs(self.store, unread.runs, now) if self.checks is not None else {}
        return {**dict.fromkeys(unread.runs, False), **read}

    def _replies_to_partly_done(self, lines: list[Line], partly: PartlyDone) -> list[Any]:
        """Return the refusals of a line whose steps were rolled back.

        Raises:
            StorageFailed: that is why it failed.
        """
        # A line that is written in steps is alone in its group.
        error = partly.__cause__
        assert isinstance(error, Exception)
        if isinstance(error, StorageFailed):
            raise error from None
        with storage_errors(self.store.path):
            refusal = error if isinstance(error, Refusal) else self._executor.refusal_of(error, self.store.db)
        (line,) = lines
        seq = newest_seq(self.store.db)
        if line.is_batch:
            return [refused_batch(line.requests, partly.at, refusal, seq)]
        return [refused(line.requests[0], refusal, seq)]

    def _serve_line(self, line: Line, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        if not line.is_batch:
            (pending,) = line.requests
            return self._with_messages(pending, self._executor.single(pending, now, reading, waiting), reading)
        replies = self._executor.batch(line.requests, now, reading)
        return [self._with_messages(*each, reading) for each in zip(line.requests, replies, strict=True)]

    def _with_messages(self, pending: PendingRequest, reply: dict[str, Any] | None, reading: Reading) -> Any:
        if reply is not None and isinstance(reading, Transaction):
            self._messages.add(pending, reply, reading)
        return reply

    def give_back(self, lines: Iterable[bytes]) -> None:
        """Queue the human's messages again if their lines could not be written."""
        self._messages.give_back(lines, self.subscription.agent)

    def leave(self) -> None:
        """End the session: its agents are no longer connected."""
        if self._presence is not None:
            self._presence.leave(self.clock())

    def succeeded_by(self, agent: str) -> Session:
        """End this session, in which no request may wait; return a session in which another agent continues.

        That agent gets the human's messages by other means than replies.
        """
        self.leave()
        identity = msgspec.structs.replace(self.identity, agent=agent)
        made = Session(self.store, self.table, identity, self.clock, presence=self._presence, delivers_messages=False)
        made.checks = self.checks
        return made

    # Leases and waits

    def database_now(self) -> int:
        """Return the database's instant in microseconds (`database_clock`), by which leases and waits end.

        Raises:
            StorageFailed: the database cannot be read.
        """
        return self._database_clock.now(self.store.db, self.clock())

    def cancel(self, agent: str, id: str | int) -> None:
        """Give up the requests of an agent with that id which wait; `settle` returns their replies."""
        self.waits.cancel(agent, id)

    def due(self) -> int | None:
        """Return when the next lease or wait ends, as `database_now`; None if there is none."""
        lapse = None
        if not self.identity.read_only:
            with contextlib.suppress(StorageFailed):
                lapse = self.store.next_lapse()
        return min((at for at in (self.waits.due(), lapse) if at is not None), default=None)

    def settle(self, *, ending: bool = False) -> list[bytes]:
        """Release lapsed claims, and return the replies of waits that ended; `ending`: the input has ended.

        Raises:
            StorageFailed: the database cannot be read or written; a later call may succeed.
        """
        now = self.clock()
        try:
            self.store.look_again()
            if not self.identity.read_only:
                release_lapsed(self.store, self._database_clock, now)
        except StorageFailed:
            # After the end of the input there may be no later call: the waits are answered with the refusal.
            if not ending:
                raise
        return [whole(self._encoder.line(reply)) for reply in self.waits.settle(ending=ending)]


_in_steps: Final = attrgetter("in_steps")


def _group_lines(lines: list[Line]) -> Iterator[list[Line]]:
    """Group lines that are written in one transaction; a line that may be written in steps is a group of its own."""
    if not any(pending.in_steps for line in lines for pending in line.requests):
        yield lines
        return
    for alone, together in groupby(lines, _in_steps):
        group = list(together)
        yield from ([line] for line in group) if alone else [group]
