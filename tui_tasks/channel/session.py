"""One session with an agent: takes requests, and returns replies and events. Uses neither pipes nor screens.

Requests that arrive together are committed in one transaction. Each is a change of its own, so that a refused one does
not affect the others, and the replies are returned after the commit (docs: protocol, section 3).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tui_tasks.channel import idempotency, replies, requests
from tui_tasks.channel.delivery.messages import MessageDelivery
from tui_tasks.channel.delivery.subscription import Subscription
from tui_tasks.channel.delivery.waits import Waiting, Waits
from tui_tasks.channel.pending_request import DEFECT_MESSAGE, JOURNALED_REFUSALS, PendingRequest
from tui_tasks.channel.presence import Presence
from tui_tasks.channel.replies import ReplyEncoder, ReplyLine, whole
from tui_tasks.channel.requests import Request
from tui_tasks.clock import Uptime, uptime_beside
from tui_tasks.core import vocab
from tui_tasks.core.commit.elapsed import Elapsed
from tui_tasks.core.engine.storage_errors import is_storage_error, storage_errors
from tui_tasks.core.errors import (
    Busy,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    NotProven,
    Paused,
    Refusal,
    StorageFailed,
    UnknownTool,
)
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.changes import AtVersion, RecordRefusal
from tui_tasks.core.operations.checks import RequestChecks
from tui_tasks.core.operations.claims import LapseClaims
from tui_tasks.core.store import HalfWritten, PartlyDone, Reading, Store, Transaction
from tui_tasks.dialects.base import Call, Table, Tool, Wait
from tui_tasks.dialects.requests.arguments import Arguments, decode
from tui_tasks.dialects.requests.confinement import is_told, refuse_beyond, refuse_elsewhere
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.dialects.requests.task_references import with_full_uids

if TYPE_CHECKING:
    from tui_tasks.runner.checks.check_keeper import CheckKeeper

_log = logging.getLogger(__name__)

# The requests of one line, and whether the line is a batch.
Line = tuple[list[PendingRequest], bool]


class Session:
    """Serves the requests of one channel, in the thread that opened the store.

    Attributes:
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
    ) -> None:
        """Open a session.

        Args:
            clock: returns the time of day, in microseconds since the epoch.
            uptime: returns how long the machine has been up; the default goes with the clock.
            presence: records which agents speak here; None if they are not to count as connected.
        """
        self.store = store
        self.table = table
        self.identity = identity
        self.clock = clock
        self._elapsed = store.elapsed = Elapsed(uptime or uptime_beside(clock))
        self.subscription = Subscription(
            store,
            lambda entry: is_told(store.db, identity, entry),
            lambda agent, until: self.messages.record(agent, until),
        )
        self.messages = MessageDelivery(self)
        self.waits = Waits(self)
        self._presence = None if identity.read_only else presence
        self._speakers: set[str] = set()
        self._encoder = ReplyEncoder()
        self.checks: CheckKeeper | None = None

    # Requests

    def answer(self, values: list[Any]) -> list[bytes]:
        """Serve the JSON values of lines that arrived together; a `Refusal` stands for a line that is no JSON.

        Return the replies that can be given now, in order, each a line without its newline.
        """
        return [whole(line) for line in self.answer_lines(values)]

    def answer_lines(self, values: list[Any]) -> list[ReplyLine]:
        """The same, without holding long replies in memory."""
        lines: list[Line] = [self._read_line(value) for value in values]
        return [reply for group in _group_lines(lines) for reply in self._answer(group)]

    def _answer(self, lines: list[Line]) -> list[ReplyLine]:
        try:
            return self._serve(lines)
        except StorageFailed as failure:
            return [reply for line in lines for reply in self._serve_alone(line, failure, len(lines))]

    def _serve_alone(self, line: Line, failure: StorageFailed, companions: int) -> list[ReplyLine]:
        """Serve one line of a group that failed, since another line or the storage may be the cause."""
        waited_out = isinstance(failure, Busy) and any(pending.writes for pending in line[0])
        if waited_out or companions == 1:
            return self._refused_line(line, failure)
        try:
            return self._serve([line])
        except StorageFailed as own:
            return self._refused_line(line, own)

    def _refused_line(self, line: Line, failure: Refusal) -> list[ReplyLine]:
        pending_requests, batch = line
        replies = [self.refused(pending, pending.refusal or failure) for pending in pending_requests]
        return [self._encoder.line(reply) for reply in ([replies] if batch else replies)]

    def _read_line(self, value: Any) -> Line:
        if not isinstance(value, list):
            return [self._prepare(value)], False
        if not 1 <= len(value) <= requests.MAX_BATCH:
            refusal = InvalidRequest(f"a batch holds 1 to {requests.MAX_BATCH:,} requests, not {len(value):,}")
            return [PendingRequest(None, refusal=refusal)], False
        pending_requests = [self._prepare(item) for item in value]
        for at, (item, pending) in enumerate(zip(value, pending_requests, strict=True)):
            if isinstance(item, list) or (pending.tool is not None and pending.tool.waits):
                refusal = InvalidRequest(f"request {at} of the batch is itself a batch, or waits", failed=at)
                return [PendingRequest(None, refusal=refusal)], False
        return pending_requests, True

    def _prepare(self, value: Any) -> PendingRequest:
        pending = PendingRequest(requests.request_id(value))
        try:
            if isinstance(value, Refusal):
                raise value
            pending.request = requests.read(value)
            self._refuse_others(pending.request)
            pending.tool = self._tool(pending.request.tool)
            if not pending.request.arguments:
                requests.refuse_flat(value, pending.tool.name, pending.tool.argument_names)
            if pending.tool.human:
                raise Forbidden(f"{pending.tool.name} is the human's", tool=pending.tool.name)
            pending.arguments = decode(pending.tool.arguments, pending.request.arguments)
            pending.writes = pending.tool.writes(pending.arguments)
            if self.identity.list_only:
                refuse_beyond(pending.tool, pending.arguments, self.identity.list)
            if self.identity.read_only and pending.writes:
                raise Forbidden("this channel is read only", tool=pending.tool.name)
        except Refusal as refusal:
            pending.refusal = refusal
            pending.writes = isinstance(refusal, JOURNALED_REFUSALS)
            # The tool may define its own form of refusals.
            pending.tool = pending.tool or self.table.find(requests.tool_name(value))
        except Exception:
            _log.exception("a request could not be read")
            pending.refusal = Refusal(DEFECT_MESSAGE)
        return pending

    def _refuse_others(self, request: Request) -> None:
        """Refuse a request for another agent or list where the channel is restricted to its own.

        Raises:
            Forbidden: the request names another agent or list.
        """
        identity = self.identity
        if identity.agent_only and request.agent not in (None, identity.agent):
            raise Forbidden(f"this channel speaks as {identity.agent} alone", agent=identity.agent)
        if identity.list_only and request.list not in (None, identity.list):
            raise Forbidden(f"this channel is for the list {identity.list} alone", list=identity.list)

    def speaker(self, request: Request | None) -> str:
        """Return the agent of a request; on a channel restricted to its agent, always that one."""
        named = request.agent if request is not None and not self.identity.agent_only else None
        return named or self.identity.agent

    def _tool(self, name: str) -> Tool:
        tool = self.table.find(name)
        if tool is None:
            raise self._unknown(name[:200])
        return tool

    def _unknown(self, name: str) -> UnknownTool:
        from tui_tasks.channel import tool_names

        near = tool_names.suggestions(name, (tool for tool, of in self.table.tools.items() if not of.human))
        # A tool with actions is often called as `task:create`.
        family, separator, action = name.partition(":")
        hint = f"; did you mean {' or '.join(near)}?" if near else "; control:hello lists the tools"
        if separator and (family_tool := self.table.find(family)) is not None:
            near = [family, *(other for other in near if other != family)][:3]
            if "action" in family_tool.argument_names:
                hint = f'; {family} takes it as an argument: "action": "{action}"'
        return UnknownTool(f"no tool {name}{hint}", did_you_mean=near)

    def _serve(self, lines: list[Line]) -> list[ReplyLine]:
        with storage_errors(self.store.path):
            return self._serve_together(lines)

    def _serve_together(self, lines: list[Line]) -> list[ReplyLine]:
        now = self.clock()
        self.look_at_checks()
        waiting: list[Waiting] = []
        writes = not self.identity.read_only and any(
            pending.writes for pending_requests, _ in lines for pending in pending_requests
        )
        replies = None if writes else self._read(lines, now, waiting)
        if replies is None:
            replies = self._write(lines, now, waiting)
        self.waits.add(waiting)
        if self._presence is not None:
            self._presence.record_speakers(self._speakers, now)
        return [self._encoder.line(reply) for reply in replies if reply is not None]

    def look_at_checks(self) -> None:
        """Bring the state of checks up to date with the files (docs: protocol, section 11)."""
        if self.checks is not None:
            # If the database is locked for long, skip this rather than delay the requests.
            with contextlib.suppress(StorageFailed):
                self.checks.look(self.store, self.clock())

    def _read(self, lines: list[Line], now: int, waiting: list[Waiting]) -> list[Any] | None:
        """Serve lines that write nothing; return None if something must be written first: a lapsed lease, a message."""
        with self.store.reading() as reading:
            lapse = reading.state_cache.next_lapse()
            if lapse is not None and lapse <= self.elapsed_time() and not self.identity.read_only:
                return None
            if any(
                self.messages.waiting_for(pending, reading)
                for pending_requests, _ in lines
                for pending in pending_requests
            ):
                # The delivery of messages must be written.
                return None
            return [self._serve_line(line, now, reading, waiting) for line in lines]

    def _write(self, lines: list[Line], now: int, waiting: list[Waiting]) -> list[Any]:
        """Serve lines in one transaction; use savepoints only when a request failed after it had written something."""
        cursor = self.subscription.cursor
        try:
            return self._write_once(lines, now, waiting, in_steps=_is_in_steps(lines[0]))
        except HalfWritten:
            self.subscription.cursor = cursor
            waiting.clear()
            return self._write_once(lines, now, waiting, savepoints=True)
        except PartlyDone as partly:
            # Only a line in a group of its own is written in steps.
            error = partly.__cause__
            assert isinstance(error, Exception)
            if isinstance(error, StorageFailed):
                raise error from None
            refusal = error if isinstance(error, Refusal) else _log_defect(error)
            ((pending_requests, batch),) = lines
            return [
                self._refused_batch(pending_requests, partly.at, refusal)
                if batch
                else self.refused(pending_requests[0], refusal)
            ]

    def _write_once(
        self,
        lines: list[Line],
        now: int,
        waiting: list[Waiting],
        *,
        savepoints: bool = False,
        in_steps: bool = False,
    ) -> list[Any]:
        with self.store.transaction(now, savepoints=savepoints, in_steps=in_steps) as transaction:
            _release_lapsed_claims(transaction)
            return [self._serve_line(line, now, transaction, waiting) for line in lines]

    def _serve_line(self, line: Line, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        pending_requests, batch = line
        reply = (
            self._serve_batch(pending_requests, now, reading)
            if batch
            else self._serve_one(pending_requests[0], now, reading, waiting)
        )
        if isinstance(reading, Transaction):
            for pending, own in zip(pending_requests, reply if batch else [reply], strict=True):
                if own is not None:
                    self.messages.add(pending, own, reading)
        return reply

    def _serve_one(self, pending: PendingRequest, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            if transaction is not None and pending.writes:
                with transaction.change():
                    result, seq = self._run(pending, now, reading)
            else:
                result, seq = self._run(pending, now, reading)
        except (StorageFailed, HalfWritten, PartlyDone):
            raise
        except Refusal as refusal:
            self._follow_refusal(pending, refusal, transaction)
            return self.refused(pending, refusal, reading)
        except Exception as error:
            return self.refused(pending, _log_defect(error), reading)
        if isinstance(result, Wait):
            waiting.append(Waiting(pending, result))
            self._record_asker(pending, result, transaction)
            return None
        return replies.served(pending, result, seq)

    def _record_asker(self, pending: PendingRequest, wait: Wait, transaction: Transaction | None) -> None:
        """Record that this process waits for an answer, unless an idempotency key lets the question outlive it."""
        is_resumed = pending.request is not None and pending.request.idempotency_key is not None
        if self._presence is not None and transaction is not None and wait.subject is not None and not is_resumed:
            self._presence.record_asker(wait.subject)

    def forget_asker(self, ask: str) -> None:
        """Record that nobody here waits for an answer any more: an asker that was given a ticket may end."""
        if self._presence is not None:
            self._presence.forget_asker(ask)

    def leave(self) -> None:
        """End the session: its agents no longer count as connected."""
        if self._presence is not None:
            self._presence.leave(self.clock())

    def _serve_batch(self, pending_requests: list[PendingRequest], now: int, reading: Reading) -> Any:
        """Serve a batch as a whole or not at all (docs: protocol, section 2)."""
        served: list[Any] = []
        cursor = self.subscription.cursor
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            with transaction.change() if transaction else contextlib.nullcontext():
                for pending in pending_requests:
                    result, seq = self._run(pending, now, reading)
                    served.append(replies.served(pending, result, seq))
            return served
        except (StorageFailed, HalfWritten):
            raise
        except PartlyDone as partly:
            partly.at = len(served)
            raise
        except Refusal as refusal:
            refused = refusal
        except Exception as error:
            refused = _log_defect(error)
        self.subscription.cursor = cursor
        at = len(served)
        self._follow_refusal(pending_requests[at], refused, transaction)
        return self._refused_batch(pending_requests, at, refused, reading)

    def _refused_batch(
        self, pending_requests: list[PendingRequest], at: int, refusal: Refusal, reading: Reading | None = None
    ) -> list[dict[str, Any]]:
        """Return the replies to a batch of which the request `at` was refused."""
        other = Conflict(f"request {at} of the batch was refused, so nothing of it was done", failed=at)
        return [
            self.refused(pending, refusal if n == at else other, reading) for n, pending in enumerate(pending_requests)
        ]

    def _run(self, pending: PendingRequest, now: int, reading: Reading) -> tuple[Any, int]:
        """Run one request within the open transaction or read; return its result and the newest seq of the journal.

        Raises:
            Refusal: the request is refused.
        """
        if pending.refusal is not None:
            raise pending.refusal
        request, tool = pending.request, pending.tool
        assert request is not None
        assert tool is not None
        agent = self.speaker(request)
        if agent not in vocab.RESERVED_AGENTS:
            requests.refuse_alike(reading.state_cache, agent)
        self._speakers.add(agent)
        if not tool.while_paused and (known := reading.state_cache.agent(agent)) is not None and known.paused:
            raise Paused(known.message, agent=agent)
        transaction = reading if isinstance(reading, Transaction) else None
        call = Call(
            db=self.store.db,
            now=now,
            agent=agent,
            bound_list=request.list or self.identity.list,
            transaction=transaction,
            channel=self,
            reading=reading,
        )
        if transaction is not None:
            transaction.speak(agent, request.why, inside_run=self.identity.inside_run)
        stored = idempotency.find(self.store.db, pending, agent) if request.idempotency_key is not None else None
        arguments: Any = pending.arguments
        # On a repeated request, task numbers may name other tasks by now, and the stored reply is used instead.
        if stored is None:
            arguments = with_full_uids(call, tool, arguments)
        if self.identity.list_only:
            refuse_elsewhere(call, arguments, was_served=stored is not None)
        if stored is not None:
            if "result" in stored:
                pending.note = stored.get("note")
                return stored["result"], stored["seq"]
            call.resumes = stored["waits_for"]
        if request.if_version is not None:
            _check_version(request, tool, arguments, transaction)
        result = tool.handler(call, arguments)
        pending.note = call.note
        # Replies of requests that only read are not stored: they may be long, and repeating them is harmless.
        if request.idempotency_key is not None and pending.writes:
            idempotency.keep(self.store.db, pending, agent, result, reading.seq, call.elapsed_time)
        return result, reading.seq

    def _follow_refusal(self, pending: PendingRequest, refusal: Refusal, transaction: Transaction | None) -> None:
        """Write what follows from a refusal: journal a forbidden request, or start the checks of an unproven task.

        A forbidden request is journaled as `agent.refused` (docs: protocol, sections 3 and 11).
        """
        if isinstance(refusal, JOURNALED_REFUSALS) and transaction is not None:
            request = pending.request
            with transaction.change():
                transaction.speak(self.speaker(request), request.why if request else None)
                transaction.run(RecordRefusal(request.tool if request else refusal.data["tool"], refusal.message))
        elif isinstance(refusal, NotProven) and refusal.uid is not None and transaction is not None:
            self._begin_checks(pending, refusal.uid, transaction)

    def _begin_checks(self, pending: PendingRequest, uid: str, transaction: Transaction) -> None:
        """Start the checks that keep a task from being set done (docs: protocol, section 11)."""
        # The task is missing if the refused batch had created it.
        with contextlib.suppress(NotFound), transaction.change():
            request = pending.request
            transaction.speak(self.speaker(request), request.why if request else None)
            transaction.run(RequestChecks(uid, unproven_alone=True))

    def refused(self, pending: PendingRequest, refusal: Refusal, reading: Reading | None = None) -> dict[str, Any]:
        """Return the reply that refuses a request."""
        return replies.refused(pending, refusal, self._seq(reading))

    def _seq(self, reading: Reading | None) -> int:
        if reading is not None:
            return reading.seq
        with contextlib.suppress(Exception):
            return journal.newest(self.store.db)
        return 0

    # Leases and waits

    def elapsed_time(self) -> int:
        """Return the database's instant in microseconds (`elapsed`), by which leases and waits end.

        Raises:
            StorageFailed: the database cannot be read.
        """
        return self._elapsed.instant(self.store.db, self.clock())

    def due(self) -> int | None:
        """Return when the next lease or wait ends, as `passed` counts; None if there is none."""
        lapse = None
        if not self.identity.read_only:
            with contextlib.suppress(StorageFailed):
                lapse = self.store.next_lapse()
        return min((at for at in (self.waits.due(), lapse) if at is not None), default=None)

    def settle(self, *, ending: bool = False) -> list[bytes]:
        """Release lapsed claims and return the replies of waits that are over; `ending`: the input has ended.

        Raises:
            StorageFailed: the database cannot be read or written; a later call may succeed.
        """
        now = self.clock()
        self.store.look_again()
        lapse = self.store.next_lapse()
        if lapse is not None and lapse <= self._elapsed.look(self.store.db, now) and not self.identity.read_only:
            with self.store.transaction(now) as transaction:
                _release_lapsed_claims(transaction)
        return [whole(self._encoder.line(reply)) for reply in self.waits.settle(ending=ending)]


def _is_in_steps(line: Line) -> bool:
    """Return whether a line may be written in several transactions; if it fails, all of it is rolled back."""
    return any(
        pending.refusal is None
        and pending.writes
        and pending.tool is not None
        and pending.tool.in_steps(pending.arguments)
        for pending in line[0]
    )


def _group_lines(lines: list[Line]) -> Iterator[list[Line]]:
    """Group lines that are written in one transaction; a line that may be written in steps is a group of its own."""
    for alone, found in groupby(lines, _is_in_steps):
        group = list(found)
        yield from ([line] for line in group) if alone else [group]


def _check_version(request: Request, tool: Tool, arguments: Arguments | None, transaction: Transaction | None) -> None:
    uid = tool.subject(arguments)
    if uid is None or transaction is None:
        raise InvalidRequest(f"if_version goes with what changes exactly one named task; this {tool.name} does not")
    assert request.if_version is not None
    transaction.run(AtVersion(uid, request.if_version))


def _release_lapsed_claims(transaction: Transaction) -> None:
    """Release lapsed claims."""
    lapse = transaction.state_cache.next_lapse()
    if lapse is not None and lapse <= transaction.elapsed_time:
        with transaction.change():
            transaction.speak(vocab.SYSTEM)
            transaction.run(LapseClaims())


def _log_defect(error: Exception) -> Refusal:
    """Log an unexpected error and return the refusal to reply with.

    Raises:
        Exception: `error` itself if it comes from the storage, which the caller handles.
    """
    if is_storage_error(error):
        raise error
    _log.error("a request failed", exc_info=error)
    return Refusal(DEFECT_MESSAGE)
