"""One conversation with an agent: requests in, replies and events out. Knows neither pipes nor screens.

Requests that came together are committed together: one transaction, each request a change of its own so that a refusal
spoils nothing, and the replies after the commit (docs: protocol, section 3).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.channel import idempotency, requests
from tui_tasks.channel.pending_request import DEFECT, KEPT, PendingRequest
from tui_tasks.channel.presence import Presence
from tui_tasks.channel.replies import ReplyEncoder, ReplyLine, whole
from tui_tasks.channel.requests import Request
from tui_tasks.channel.subscription import Subscription
from tui_tasks.channel.waits import Waiting, Waits
from tui_tasks.clock import uptime_beside
from tui_tasks.core import vocab
from tui_tasks.core.elapsed import Elapsed
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
from tui_tasks.core.operations import AtVersion, DeliverMessages, LapseClaims, RecordRefusal
from tui_tasks.core.operations_checks import RequestChecks
from tui_tasks.core.snapshots import HumanMessage, iso
from tui_tasks.core.store import HalfWritten, PartlyDone, Reading, Store, Transaction
from tui_tasks.dialects.base import Call, Table, Tool, Wait
from tui_tasks.dialects.requests.arguments import Arguments, decode
from tui_tasks.dialects.requests.confinement import is_told, refuse_beyond, refuse_elsewhere
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.dialects.requests.task_references import with_full_uids
from tui_tasks.uptime import Uptime

if TYPE_CHECKING:
    from tui_tasks.runner.check_keeper import CheckKeeper

_log = logging.getLogger(__name__)


# The requests of a line, and whether they are a batch.
Line = tuple[list[PendingRequest], bool]


class Session:
    """The engine of a channel. Used by one thread, the one that opened the store."""

    def __init__(
        self,
        store: Store,
        table: Table,
        identity: Identity,
        clock: Callable[[], int],
        uptime: Callable[[], Uptime] | None = None,
        presence: Presence | None = None,
    ) -> None:
        """`clock` tells the time of day, `uptime` what time has passed; unless told, what goes with that clock.

        `presence` keeps who is there; without it nobody is seen to be.
        """
        self.store = store
        self.table = table
        self.identity = identity
        self.clock = clock
        self._elapsed = store.elapsed = Elapsed(uptime or uptime_beside(clock))
        self.subscription = Subscription(store, lambda entry: is_told(store.db, identity, entry), self._deliver_heard)
        self.waits = Waits(self)
        self._presence = None if identity.read_only else presence
        self._speakers: set[str] = set()
        self._encoder = ReplyEncoder()
        # What looks at checks before anything is served; None: another process sees to it.
        self.checks: CheckKeeper | None = None

    # Requests

    def answer(self, values: list[Any]) -> list[bytes]:
        """Serve the JSON values of lines that came together; a `Refusal` stands for a line that is no JSON.

        Returns the replies that can be given now, in order, each a line without its end.
        """
        return [whole(line) for line in self.answer_lines(values)]

    def answer_lines(self, values: list[Any]) -> list[ReplyLine]:
        """The same, without holding long replies in memory."""
        lines: list[Line] = [self._read_line(value) for value in values]
        return [reply for group in _groups(lines) for reply in self._answer(group)]

    def _answer(self, lines: list[Line]) -> list[ReplyLine]:
        try:
            return self._serve(lines)
        except StorageFailed as failure:
            return [reply for line in lines for reply in self._serve_alone(line, failure, len(lines))]

    def _serve_alone(self, line: Line, failure: StorageFailed, companions: int) -> list[ReplyLine]:
        """Serve a line whose group has failed: one of the others may be at fault, or the storage."""
        waited_out = isinstance(failure, Busy) and any(job.writes for job in line[0])
        if waited_out or companions == 1:
            return self._refused_line(line, failure)
        try:
            return self._serve([line])
        except StorageFailed as own:
            return self._refused_line(line, own)

    def _refused_line(self, line: Line, failure: Refusal) -> list[ReplyLine]:
        jobs, batch = line
        replies = [self.refused(job, job.refusal or failure) for job in jobs]
        return [self._encoder.line(reply) for reply in ([replies] if batch else replies)]

    def _read_line(self, value: Any) -> Line:
        if not isinstance(value, list):
            return [self._prepare(value)], False
        if not 1 <= len(value) <= requests.MAX_BATCH:
            refusal = InvalidRequest(f"a batch holds 1 to {requests.MAX_BATCH:,} requests, not {len(value):,}")
            return [PendingRequest(None, refusal=refusal)], False
        jobs = [self._prepare(item) for item in value]
        for at, (item, job) in enumerate(zip(value, jobs, strict=True)):
            if isinstance(item, list) or (job.tool is not None and job.tool.waits):
                refusal = InvalidRequest(f"request {at} of the batch is itself a batch, or waits", failed=at)
                return [PendingRequest(None, refusal=refusal)], False
        return jobs, True

    def _prepare(self, value: Any) -> PendingRequest:
        job = PendingRequest(requests.request_id(value))
        try:
            if isinstance(value, Refusal):
                raise value
            job.request = requests.read(value)
            self._refuse_others(job.request)
            job.tool = self._tool(job.request.tool)
            requests.refuse_flat(value, job.tool.name, job.tool.argument_names)
            if job.tool.human:
                raise Forbidden(f"{job.tool.name} is the human's", tool=job.tool.name)
            job.arguments = decode(job.tool.arguments, job.request.arguments)
            job.writes = job.tool.writes(job.arguments)
            if self.identity.list_only:
                refuse_beyond(job.tool, job.arguments, self.identity.list)
            if self.identity.read_only and job.writes:
                raise Forbidden("this channel is read only", tool=job.tool.name)
        except Refusal as refusal:
            job.refusal = refusal
            job.writes = isinstance(refusal, KEPT)
            # It may have a form of its own for refusals.
            job.tool = job.tool or self.table.find(requests.tool_name(value))
        except Exception:
            _log.exception("a request could not be read")
            job.refusal = Refusal(DEFECT)
        return job

    def _refuse_others(self, request: Request) -> None:
        """Refuse what speaks as another agent, or of another list, where the channel's is fixed.

        Raises:
            Forbidden: it does.
        """
        identity = self.identity
        if identity.agent_only and request.agent not in (None, identity.agent):
            raise Forbidden(f"this channel speaks as {identity.agent} alone", agent=identity.agent)
        if identity.list_only and request.list not in (None, identity.list):
            raise Forbidden(f"this channel is for the list {identity.list} alone", list=identity.list)

    def speaker(self, request: Request | None) -> str:
        """Who speaks by a request; what poses as another is the channel's own agent's."""
        named = request.agent if request is not None and not self.identity.agent_only else None
        return named or self.identity.agent

    def _tool(self, name: str) -> Tool:
        tool = self.table.find(name)
        if tool is None:
            raise self._unknown(name[:200])
        return tool

    def _unknown(self, name: str) -> UnknownTool:
        from tui_tasks.channel import tool_names

        near = tool_names.near(name, (tool for tool, of in self.table.tools.items() if not of.human))
        # A tool with actions is often called as `task:create`.
        family, mark, action = name.partition(":")
        hint = f"; did you mean {' or '.join(near)}?" if near else "; control:hello lists the tools"
        if mark and (holder := self.table.find(family)) is not None:
            near = [family, *(other for other in near if other != family)][:3]
            if "action" in holder.argument_names:
                hint = f'; {family} takes it as an argument: "action": "{action}"'
        return UnknownTool(f"no tool {name}{hint}", did_you_mean=near)

    def _serve(self, lines: list[Line]) -> list[ReplyLine]:
        with storage_errors(self.store.path):
            return self._serve_together(lines)

    def _serve_together(self, lines: list[Line]) -> list[ReplyLine]:
        now = self.clock()
        self.look_at_checks()
        waiting: list[Waiting] = []
        writes = not self.identity.read_only and any(job.writes for jobs, _ in lines for job in jobs)
        replies = None if writes else self._read(lines, now, waiting)
        if replies is None:
            replies = self._write(lines, now, waiting)
        self.waits.add(waiting)
        if self._presence is not None:
            self._presence.heard(self._speakers, now)
        return [self._encoder.line(reply) for reply in replies if reply is not None]

    def look_at_checks(self) -> None:
        """Let what is served be true of the files as they are (docs: protocol, section 11)."""
        if self.checks is not None:
            # Who holds the database for long lets the look wait, and no request.
            with contextlib.suppress(StorageFailed):
                self.checks.look(self.store, self.clock())

    def _read(self, lines: list[Line], now: int, waiting: list[Waiting]) -> list[Any] | None:
        """Serve lines that write nothing; None where a lease is over, which is to be written first."""
        with self.store.reading() as reading:
            lapse = reading.known.next_lapse()
            if lapse is not None and lapse <= self.passed() and not self.identity.read_only:
                return None
            if any(self._messages_for(job, reading) for jobs, _ in lines for job in jobs):
                # Their delivery is to be written.
                return None
            return [self._serve_line(line, now, reading, waiting) for line in lines]

    def _write(self, lines: list[Line], now: int, waiting: list[Waiting]) -> list[Any]:
        """Serve lines in one transaction, with savepoints only where one has failed half written."""
        heard = self.subscription.cursor
        try:
            return self._write_once(lines, now, waiting, in_steps=_is_in_steps(lines[0]))
        except HalfWritten:
            self.subscription.cursor = heard
            waiting.clear()
            return self._write_once(lines, now, waiting, savepoints=True)
        except PartlyDone as partly:
            # The line was alone.
            error = partly.__cause__
            assert isinstance(error, Exception)
            if isinstance(error, StorageFailed):
                raise error from None
            refusal = error if isinstance(error, Refusal) else _defect(error)
            ((jobs, batch),) = lines
            return [self._refused_batch(jobs, partly.at, refusal) if batch else self.refused(jobs[0], refusal)]

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
            _lapse(transaction)
            return [self._serve_line(line, now, transaction, waiting) for line in lines]

    def _serve_line(self, line: Line, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        jobs, batch = line
        reply = self._serve_batch(jobs, now, reading) if batch else self._serve_one(jobs[0], now, reading, waiting)
        if isinstance(reading, Transaction):
            for job, own in zip(jobs, reply if batch else [reply], strict=True):
                if own is not None:
                    self._add_messages(job, own, reading)
        return reply

    def _serve_one(self, job: PendingRequest, now: int, reading: Reading, waiting: list[Waiting]) -> Any:
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            if transaction is not None and job.writes:
                with transaction.change():
                    result, seq = self._run(job, now, reading)
            else:
                result, seq = self._run(job, now, reading)
        except (StorageFailed, HalfWritten, PartlyDone):
            raise
        except Refusal as refusal:
            self._follow_refusal(job, refusal, transaction)
            return self.refused(job, refusal, reading)
        except Exception as error:
            return self.refused(job, _defect(error), reading)
        if isinstance(result, Wait):
            waiting.append(Waiting(job, result))
            self._note_asker(job, result, transaction)
            return None
        return self.served(job, result, seq)

    def _note_asker(self, job: PendingRequest, wait: Wait, transaction: Transaction | None) -> None:
        """Note who waits for an answer. Under an idempotency key the question outlives the process that asked it."""
        is_resumed = job.request is not None and job.request.idempotency_key is not None
        if self._presence is not None and transaction is not None and wait.subject is not None and not is_resumed:
            self._presence.asks(wait.subject)

    def leave(self) -> None:
        """End the session: nobody speaks here any more."""
        if self._presence is not None:
            self._presence.leave(self.clock())

    def _serve_batch(self, jobs: list[PendingRequest], now: int, reading: Reading) -> Any:
        """Whole or not at all (docs: protocol, section 2)."""
        replies: list[Any] = []
        heard = self.subscription.cursor
        transaction = reading if isinstance(reading, Transaction) else None
        try:
            with transaction.change() if transaction else contextlib.nullcontext():
                for job in jobs:
                    result, seq = self._run(job, now, reading)
                    replies.append(self.served(job, result, seq))
            return replies
        except (StorageFailed, HalfWritten):
            raise
        except PartlyDone as partly:
            partly.at = len(replies)
            raise
        except Refusal as refusal:
            refused = refusal
        except Exception as error:
            refused = _defect(error)
        self.subscription.cursor = heard
        at = len(replies)
        self._follow_refusal(jobs[at], refused, transaction)
        return self._refused_batch(jobs, at, refused, reading)

    def _refused_batch(
        self, jobs: list[PendingRequest], at: int, refusal: Refusal, reading: Reading | None = None
    ) -> list[dict[str, Any]]:
        """Return the replies to a batch of which the request `at` was refused."""
        other = Conflict(f"request {at} of the batch was refused, so nothing of it was done", failed=at)
        return [self.refused(job, refusal if n == at else other, reading) for n, job in enumerate(jobs)]

    def _run(self, job: PendingRequest, now: int, reading: Reading) -> tuple[Any, int]:
        """Run one request within what is open; return its result and the journal's newest seq."""
        if job.refusal is not None:
            raise job.refusal
        request, tool = job.request, job.tool
        assert request is not None
        assert tool is not None
        agent = self.speaker(request)
        if agent not in vocab.RESERVED_AGENTS:
            requests.refuse_alike(self.store.db, agent)
        self._speakers.add(agent)
        if not tool.while_paused and (known := reading.known.agent(agent)) is not None and known.paused:
            raise Paused(known.message, agent=agent)
        transaction = reading if isinstance(reading, Transaction) else None
        call = Call(
            db=self.store.db,
            now=now,
            agent=agent,
            bound_list=request.list or self.identity.list,
            transaction=transaction,
            channel=self,
        )
        if transaction is not None:
            transaction.speak(agent, request.why, inside_run=self.identity.inside_run)
        held = idempotency.find(self.store.db, job, agent) if request.idempotency_key is not None else None
        arguments: Any = job.arguments
        # What a number stood for the first time may stand elsewhere by now.
        if held is None:
            arguments = with_full_uids(call, tool, arguments)
        if self.identity.list_only:
            refuse_elsewhere(call, arguments, was_served=held is not None)
        if held is not None:
            if "result" in held:
                return held["result"], held["seq"]
            call.resumes = held["waits_for"]
        if request.if_version is not None:
            _check_version(request, tool, arguments, transaction)
        result = tool.handler(call, arguments)
        job.note = call.note
        # No reply of what only reads is kept: it may be long, and asking again does no harm.
        if request.idempotency_key is not None and job.writes:
            idempotency.keep(self.store.db, job, agent, result, reading.seq, call.passed)
        return result, reading.seq

    # Messages of the human's

    def _messages_for(self, job: PendingRequest, reading: Reading) -> tuple[HumanMessage, ...]:
        """The human's messages that go with the reply to a request: those that no event is still to bring."""
        if self.identity.read_only:
            # Nothing could be written of their delivery.
            return ()
        agent = self.speaker(job.request)
        found = reading.known.messages_waiting_for(agent)
        return tuple(message for message in found if not self.subscription.brings(agent, message.seq))

    def _add_messages(self, job: PendingRequest, reply: dict[str, Any], transaction: Transaction) -> None:
        """Let a reply bring the human's messages to the agent that gets it (docs: protocol, section 3)."""
        found = self._messages_for(job, transaction)
        if not found:
            return
        with transaction.change():
            transaction.speak(found[0].agent)
            transaction.run(DeliverMessages(found[0].agent, until=found[-1].seq))
        reply["seq"] = transaction.seq
        reply["messages"] = [{"at": iso(message.sent_at), "text": message.text} for message in found]

    def add_messages(self, job: PendingRequest, reply: dict[str, Any]) -> None:
        """The same for the reply to a request that has waited; what cannot be written now goes with the next."""
        with contextlib.suppress(StorageFailed):
            with self.store.reading() as reading:
                if not self._messages_for(job, reading):
                    return
            with self.store.transaction(self.clock()) as transaction:
                self._add_messages(job, reply, transaction)

    def _deliver_heard(self, agent: str, until: int) -> None:
        """Write down that a subscriber hears the messages up to an entry.

        Raises:
            StorageFailed: it cannot be written now.
        """
        if self.identity.read_only:
            return
        with self.store.reading() as reading:
            if not reading.known.messages_waiting_for(agent):
                return
        with self.store.transaction(self.clock()) as transaction, transaction.change():
            transaction.speak(agent)
            transaction.run(DeliverMessages(agent, until=until))

    def _follow_refusal(self, job: PendingRequest, refusal: Refusal, transaction: Transaction | None) -> None:
        """Write what a refusal entails: a `forbidden` is kept as `agent.refused`, an unproven task has its checks run.

        See docs: protocol, sections 3 and 11.
        """
        if isinstance(refusal, KEPT) and transaction is not None:
            request = job.request
            with transaction.change():
                transaction.speak(self.speaker(request), request.why if request else None)
                transaction.run(RecordRefusal(request.tool if request else refusal.data["tool"], refusal.message))
        elif isinstance(refusal, NotProven) and refusal.uid is not None and transaction is not None:
            self._begin_checks(job, refusal.uid, transaction)

    def _begin_checks(self, job: PendingRequest, uid: str, transaction: Transaction) -> None:
        """Run the checks that keep a task from being set done (docs: protocol, section 11)."""
        # A batch may have made the task, which is gone again.
        with contextlib.suppress(NotFound), transaction.change():
            request = job.request
            transaction.speak(self.speaker(request), request.why if request else None)
            transaction.run(RequestChecks(uid, unproven_alone=True))

    def served(self, job: PendingRequest, result: Any, seq: int) -> dict[str, Any]:
        """The reply that gives a request its result."""
        reply: dict[str, Any] = {"id": job.id, "ok": True, "result": result, "seq": seq}
        if job.note is not None:
            reply["note"] = job.note
        return reply

    def refused(self, job: PendingRequest, refusal: Refusal, reading: Reading | None = None) -> dict[str, Any]:
        """The reply that refuses a request."""
        message = refusal.message
        if isinstance(refusal, NotFound) and len(refusal.data["id"]) != _UID_LENGTH:
            message += _WHERE_TO_LOOK.get(refusal.kind, "")
        error = {"code": refusal.code, "message": message, "data": refusal.data}
        reply: dict[str, Any] = {"id": job.id, "ok": False, "error": error}
        if job.tool is not None and job.tool.refusal is not None:
            reply["result"] = job.tool.refusal(refusal)
        reply["seq"] = self._seq(reading)
        return reply

    def _seq(self, reading: Reading | None) -> int:
        if reading is not None:
            return reading.seq
        with contextlib.suppress(Exception):
            return journal.newest(self.store.db)
        return 0

    # What happens later

    def passed(self) -> int:
        """The database's own instant (`elapsed`), by which leases and waits end.

        Raises:
            StorageFailed: the database cannot be read.
        """
        return self._elapsed.instant(self.store.db, self.clock())

    def due(self) -> int | None:
        """When something is to be done though nothing comes in: a lease or a wait is over. As `passed`, or None."""
        lapse = None
        if not self.identity.read_only:
            with contextlib.suppress(StorageFailed):
                lapse = self.store.next_lapse()
        return min((at for at in (self.waits.due(), lapse) if at is not None), default=None)

    def settle(self, *, ending: bool = False) -> list[bytes]:
        """Give back what has lapsed, and answer the waits that are over; `ending`: no more requests will come.

        Raises:
            StorageFailed: try again later.
        """
        now = self.clock()
        self.store.look_again()
        lapse = self.store.next_lapse()
        if lapse is not None and lapse <= self._elapsed.look(self.store.db, now) and not self.identity.read_only:
            with self.store.transaction(now) as transaction:
                _lapse(transaction)
        return [whole(self._encoder.line(reply)) for reply in self.waits.settle(ending=ending)]


_UID_LENGTH: Final = 36
# Where whoever named what is not there finds out what is.
_WHERE_TO_LOOK: Final = {
    "task": ": a task is named by its uid, by the first 6 or more characters of it, or by #N, its number in the list",
    "plan": ": a plan is named by its plan_id, which list_plans tells",
    "list": ": a list is named as it is called, a plan by its plan_id; leave it out for any",
    "job": ": a job is named by its uuid, which scheduler:list_tasks tells",
    "run": ": a run is named by its run_id, which scheduler:get_runs tells",
    "claim": ": a claim is named by the id that control:claim returned to you",
}


def _is_in_steps(line: Line) -> bool:
    """Return whether a line may be written in steps; what fails then is taken back whole, as a batch must be."""
    return any(
        job.refusal is None and job.writes and job.tool is not None and job.tool.in_steps(job.arguments)
        for job in line[0]
    )


def _groups(lines: list[Line]) -> Iterator[list[Line]]:
    """Lines that are written together: those that may be written in steps are alone."""
    for alone, found in groupby(lines, _is_in_steps):
        group = list(found)
        yield from ([line] for line in group) if alone else [group]


def _check_version(request: Request, tool: Tool, arguments: Arguments | None, transaction: Transaction | None) -> None:
    uid = tool.subject(arguments)
    if uid is None or transaction is None:
        raise InvalidRequest(f"if_version goes with what changes exactly one named task; this {tool.name} does not")
    assert request.if_version is not None
    transaction.run(AtVersion(uid, request.if_version))


def _lapse(transaction: Transaction) -> None:
    """Give back what has lapsed."""
    lapse = transaction.known.next_lapse()
    if lapse is not None and lapse <= transaction.passed:
        with transaction.change():
            transaction.speak(vocab.SYSTEM)
            transaction.run(LapseClaims())


def _defect(error: Exception) -> Refusal:
    """What a request is told that has failed for a reason of ours; where the storage has, nobody is told yet.

    Raises:
        Exception: the error of the storage itself.
    """
    if is_storage_error(error):
        raise error
    _log.error("a request failed", exc_info=error)
    return Refusal(DEFECT)
