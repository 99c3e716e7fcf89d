"""Finds the session of the agent program that has started this process, such as an MCP server of ours.

Nothing that an agent says counts: the operating system tells which process is the parent, and hooks have recorded the
process of each session. Both need `/proc`; without it no session is found.
"""

from __future__ import annotations

import os

from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.sessions import Process
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.session_snapshots import AgentSession
from tui_tasks.hooks.presence import agent_process
from tui_tasks.hooks.presence.departures import has_departed
from tui_tasks.runner.process import processes


def starters(program: str) -> tuple[Process, ...]:
    """Return the processes that may be the program's that has started this one: the parent, and who runs that shell.

    An ancestor further up may be another agent, from which the program was started. A process that has several
    sessions at once is left out, as it is not known which of them this process serves.
    """
    parent = os.getppid()
    pids = dict.fromkeys((parent, agent_process.above_shells(parent)))
    found = (Process(*processes.identity(pid)) for pid in pids if not agent_process.is_shared(program, pid))
    return tuple(process for process in found if process.boot and process.born)


def agent_of(db: Database, program: str, started_by: tuple[Process, ...], known: str) -> str:
    """Return the agent of the program's one session that is live in one of some processes; `known` where there is none.

    Anybody may run a hook that tells of another's session. So a session that has come to its process while it had not
    ended in another one, which still runs, counts as the other's.
    """
    for process in started_by:
        found = [
            one
            for one in sessions.in_process(db, process.pid)
            if one.program == program and sessions.process(one) == process
        ]
        if len(found) == 1 and (found[0].uid == known or _belongs_to(db, found[0], process)):
            return found[0].uid
    return known


def _belongs_to(db: Database, session: AgentSession, process: Process) -> bool:
    return all(left == process or has_departed(left) for left in sessions.left_while_live(db, session))
