"""Agents as JSON in replies (docs: protocol, section 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.activity import first_and_last, working
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.snapshots import iso
from tui_tasks.core.unjournaled import connections
from tui_tasks.core.unjournaled.connections import AgentConnection

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
DAY: Final = 24 * 3600 * 1_000_000


def agents(
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
