"""Finds the session of the agent program that has started this process, such as an MCP server of ours.

Nothing that an agent says counts: the operating system tells which process is the parent, hooks have recorded the
process of each session, and which of several sessions of a process is meant is told by the program with its requests.
Without `/proc` no session is found.
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
    """A process that has started this one. `is_shared`: it has several sessions at once."""

    process: Process
    is_shared: bool


def starters(program: str) -> tuple[Starter, ...]:
    """Return the processes that may be the program's that has started this one: the parent, and who runs that shell.

    An ancestor further up may be another agent, from which the program was started.
    """
    parent = os.getppid()
    pids = dict.fromkeys((parent, agent_process.above_shells(parent)))
    found = (Starter(Process(*processes.identity(pid)), agent_process.is_shared(program, pid)) for pid in pids)
    return tuple(starter for starter in found if starter.process.boot and starter.process.born)


def agent_of(
    db: Database, program: str, started_by: tuple[Starter, ...], known: str, client_sessions: Sequence[str] = ()
) -> str:
    """Return the agent of the program's session in one of the processes; `known` where there is none.

    It is the only one that is live there. Of several it is the one that the program itself has named, by one of
    `client_sessions`. Anybody may run a hook that tells of another's session: a session that has come to its process
    while it had not ended in another one, which still runs, counts as the other's.
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
