"""What agents did, for `stuck_causes` to judge: read of those alone that have work or wait."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.last_words import goes_on, speakers, working
from tui_tasks.core.read.agents.session_queries import Seen, Stuck
from tui_tasks.core.read.agents.stuck_causes import AgentActivity, Sign, repeated
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema.agent_tables import AgentRow
from tui_tasks.core.schema.tables import EdgeRow, ListRow, TaskRow
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.unjournaled import connections
from tui_tasks.text.times import DAY

# How many of an agent's newest entries are read for its signs.
JUDGED_ENTRIES: Final = 200
_NOT_ENDED: Final = 2**62
MAX_WAITING: Final = 200
_MAX_TEXT: Final = 2_000

_NEWEST_DONE = Statement(
    lambda: (
        J.select(J.at, J.kind, J.task, J.new, J.why)
        .where(J.actor == slot("actor"))
        .order_by(J.seq.desc())
        .limit(slot("limit"))
    )
)
_FAILED_LISTS = Statement(
    lambda: ListRow.select(ListRow.id).where((ListRow.deleted == SQL("0")) & (ListRow.failed > SQL("0"))).limit(20)
)
_FAILED = Statement(
    lambda: (
        TaskRow.select(fn.COALESCE(TaskRow.agent, TaskRow.status_by))
        .where(task_queries.LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'failed'")))
        .order_by(TaskRow.rank.desc())
        .limit(100)
    )
)
_PAUSED = Statement(lambda: AgentRow.select(AgentRow.uid).where(AgentRow.paused == SQL("1")))
_ON: Any = TaskRow.alias()
# Agents with a task that waits for a task in progress, and who works on that one.
_WAITING = Statement(
    lambda: (
        TaskRow.select(TaskRow.agent, fn.COALESCE(_ON.agent, _ON.status_by), _ON.updated_by)
        .join(EdgeRow, on=(EdgeRow.task_uid == TaskRow.uid))
        .join(_ON, on=(_ON.uid == EdgeRow.on_uid))
        .where(
            task_queries.LIVE
            & (TaskRow.status == SQL("'pending'"))
            & (TaskRow.waiting_on > SQL("0"))
            & TaskRow.agent.is_null(False)
            & (_ON.status == SQL("'in_progress'"))
            & (_ON.deleted == SQL("0"))
        )
        .order_by(TaskRow.priority, TaskRow.id)
        .limit(slot("limit"))
    )
)
_IS_LIMIT: Final = re.compile(r"limit|overloaded|quota|too many requests|\b(?:429|529)\b", re.IGNORECASE)
_LEFT: Final = DAY
"""Microseconds of silence after which an agent without a connection has left."""
_FAILURES: Final = frozenset({"agent.refused", "tool.failed"})


class _New(msgspec.Struct):
    """The fields of an entry's new values that are read here."""

    status: str | None = None
    result: Any = None
    tool: str = ""
    message: str = ""
    error: str = ""


_new = msgspec.json.Decoder(_New).decode


def elsewhere(db: Database) -> set[str]:
    """Return the agents of a server's database that are not known to be on this machine, and have not ended."""
    live = {one.uid: session_queries.process(one).machine for one in session_queries.live(db)}
    here = {name for name, machine in live.items() if machine == db.machine} | set(connections.connected_agents(db))
    ended = session_queries.names(db) - live.keys()
    return {name for name, _, _ in speakers(db)} - here - ended


def of_agents(db: Database, now: int) -> list[AgentActivity]:
    """Return the activity of each agent that has something to do or waits for something.

    Left out are paused agents, those that are gone, and those that make single calls and have made none for a day.
    """
    paused = {name for (name,) in db.all(_PAUSED)}
    at_work = working(db).keys()
    asks_of = ask_queries.open_by_agent(db)
    waiting = _waiting(db, at_work)
    activities = []
    live = {one.session.uid: one for one in session_queries.everyone(db, _NOT_ENDED)}
    failing = _failing(db)
    there = set(connections.connected_agents(db))
    gone = {one.agent for one in connections.everyone(db)} - there
    last_signs = connections.signs(db)
    known = at_work | asks_of.keys() | waiting.keys() | live.keys() | failing
    for name in sorted(known - paused - vocab.RESERVED_AGENTS):
        if name in live:
            activities.append(_of_session(live[name], _signs(db, name), asks_of.get(name, [])))
            continue
        if name in gone or (name not in there and session_queries.find(db, name) is not None):
            continue
        signs = _signs(db, name)
        sign, acted_at = last_signs.get(name), max((one.at for one in signs if one.kind != "renew"), default=0)
        last_seen = max(signs[-1].at if signs else 0, sign.at if sign is not None else 0)
        activity = AgentActivity(
            agent=name, at_work=name in at_work, has_failed=name in failing, signs=signs, last_seen=last_seen
        )
        if name not in there and activity.last_seen < now - _LEFT:
            continue
        if name in asks_of and not (name in at_work and goes_on(asks_of[name], acted_at, sign)):
            activity = _asking(activity, asks_of[name][0])
        elif name in waiting:
            activity = msgspec.structs.replace(activity, waits_for=waiting[name], waits_since=activity.last_seen)
        activities.append(activity)
    return activities


def repeated_failures(db: Database, stuck: Stuck | None) -> list[Sign]:
    """Return the failures because of which an agent is recorded as stuck, oldest first; none with another cause."""
    if stuck is None or stuck.cause != "failure" or stuck.since is None:
        return []
    return repeated(_signs(db, stuck.uid), stuck.since)


def _failing(db: Database) -> set[str]:
    """Return the agents of failed tasks; of each list, only the last of these are looked at."""
    rows = (row for (list_id,) in db.all(_FAILED_LISTS) for row in db.all(_FAILED, list=list_id))
    return {who for (who,) in rows if who is not None}


def _of_session(seen: Seen, signs: tuple[Sign, ...], asks: list[Ask]) -> AgentActivity:
    """Return the activity of a session: its hooks tell which tool runs and whether its turn has ended."""
    at, is_running = seen.activity, seen.state == "working"
    tool, since = at.tool, at.tool_since or at.last_seen
    if tool is None and at.background:
        tool, since = "a background task", at.last_seen
    activity = AgentActivity(
        agent=seen.session.uid,
        at_work=is_running,
        signs=signs,
        last_seen=at.last_seen,
        tool=tool,
        tool_since=since,
        tool_times=tuple(at.tool_times.get(tool or "", ())),
    )
    if asks:
        return _asking(activity, asks[0])
    if seen.state == "failed" and _IS_LIMIT.search(message := seen.session.last_message or ""):
        about = next(iter(message.strip().splitlines()), "")[:_MAX_TEXT]
        return msgspec.structs.replace(activity, waits_for="limit", waits_since=at.last_seen, waits_about=about)
    return activity


def _asking(activity: AgentActivity, ask: Ask) -> AgentActivity:
    about = next(iter(ask.question[:_MAX_TEXT].strip().splitlines()), "")
    return msgspec.structs.replace(activity, waits_for="human", waits_since=ask.opened_at, waits_about=about)


def _waiting(db: Database, at_work: Iterable[str]) -> dict[str, str]:
    """Return the agents without a task in progress that wait for another agent's task, with that agent's name."""
    busy, waiting = set(at_work), dict[str, str]()
    for agent, other, touched_by in db.all(_WAITING, limit=MAX_WAITING):
        if agent not in busy and (whose := other or touched_by) != agent:
            waiting.setdefault(agent, whose)
    return waiting


def _signs(db: Database, name: str) -> tuple[Sign, ...]:
    rows = db.all(_NEWEST_DONE, actor=name, limit=JUDGED_ENTRIES)
    said: dict[str | None, str] = {}
    signs = [_sign(said, *row) for row in reversed(rows)]
    return tuple(sorted(signs, key=lambda sign: sign.at))


def _sign(said: dict[str | None, str], at: int, kind: str, task: str | None, new: str | None, why: str | None) -> Sign:
    """Return the sign of an entry; `said` is what the agent has logged about tasks since it began them."""
    try:
        sign = _read_sign(at, kind, task, new)
        if kind == "task.logged":
            said[task] = _new(new or "{}").message
        elif sign.kind == "start":
            said.pop(task, None)
        elif sign.kind == "fail" and sign.task:
            reason = task_records.reason_given(journal.values_of(why)) or task_records.result_text(
                _new(new or "{}").result
            )
            return msgspec.structs.replace(sign, text=(reason or said.get(task, ""))[:_MAX_TEXT])
    except msgspec.DecodeError:
        return Sign(at, "act")
    return sign


def _read_sign(at: int, kind: str, task: str | None, new: str | None) -> Sign:
    if kind == "claim.extended":
        return Sign(at, "renew")
    if kind == "session.prompted":
        return Sign(at, "prompt")
    if kind == "task.updated" and task is not None and new and (status := _new(new).status) is not None:
        if vocab.task_failed(status):
            return Sign(at, "fail", task=task)
        return Sign(at, _STEPS.get(status, "finish"), task)
    if kind in _FAILURES and new:
        latest = _new(new)
        return Sign(at, "fail", latest.tool, (latest.error or latest.message)[:_MAX_TEXT])
    return Sign(at, "act")


_STEPS: Final[dict[str, Any]] = {"in_progress": "start", "pending": "stop"}
