"""The agents as JSON for `control:agents` and `tui-tasks agents --json` (docs: protocol, section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tui_tasks.core import connections
from tui_tasks.core.connections import AgentConnection
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.activity import first_said, speakers, working
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.snapshots import iso

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
)
DAY: Final = 24 * 3600 * 1_000_000


def agents(db: Database, now: int, *, everyone: bool) -> list[dict[str, Any]]:
    """Return the agents, oldest first; without `everyone`, those that ended over a day ago are left out."""
    since = 0 if everyone else now - DAY
    of_sessions = session_queries.everyone(db, since)
    known = {seen.session.uid for seen in of_sessions}
    found = [(seen.session.started_at, _of_session(seen)) for seen in of_sessions]
    found += [(began, value) for began, value in _of_channel(db, since) if value["agent"] not in known]
    return [value for _, value in sorted(found, key=lambda one: (one[0], one[1]["agent"]))]


def _of_channel(db: Database, since: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the agents of the JSON channel that are there, or were after an instant: when each began, and its JSON."""
    said = {name: at for name, _, at in speakers(db)}
    there: dict[str, list[AgentConnection]] = {}
    for connection in connections.everyone(db):
        there.setdefault(connection.agent, []).append(connection)
    asking = {ask.agent for ask in ask_queries.open_asks(db)}
    tasks = working(db)
    for name in (said.keys() | there.keys()) - session_queries.names(db):
        mine = there.get(name, [])
        opened = [one.opened_at for one in mine]
        closed = [one.closed_at for one in mine if one.closed_at is not None]
        is_there = len(closed) < len(mine)
        seen = max(said.get(name, 0), *opened, *closed, 0)
        ended = None if is_there else seen
        if ended is not None and ended <= since:
            continue
        began = min([*opened, *([first_said(db, name)] if name in said else [])])
        task = tasks.get(name)
        if not is_there:
            state = session_queries.GONE
        elif connections.stopped_since(one for one in mine if one.closed_at is None) is not None:
            state = session_queries.STOPPED
        else:
            state = "waiting" if name in asking else "working" if task else "idle"
        yield (
            began,
            {
                **dict.fromkeys(KEYS),
                "agent": name,
                "state": state,
                "waiting_for": "question" if state == "waiting" else None,
                "task": task.uid if task is not None else None,
                "started_at": iso(began),
                "last_seen": iso(seen),
                "ended_at": iso(ended),
            },
        )


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
    }
