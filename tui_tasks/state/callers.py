"""Whether a person at a terminal stands behind this process, as far as one account can tell (docs: isolation).

What an agent's program has started is known by its parents, or by the id that the program leaves in the environment;
what a run of a job has started, by its mark. A process that has lost its parents and cleaned its environment passes for
the person.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.read.agents.session_queries import AgentSession

# Variables in which programs give what they start the id of their session, by the name of the program.
_SESSION_IDS: Final = {"claude": "CLAUDE_CODE_SESSION_ID"}
_MAX_PARENTS: Final = 12


class OtherCaller(msgspec.Struct, frozen=True):
    """Who stands behind this process in place of a person: the name of the agent, if it is known, and a reason."""

    agent: str | None
    why: str


class TerminalUse(msgspec.Struct, frozen=True):
    """The terminal of this process, and the processes above it as `NAME PID`, the nearest first."""

    terminal: str
    parents: tuple[str, ...]


def other_caller(db: Database | None, agent: str | None, environ: Mapping[str, str] = os.environ) -> OtherCaller | None:
    """Return who stands behind this process if it is no person; None if nothing speaks against a person.

    Args:
        db: the database; None if it cannot be read.
        agent: the name after `--agent`; None without one.
        environ: the environment.
    """
    return _session(db, environ) or _run(db, environ) or _named(agent)


def _named(agent: str | None) -> OtherCaller | None:
    return None if agent is None else OtherCaller(agent, "--agent names an agent")


def _run(db: Database | None, environ: Mapping[str, str]) -> OtherCaller | None:
    from tui_tasks.runner import run_marks

    if not (run_marks.is_marked(environ) if db is None else run_marks.inside_run(environ, db)):
        return None
    agent = None
    if db is not None and (uid := environ.get(run_marks.RUN_ID)):
        agent = db.scalar("SELECT agent FROM run WHERE uid = ?", (uid,))
    return OtherCaller(agent, "this is inside a run of a job")


def _session(db: Database | None, environ: Mapping[str, str]) -> OtherCaller | None:
    if db is None:
        return None
    from tui_tasks.core.read.agents import session_queries

    if (session := _session_above(db, [one for one in session_queries.live(db) if one.pid])) is not None:
        return OtherCaller(session, f"this was started by {session}")
    for program, name in _SESSION_IDS.items():
        session = environ.get(name)
        if session and (known := session_queries.by_session(db, program, session)) is not None:
            return OtherCaller(known[0], f"this was started by {known[0]}")
    return None


def started_agent(db: Database) -> str | None:
    """Return the agent at work whose program has started this process; None: none has."""
    from tui_tasks.core.read import work_queries
    from tui_tasks.core.read.agents import session_queries

    sessions = [session_queries.find(db, work.agent) for work in work_queries.live_here(db)]
    return _session_above(db, [one for one in sessions if one is not None and one.pid])


def _session_above(db: Database, live: list[AgentSession]) -> str | None:
    """Return the uid of the session of which a process is above this one."""
    if not live:
        return None
    from tui_tasks.runner import processes

    agents = {processes.ProcessIdentity.of(one): one.uid for one in live}
    above = (processes.identity(pid, db.machine) for pid in processes.ancestors(os.getpid()))
    return next((agents[each] for each in above if each in agents), None)


def has_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def is_person(db: Database) -> bool:
    """Return whether a person at a terminal stands behind this process."""
    return has_terminal() and other_caller(db, None) is None


def terminal_use() -> TerminalUse:
    """Return the terminal of this process and what is above it."""
    from tui_tasks.runner import processes

    try:
        terminal = os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        terminal = "no terminal"
    above = islice(processes.ancestors(os.getpid()), _MAX_PARENTS)
    return TerminalUse(terminal, tuple(f"{processes.name(pid)} {pid}" for pid in above))
