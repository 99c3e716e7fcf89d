"""One conversation with an agent: requests in, replies and events out. Knows neither pipes nor screens.

Requests that came together are committed together: one transaction, each request in a savepoint of its own so that a
refusal spoils nothing, and the replies after the commit (contract, section 3).
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from tui_tasks import requests
from tui_tasks.core import journal, kept, queries
from tui_tasks.core.errors import (
    Busy,
    Conflict,
    Forbidden,
    InvalidRequest,
    Paused,
    Refusal,
    StorageFailed,
    UnknownTool,
)
from tui_tasks.core.operations import AtVersion, LapseClaims, RecordRefusal
from tui_tasks.core.store import Store, Transaction
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.dialects.arguments import Arguments, decode
from tui_tasks.dialects.base import Call, Identity, Table, Tool, Wait
from tui_tasks.dialects.events import event
from tui_tasks.requests import Request

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode

# Behind by more than this after its reader stood still, a subscriber is told so and skipped to the present.
LAG_LIMIT: Final = 1_000
PAGE: Final = 200
DEFECT: Final = "a defect in tui-tasks; the channel goes on"


@dataclass(slots=True)
class _Job:
    """A request on its way: what is known of it before it is run."""

    id: str | int | None
    request: Request | None = None
    tool: Tool | None = None
    arguments: Arguments | None = None
    refusal: Refusal | None = None

    @property
    def writes(self) -> bool:
        request, tool = self.request, self.tool
        if self.refusal or request is None or tool is None:
            return isinstance(self.refusal, Forbidden)
        return tool.writes(self.arguments) or tool.human or request.idempotency_key is not None


@dataclass(slots=True)
class _Waiting:
    """A request whose reply waits."""

    job: _Job
    wait: Wait


class Session:
    """The engine of a channel. Used by one thread, the one that opened the store."""

    def __init__(self, store: Store, table: Table, identity: Identity, clock: Callable[[], int]) -> None:
        self.store = store
        self.table = table
        self.identity = identity
        self.clock = clock
        self.cursor: int | None = None
        self.waiting: list[_Waiting] = []

    # Requests

    def answer(self, values: list[Any]) -> list[bytes]:
        """Serve the JSON values of lines that came together; a `Refusal` stands for a line that is no JSON.

        Returns the replies that can be given now, in order, each a line without its end.
        """
        lines: list[tuple[list[_Job], bool]] = [self._read_line(value) for value in values]
        try:
            return self._serve(lines)
        except StorageFailed as failure:
            return [reply for line in lines for reply in self._serve_alone(line, failure, len(lines))]

    def _serve_alone(self, line: tuple[list[_Job], bool], failure: StorageFailed, companions: int) -> list[bytes]:
        """Serve a line whose group has failed: one of the others may be at fault, or the storage."""
        waited_out = isinstance(failure, Busy) and any(job.writes for job in line[0])
        if waited_out or companions == 1:
            return self._refused_line(line, failure)
        try:
            return self._serve([line])
        except StorageFailed as own:
            return self._refused_line(line, own)

    def _refused_line(self, line: tuple[list[_Job], bool], failure: Refusal) -> list[bytes]:
        jobs, batch = line
        replies = [self._refused(job, failure) for job in jobs]
        return [_encode(replies)] if batch else [_encode(reply) for reply in replies]

    def _read_line(self, value: Any) -> tuple[list[_Job], bool]:
        if not isinstance(value, list):
            return [self._prepare(value)], False
        if not 1 <= len(value) <= requests.MAX_BATCH:
            refusal = InvalidRequest(f"a batch holds 1 to {requests.MAX_BATCH:,} requests, not {len(value):,}")
            return [_Job(None, refusal=refusal)], False
        jobs = [self._prepare(item) for item in value]
        for at, (item, job) in enumerate(zip(value, jobs, strict=True)):
            if isinstance(item, list) or (job.tool is not None and job.tool.waits):
                refusal = InvalidRequest(f"request {at} of the batch is itself a batch, or waits", failed=at)
                return [_Job(None, refusal=refusal)], False
        return jobs, True

    def _prepare(self, value: Any) -> _Job:
        job = _Job(requests.request_id(value))
        try:
            if isinstance(value, Refusal):
                raise value
            job.request = requests.read(value)
            job.tool = self._tool(job.request.tool)
            if job.tool.human:
                raise Forbidden(f"{job.tool.name} is the human's", tool=job.tool.name)
            job.arguments = decode(job.tool.arguments, job.request.arguments)
            if self.identity.read_only and job.writes:
                raise Forbidden("this channel is read only", tool=job.tool.name)
        except Refusal as refusal:
            job.refusal = refusal
        except Exception:
            _log.exception("a request could not be read")
            job.refusal = Refusal(DEFECT)
        return job

    def _tool(self, name: str) -> Tool:
        tool = self.table.tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name[:200], self.table.tools, n=3, cutoff=0.5)
            raise UnknownTool(f"no tool {name[:200]}", did_you_mean=near)
        return tool

    def _serve(self, lines: list[tuple[list[_Job], bool]]) -> list[bytes]:
        now = self.clock()
        writes = not self.identity.read_only and any(job.writes for jobs, _ in lines for job in jobs)
        lapse = queries.next_lapse(self.store.db)
        waiting: list[_Waiting] = []
        if writes or (lapse is not None and lapse <= now and not self.identity.read_only):
            with self.store.transaction(now) as transaction:
                _lapse(transaction, lapse)
                replies = [self._serve_line(line, now, transaction, waiting) for line in lines]
        else:
            with self.store.db.transaction(write=False):
                replies = [self._serve_line(line, now, None, waiting) for line in lines]
        self.waiting += waiting
        return [_encode(reply) for reply in replies if reply is not None]

    def _serve_line(
        self,
        line: tuple[list[_Job], bool],
        now: int,
        transaction: Transaction | None,
        waiting: list[_Waiting],
    ) -> Any:
        jobs, batch = line
        if batch:
            return self._serve_batch(jobs, now, transaction)
        job = jobs[0]
        try:
            with _changing(transaction, job):
                result, seq = self._run(job, now, transaction)
        except StorageFailed:
            raise
        except Refusal as refusal:
            self._keep_refusal(job, refusal, transaction)
            return self._refused(job, refusal, transaction)
        except Exception:
            _log.exception("a request failed")
            return self._refused(job, Refusal(DEFECT), transaction)
        if isinstance(result, Wait):
            waiting.append(_Waiting(job, result))
            return None
        return {"id": job.id, "ok": True, "result": result, "seq": seq}

    def _serve_batch(self, jobs: list[_Job], now: int, transaction: Transaction | None) -> Any:
        """Whole or not at all (contract, section 2)."""
        replies: list[Any] = []
        try:
            with transaction.change() if transaction else contextlib.nullcontext():
                for job in jobs:
                    result, seq = self._run(job, now, transaction)
                    replies.append({"id": job.id, "ok": True, "result": result, "seq": seq})
            return replies
        except StorageFailed:
            raise
        except Refusal as refusal:
            refused = refusal
        except Exception:
            _log.exception("a request of a batch failed")
            refused = Refusal(DEFECT)
        at = len(replies)
        self._keep_refusal(jobs[at], refused, transaction)
        other = Conflict(f"request {at} of the batch was refused, so nothing of it was done", failed=at)
        return [self._refused(job, refused if n == at else other, transaction) for n, job in enumerate(jobs)]

    def _run(self, job: _Job, now: int, transaction: Transaction | None) -> tuple[Any, int]:
        """Run one request within what is open; return its result and the journal's newest seq."""
        if job.refusal is not None:
            raise job.refusal
        request, tool = job.request, job.tool
        assert request is not None
        assert tool is not None
        agent = request.agent or self.identity.agent
        self._refuse_paused(agent, tool)
        call = Call(
            db=self.store.db,
            now=now,
            agent=agent,
            bound_list=request.list or self.identity.list,
            transaction=transaction,
            channel=self,
        )
        if transaction is not None:
            transaction.speak(agent, request.why)
        fingerprint = ""
        if request.idempotency_key is not None:
            fingerprint = hashlib.sha256(_encode([tool.name, request.arguments])).hexdigest()
            stored = kept.find(self.store.db, agent, request.idempotency_key)
            if stored is not None:
                return _stored(stored, fingerprint, request.idempotency_key)
        if request.if_version is not None:
            self._check_version(request, tool, job.arguments, transaction)
        result = tool.handler(call, job.arguments)
        seq = transaction.seq if transaction is not None else journal.newest(self.store.db)
        if request.idempotency_key is not None and not isinstance(result, Wait):
            reply = _encode({"result": result, "seq": seq}).decode()
            kept.keep(self.store.db, agent, request.idempotency_key, fingerprint, reply, now)
        return result, seq

    def _refuse_paused(self, agent: str, tool: Tool) -> None:
        if tool.while_paused:
            return
        known = queries.agent(self.store.db, agent)
        if known is not None and known.paused:
            raise Paused(known.message, agent=agent)

    def _check_version(
        self, request: Request, tool: Tool, arguments: Arguments | None, transaction: Transaction | None
    ) -> None:
        uid = tool.subject(arguments)
        if uid is None or transaction is None:
            raise InvalidRequest(f"if_version goes with what changes exactly one named task; this {tool.name} does not")
        assert request.if_version is not None
        transaction.run(AtVersion(uid, request.if_version))

    def _keep_refusal(self, job: _Job, refusal: Refusal, transaction: Transaction | None) -> None:
        """A forbidden request is kept as `agent.refused` (contract, section 3)."""
        if isinstance(refusal, Forbidden) and transaction is not None:
            request = job.request
            agent = (request.agent if request else None) or self.identity.agent
            with transaction.change():
                transaction.speak(agent, request.why if request else None)
                transaction.run(RecordRefusal(request.tool if request else "", refusal.message))

    def _refused(self, job: _Job, refusal: Refusal, transaction: Transaction | None = None) -> dict[str, Any]:
        error = {"code": refusal.code, "message": refusal.message, "data": refusal.data}
        reply: dict[str, Any] = {"id": job.id, "ok": False, "error": error}
        if job.tool is not None and job.tool.refusal is not None:
            reply["result"] = job.tool.refusal(refusal)
        reply["seq"] = self._seq(transaction)
        return reply

    def _seq(self, transaction: Transaction | None) -> int:
        if transaction is not None:
            return transaction.seq
        with contextlib.suppress(Exception):
            return journal.newest(self.store.db)
        return 0

    # What happens later

    def due(self) -> int | None:
        """When something is to be done though nothing comes in: a lease or a wait is over. Microseconds, or None."""
        times = [waiting.wait.deadline for waiting in self.waiting if waiting.wait.deadline is not None]
        lapse = None if self.identity.read_only else queries.next_lapse(self.store.db)
        return min([*times, *([lapse] if lapse is not None else [])], default=None)

    def settle(self, *, ending: bool = False) -> list[bytes]:
        """Give back what has lapsed, and answer the waits that are over; `ending`: no more requests will come."""
        now = self.clock()
        lapse = queries.next_lapse(self.store.db)
        if lapse is not None and lapse <= now and not self.identity.read_only:
            with self.store.transaction(now) as transaction:
                _lapse(transaction, lapse)
        replies: list[bytes] = []
        for waiting in list(self.waiting):
            reply = self._settle_one(waiting, now, ending=ending)
            if reply is not None:
                self.waiting.remove(waiting)
                replies.append(_encode(reply))
        return replies

    def abandon(self, id: str | int | None) -> None:
        """Give up the waits of a request whose asker has gone; nobody is answered."""
        now = self.clock()
        for waiting in [waiting for waiting in self.waiting if waiting.job.id == id]:
            self.waiting.remove(waiting)
            self._settle_one(waiting, now, ending=True)

    def _settle_one(self, waiting: _Waiting, now: int, *, ending: bool) -> Any:
        job, wait = waiting.job, waiting.wait
        assert job.request is not None
        agent = job.request.agent or self.identity.agent
        call = Call(db=self.store.db, now=now, agent=agent, channel=self)
        over = wait.deadline <= now if wait.deadline is not None else ending
        try:
            result = wait.check(call)
            if result is None and not over:
                return None
            if result is None:
                result = self._give_up(job, wait, call)
        except Refusal as refusal:
            return self._refused(job, refusal)
        self._keep_waited(job, agent, result, now)
        return {"id": job.id, "ok": True, "result": result, "seq": journal.newest(self.store.db)}

    def _give_up(self, job: _Job, wait: Wait, call: Call) -> Any:
        assert job.request is not None
        refused: Refusal | None = None
        with self.store.transaction(call.now) as transaction, transaction.change():
            transaction.speak(call.agent, job.request.why)
            call.transaction = transaction
            try:
                return wait.give_up(call)
            except Refusal as refusal:
                # What giving up writes (a question is closed) stands, though the reply is a refusal.
                refused = refusal
        raise refused

    def _keep_waited(self, job: _Job, agent: str, result: Any, now: int) -> None:
        request, tool = job.request, job.tool
        if request is None or tool is None or request.idempotency_key is None:
            return
        fingerprint = hashlib.sha256(_encode([tool.name, request.arguments])).hexdigest()
        reply = _encode({"result": result, "seq": journal.newest(self.store.db)}).decode()
        with self.store.db.transaction(write=True):
            kept.keep(self.store.db, agent, request.idempotency_key, fingerprint, reply, now)

    def subscribe(self, since: int | None) -> int:
        """Send events after `since`, or from now on; return where they start."""
        self.cursor = journal.newest(self.store.db) if since is None else since
        return self.cursor

    def unsubscribe(self) -> None:
        """Send no more events."""
        self.cursor = None

    def events(self, *, blocked: bool) -> list[bytes]:
        """The next events for a subscriber, a page at the most; `blocked`: its reader had stopped reading."""
        if self.cursor is None:
            return []
        if blocked and (newest := journal.newest(self.store.db)) - self.cursor > LAG_LIMIT:
            lagged = {"event": "lagged", "since": self.cursor}
            self.cursor = newest
            return [_encode(lagged)]
        try:
            with self.store.db.transaction(write=False):
                entries = journal.since(self.store.db, self.cursor, PAGE)
                lines = [_encode(event(self.store.db, entry)) for entry in entries]
        except Refusal:
            # The human has compacted the journal past this reader.
            lagged = {"event": "lagged", "since": self.cursor}
            self.cursor = journal.newest(self.store.db)
            return [_encode(lagged)]
        if entries:
            self.cursor = entries[-1].seq
        return lines


@contextlib.contextmanager
def _changing(transaction: Transaction | None, job: _Job) -> Iterator[None]:
    """A savepoint for a request that writes; one that only reads needs none."""
    if transaction is not None and job.writes:
        with transaction.change():
            yield
    else:
        yield


def _lapse(transaction: Transaction, lapse: int | None) -> None:
    if lapse is not None and lapse <= transaction.now:
        with transaction.change():
            transaction.speak(SYSTEM)
            transaction.run(LapseClaims())


def _stored(stored: tuple[str, str], fingerprint: str, key: str) -> tuple[Any, int]:
    """The reply that was kept under an idempotency key (contract, section 2)."""
    was, reply = stored
    if was != fingerprint:
        raise InvalidRequest(f"the idempotency key {key[:100]} was used with another tool or other arguments")
    kept_reply = msgspec.json.decode(reply)
    return kept_reply["result"], kept_reply["seq"]
