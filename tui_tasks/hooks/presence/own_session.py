"""Finds the session of the agent program that started this process, such as our MCP server.

Nothing that an agent says counts: the operating system says which process is the parent, hooks recorded the process of
each session, and the program says with its requests which of several sessions of a process it is. Without `/proc` no
session is found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.sessions import Process
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.session_snapshots import AgentSession
from tui_tasks.hooks.presence import agent_process
from tui_tasks.hooks.presence.departures import has_departed
from tui_tasks.runner.process import processes


class Starter(NamedTuple):
    """A process that may have started this one. `is_shared`: it has several sessions at once."""

    process: Process
    is_shared: bool


def starters(program: str) -> tuple[Starter, ...]:
    """Return the processes that may be the program that started this one: the parent, and, if that is a shell, its
    parent.

    An ancestor further up may be another agent, which started the program.
    """
    parent = os.getppid()
    pids = dict.fromkeys((parent, agent_process.above_shells(parent)))
    found = (Starter(Process(*processes.identity(pid)), agent_process.is_shared(program, pid)) for pid in pids)
    return tuple(starter for starter in found if starter.process.boot and starter.process.born)


def agent_of(
    db: Database, program: str, started_by: tuple[Starter, ...], known: str, client_sessions: Sequence[str] = ()
) -> str:
    """Return the agent of the program's session in one of the processes; `known` if there is none.

    It is the only live session there, or, of several, the one that the program names in `client_sessions`. As anybody
    may run a hook that reports another's session, a session that moved to its process while it was live in another
    process that still runs belongs to that one.
    """
    named = {agent[0] for one in client_sessions if (agent := sessions.by_session(db, program, one)) is not None}
    for process, is_shared in started_by:
        live = [
            one
            for one in sessions.in_process(db, process.pid)
            if one.program == program and sessions.process(one) == process
        ]
        found = [one for one in live if one.uid in named] or ([] if is_shared else live)
        if len(found) == 1 and (found[0].uid == known or _belongs_to(db, found[0], process)):
            return found[0].uid
    return known


def _belongs_to(db: Database, session: AgentSession, process: Process) -> bool:
    return all(left == process or has_departed(left) for left in sessions.left_while_live(db, session))
