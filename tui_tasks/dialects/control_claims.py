"""`control:*` on agents and their claims: who does what, checks, the end of work, and undo (docs: protocol, 7)."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.tasks import ClaimNext, ClaimTask, ExtendClaim, ReleaseClaim
from tui_tasks.core.operations.work import ReportWork
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.core.snapshots import Claim, iso
from tui_tasks.core.vocab import CLAIM_LEASE_SECONDS
from tui_tasks.dialects import agents_json
from tui_tasks.dialects.control_tasks import OneTask, full
from tui_tasks.dialects.requests.arguments import Arguments, Name, Natural, Nothing, TaskUid, Text, Uid
from tui_tasks.dialects.tool_table import Call, Table

CLAIMS = Table()
SECOND = 1_000_000


class _Agents(Arguments):
    everyone: Annotated[bool, Meta(description="Also agents that ended over a day ago.")] = False
    limit: Natural | None = None
    after: Annotated[Name, Meta(description="The last one read.")] | None = None


@CLAIMS.tool("control:agents", _Agents, while_paused=True)
def agents(call: Call, given: _Agents) -> list[dict[str, Any]]:
    """List sessions of agent programs and agents of this channel, oldest first, with their states.

    States: working, waiting, idle, interrupted, failed, stopped (process suspended), gone. Unknown values are null.
    """
    return agents_json.agents(call.db, call.now, everyone=given.everyone, limit=given.limit, after=given.after)


@CLAIMS.tool("control:undo", Nothing, writes=True, in_steps=True)
def undo(call: Call, given: Nothing) -> dict[str, int]:
    """Undo your newest change that still stands; a request or a batch is one. Others' changes stay."""
    within = call.only_list
    if within is None and call.channel.identity.list_only:
        raise Conflict(f"{call.agent} has no change to undo")
    last, _ = call.run(Undo(within=within.uid if within is not None else None))
    return {"undone": last}


class _RequestCheck(OneTask):
    check: Annotated[Name, Meta(description="One of them; default: all.")] | None = None


@CLAIMS.tool("control:request_check", _RequestCheck, writes=True)
def request_check(call: Call, given: _RequestCheck) -> dict[str, Any]:
    """Run a task's checks, set by the human, now. The event check.finished and control:task have the results.

    A pass counts when you set the task done, unless its files change before. Returns `uid` and `verified`.
    """
    return {"uid": given.uid, "verified": call.run(RequestChecks(given.uid, given.check))}


class _WorkReady(OneTask):
    summary: Annotated[Text, Meta(description="What you did, in a few sentences.")] | None = None


@CLAIMS.tool("control:work_ready", _WorkReady, writes=True)
def work_ready(call: Call, given: _WorkReady) -> dict[str, Any]:
    """Report your work on a task as ready for review. Only for a task on which the human started you.

    Setting the task done does the same. Returns `uid` and `state`.
    """
    return {"uid": given.uid, "state": call.run(ReportWork(given.uid, given.summary)).state}


class _Claim(Arguments):
    list: Annotated[Name, Meta(description="From this list (a plan by its id); default: any.")] | None = None
    lease_seconds: Annotated[int, Meta(ge=1, le=86_400, description="Lease without a heartbeat.")] = CLAIM_LEASE_SECONDS
    uid: Annotated[TaskUid, Meta(description="This task; default: the next.")] | None = None


@CLAIMS.tool("control:claim", _Claim, writes=True, subject="uid")
def claim(call: Call, given: _Claim) -> dict[str, Any] | None:
    """Take a task: `uid`, else the most urgent, then oldest pending one without open dependencies.

    Others cannot write to it until you finish or release it, or the lease ends (send control:heartbeat before; while
    you `ask` the human it does not end). If null, `note` says why.
    """
    if given.uid is not None:
        return _claim_named(call, given, given.uid)
    handle = given.list or call.bound_list
    home = task_queries.find_list(call.db, handle) if handle is not None else None
    if handle is not None and home is None:
        if given.list is None:
            call.note = f"nothing is pending in {handle}, which is not made yet"
            return None
        raise NotFound("list", handle)
    taken = call.run(ClaimNext(call.agent, given.lease_seconds * SECOND, home.uid if home else None, call.project))
    if taken is None:
        call.note = ready_tasks.why_none(
            call.db,
            home.id if home else None,
            call.agent,
            project=call.project,
            is_confined=call.channel.identity.list_only,
        )
        return None
    task, claim_ = taken
    return {"task": full(call, task), **_claim_json(claim_)}


def _claim_named(call: Call, given: _Claim, uid: str) -> dict[str, Any]:
    home = call.handle(task_queries.task(call.db, uid))
    if given.list not in (None, home):
        raise InvalidArgument("list", f"list: the task is in {home}; leave list out, or name that one", id=uid)
    task, claim_ = call.run(ClaimTask(call.agent, given.lease_seconds * SECOND, uid))
    return {"task": full(call, task), **_claim_json(claim_)}


def _claim_json(claim_: Claim) -> dict[str, Any]:
    return {"claim": claim_.uid, "expires_at": iso(claim_.expires_at)}


class _ClaimArguments(Arguments):
    claim: Uid


@CLAIMS.tool("control:heartbeat", _ClaimArguments, writes=True, while_paused=True)
def heartbeat(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Keep a claimed task: its lease restarts now."""
    return _claim_json(call.run(ExtendClaim(call.agent, given.claim)))


@CLAIMS.tool("control:release", _ClaimArguments, writes=True, while_paused=True)
def release(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Return a claimed task as pending."""
    return full(call, call.run(ReleaseClaim(call.agent, given.claim)))
