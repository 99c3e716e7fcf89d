"""`control:*` on agents and their claims: who does what, as JSON (docs: protocol, section 10), checks, the end of
work, and undo (docs: protocol, 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final

from msgspec import Meta

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.tasks import ClaimNext, ClaimTask, ExtendClaim, ReleaseClaim
from tui_tasks.core.operations.work import ReportWork
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.last_words import first_and_last, working
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import ready_tasks, task_queries
from tui_tasks.core.snapshots import Claim, iso
from tui_tasks.core.unjournaled import connections
from tui_tasks.core.unjournaled.connections import AgentConnection
from tui_tasks.core.vocab import CLAIM_LEASE_SECONDS
from tui_tasks.dialects.control_tasks import OneTask
from tui_tasks.dialects.requests.arguments import Arguments, Name, Natural, Nothing, TaskUid, Text, Uid
from tui_tasks.dialects.tool_table import FULL_TASK, INTEGER, TEXT, Call, Table, list_of, object_of, or_null
from tui_tasks.text.times import DAY, SECOND

KEYS: Final = (
    "agent",
    "program",
    "session",
    "project",
    "cwd",
    "model",
    "state",
    "waiting_for",
    "tool",
    "tool_since",
    "last_prompt",
    "last_message",
    "task",
    "started_at",
    "last_seen",
    "ended_at",
    "tokens",
    "cost_usd",
    "mode",
    "machine",
)


def agents_page(
    db: Database, now: int, *, everyone: bool, limit: int | None = None, after: str | None = None
) -> list[dict[str, Any]]:
    """Return the agents, oldest first: all, or the next `limit` after one. Without `everyone`, those that ended over a
    day ago are left out.

    Raises:
        NotFound: the agent `after` is not among them.
    """
    since = 0 if everyone else now - DAY
    of_sessions = session_queries.everyone(db, since)
    found: list[_Listed] = [
        (seen.session.started_at, seen.session.uid, partial(_of_session, seen)) for seen in of_sessions
    ]
    found += _of_channel(db, since)
    found.sort(key=lambda listed: listed[:2])
    begin = 0
    if after is not None:
        begin = next((at for at, (_, name, _) in enumerate(found, 1) if name == after), 0)
        if not begin:
            raise NotFound("agent", after)
    return [to_json() for _, _, to_json in islice(found, begin, None if limit is None else begin + limit)]


_Listed = tuple[int, str, Callable[[], dict[str, Any]]]
"""When an agent began, its name, and what makes its JSON."""


def _of_channel(db: Database, since: int) -> Iterator[_Listed]:
    """Yield the agents of the JSON channel that are there, or were after an instant."""
    seen_times = first_and_last(db)
    there: dict[str, list[AgentConnection]] = {}
    for connection in connections.as_known(db):
        there.setdefault(connection.agent, []).append(connection)
    asking = {ask.agent for ask in ask_queries.open_asks(db)}
    tasks = working(db)
    for name in (seen_times.keys() | there.keys()) - session_queries.names(db):
        mine = there.get(name, ())
        times = [*seen_times.get(name, ()), *(one.opened_at for one in mine)]
        last = max(*times, *(one.closed_at or 0 for one in mine), 0)
        is_there = any(one.closed_at is None for one in mine)
        if is_there or last > since:
            began = min(times)
            yield began, name, partial(_of_connected, name, mine, tasks.get(name), name in asking, began, last)


def _of_connected(
    name: str, mine: Sequence[AgentConnection], task: TaskLine | None, asks: bool, began: int, last: int
) -> dict[str, Any]:
    open_ones = [one for one in mine if one.closed_at is None]
    if not open_ones:
        state = session_queries.GONE
    elif connections.stopped_since(open_ones) is not None:
        state = session_queries.STOPPED
    else:
        state = "waiting" if asks else "working" if task else "idle"
    return {
        **dict.fromkeys(KEYS),
        "agent": name,
        "state": state,
        "waiting_for": "question" if state == "waiting" else None,
        "task": task.uid if task is not None else None,
        "started_at": iso(began),
        "last_seen": iso(last),
        "ended_at": None if open_ones else iso(last),
        "machine": mine[-1].process.machine or None if mine else None,
    }


def _of_session(seen: Seen) -> dict[str, Any]:
    session, activity = seen.session, seen.activity
    return {
        "agent": session.uid,
        "program": session.program,
        "session": session.session,
        "project": session.project,
        "cwd": session.cwd,
        "model": session.model,
        "state": seen.state,
        "waiting_for": seen.waiting_for,
        "tool": activity.tool,
        "tool_since": iso(activity.tool_since),
        "last_prompt": session.last_prompt,
        "last_message": session.last_message,
        "task": session.task,
        "started_at": iso(session.started_at),
        "last_seen": iso(activity.last_seen),
        "ended_at": iso(session.ended_at),
        "tokens": session.tokens,
        "cost_usd": session.cost_usd,
        "mode": session.mode,
        "machine": session_queries.process(session).machine or None,
    }


CLAIMS = Table()


class _Agents(Arguments):
    everyone: Annotated[bool, Meta(description="Also agents that ended over a day ago.")] = False
    limit: Natural | None = None
    after: Annotated[Name, Meta(description="The last one read.")] | None = None


@CLAIMS.tool("control:agents", _Agents, while_paused=True, output=list_of(object_of("agent state")))
def agents(call: Call, given: _Agents) -> list[dict[str, Any]]:
    """List sessions of agent programs and agents of this channel, oldest first, with their states.

    States: working, waiting, idle, interrupted, failed, stopped (process suspended), gone. Unknown values are null.
    """
    return agents_page(call.db, call.now, everyone=given.everyone, limit=given.limit, after=given.after)


@CLAIMS.tool("control:undo", Nothing, writes=True, in_steps=True, output=object_of("undone", undone=INTEGER))
def undo(call: Call, given: Nothing) -> dict[str, int]:
    """Undo your newest change that still stands; a request or a batch is one. Others' changes stay."""
    within = call.only_list
    if within is None and call.channel.identity.list_only:
        raise Conflict(f"{call.agent} has no change to undo")
    last, _ = call.run(Undo(within=within.uid if within is not None else None))
    return {"undone": last}


class _RequestCheck(OneTask):
    check: Annotated[Name, Meta(description="One of them; default: all.")] | None = None


@CLAIMS.tool("control:request_check", _RequestCheck, writes=True, output=object_of("uid verified", uid=TEXT))
def request_check(call: Call, given: _RequestCheck) -> dict[str, Any]:
    """Run a task's checks, set by the human, now. The event check.finished and control:task have the results.

    A pass counts when you set the task done, unless its files change before. Returns `uid` and `verified`.
    """
    return {"uid": given.uid, "verified": call.run(RequestChecks(given.uid, given.check))}


class _WorkReady(OneTask):
    summary: Annotated[Text, Meta(description="What you did, in a few sentences.")] | None = None


@CLAIMS.tool("control:work_ready", _WorkReady, writes=True, output=object_of("uid state", uid=TEXT, state=TEXT))
def work_ready(call: Call, given: _WorkReady) -> dict[str, Any]:
    """Report your work on a task as ready for review. Only for a task on which the human started you.

    Setting the task done does the same. Returns `uid` and `state`.
    """
    return {"uid": given.uid, "state": call.run(ReportWork(given.uid, given.summary)).state}


class _Claim(Arguments):
    list: Annotated[Name, Meta(description="From this list (a plan by its id); default: any.")] | None = None
    lease_seconds: Annotated[int, Meta(ge=1, le=86_400, description="Lease without a heartbeat.")] = CLAIM_LEASE_SECONDS
    uid: Annotated[TaskUid, Meta(description="This task; default: the next.")] | None = None


@CLAIMS.tool("control:claim", _Claim, writes=True, subject="uid", output=or_null(object_of("")))
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
    return {"task": call.full(task), **_claim_json(claim_)}


def _claim_named(call: Call, given: _Claim, uid: str) -> dict[str, Any]:
    home = call.handle(task_queries.task(call.db, uid))
    if given.list not in (None, home):
        raise InvalidArgument("list", f"list: the task is in {home}; leave list out, or name that one", id=uid)
    task, claim_ = call.run(ClaimTask(call.agent, given.lease_seconds * SECOND, uid))
    return {"task": call.full(task), **_claim_json(claim_)}


def _claim_json(claim_: Claim) -> dict[str, Any]:
    return {"claim": claim_.uid, "expires_at": iso(claim_.expires_at)}


class _ClaimArguments(Arguments):
    claim: Uid


@CLAIMS.tool(
    "control:heartbeat",
    _ClaimArguments,
    writes=True,
    while_paused=True,
    idempotent=True,
    output=object_of("claim expires_at", claim=TEXT, expires_at=TEXT),
)
def heartbeat(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Keep a claimed task: its lease restarts now."""
    return _claim_json(call.run(ExtendClaim(call.agent, given.claim)))


@CLAIMS.tool("control:release", _ClaimArguments, writes=True, while_paused=True, output=FULL_TASK)
def release(call: Call, given: _ClaimArguments) -> dict[str, Any]:
    """Return a claimed task as pending."""
    return call.full(call.run(ReleaseClaim(call.agent, given.claim)))
