"""Which process is of which session of an agent program: decides for which session a process may speak, our MCP
server's or a hook's; and ends sessions, agents and questions whose process has ended, and notes suspended ones.

Nothing that an agent says counts: the operating system says which process is the parent, hooks recorded the process
of each session, and the program says with its requests which of several sessions of a process it is. Without `/proc`
no session is found.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession
from tui_tasks.core.rules.agents import session_rules
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.hooks import hook_process
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity

REASON: Final = "the process that asked is no more"


def end_departed(store: Store, now: int) -> int:
    """End each session, connection and question whose process is known to have ended; return how many.

    Raises:
        StorageFailed: the rest is ended another time.
    """
    # One process may speak for thousands of agents.
    is_over = cache(partial(processes.has_departed, machine=store.db.machine))
    departed = [session.uid for session in session_queries.live(store.db) if is_over(session_queries.process(session))]
    closed = [one for one in connections.everyone(store.db) if one.closed_at is None and is_over(one.process)]
    asks = [ask for ask, process in connections.askers(store.db) if is_over(process)]
    if not departed and not closed and not asks:
        return 0
    with store.transaction(now) as transaction:
        for agent in departed:
            with transaction.change():
                transaction.speak(vocab.SYSTEM)
                transaction.run(EndSession(agent, REASON))
        for one in closed:
            connections.end(store.db, one.agent, one.process, now)
        for ask in asks:
            withdraw(transaction, ask, REASON)
    return len(departed) + len(closed) + len(asks)


def withdraw(transaction: Transaction, ask: str, reason: str, why: Mapping[str, str] | None = None) -> None:
    """Withdraw a question that no process waits for."""
    connections.drop_asker(transaction.db, ask)
    try:
        with transaction.change():
            transaction.speak(vocab.SYSTEM, why)
            transaction.run(CloseAsk(ask, "withdrawn", reason))
    except (Conflict, NotFound):
        pass  # it was answered meanwhile


def note_stopped(store: Store, now: int) -> int:
    """Record which sessions and connections have a suspended process, and since when; return how many changed.

    Raises:
        StorageFailed: it is recorded another time.
    """
    is_suspended = cache(partial(_is_stopped, machine=store.db.machine))
    of_sessions = [
        (session.uid, is_stopped)
        for session in session_queries.live(store.db)
        if (is_stopped := is_suspended(session_queries.process(session))) is not _was_stopped(store.db, session.uid)
    ]
    of_channel = [
        (one, is_stopped)
        for one in connections.everyone(store.db)
        if one.closed_at is None and (is_stopped := is_suspended(one.process)) is not (one.stopped_at is not None)
    ]
    if of_sessions or of_channel:
        with store.transaction(now) as transaction:
            for agent, is_stopped in of_sessions:
                session_rules.set_stopped(transaction.db, agent, now if is_stopped else None)
            for one, is_stopped in of_channel:
                connections.set_stopped(transaction.db, one.agent, one.process, now if is_stopped else None)
    return len(of_sessions) + len(of_channel)


def _was_stopped(db: Database, agent: str) -> bool:
    activity = session_queries.activity(db, agent)
    return activity is not None and activity.stopped_at is not None


def _is_stopped(process: Process, machine: str) -> bool:
    return process.pid != 0 and processes.is_stopped(ProcessIdentity.of(process), machine)


class ParentProcess(NamedTuple):
    """A process that may have started this one. `is_shared`: it has several sessions at once."""

    process: Process
    is_shared: bool


def starters(program: str) -> tuple[ParentProcess, ...]:
    """Return the processes that may be the program that started this one: the parent, and, if that is a shell, its
    parent.

    An ancestor further up may be another agent, which started the program.
    """
    parent = os.getppid()
    pids = dict.fromkeys((parent, hook_process.above_shells(parent)))
    above = (ParentProcess(Process(*processes.identity(pid)), hook_process.is_shared(program, pid)) for pid in pids)
    return tuple(starter for starter in above if starter.process.boot and starter.process.born)


def agent_of(
    db: Database, program: str, started_by: tuple[ParentProcess, ...], known: str, client_sessions: Sequence[str] = ()
) -> str:
    """Return the agent of the program's session in one of the processes; `known` if there is none.

    It is the only live session there, or, of several, the one that the program names in `client_sessions`. As anybody
    may run a hook that reports another's session, a session that moved to its process while it was live in another
    process that still runs belongs to that one.
    """
    named = {agent[0] for one in client_sessions if (agent := session_queries.by_session(db, program, one)) is not None}
    for found_process, is_shared in started_by:
        process = found_process.on(db.machine)
        live = [
            one
            for one in session_queries.in_process(db, process.pid)
            if one.program == program and session_queries.process(one) == process
        ]
        sessions = [one for one in live if one.uid in named] or ([] if is_shared else live)
        if len(sessions) == 1 and (sessions[0].uid == known or _belongs_to(db, sessions[0], process)):
            return sessions[0].uid
    return known


def _belongs_to(db: Database, session: AgentSession, process: Process) -> bool:
    return all(
        left == process or processes.has_departed(left, db.machine)
        for left in session_queries.left_while_live(db, session)
    )


def other_above(db: Database, program: str, session: str, above: Sequence[Process]) -> str | None:
    """Return the agent from under whose process a hook named another live session; None if it may name that session.

    The nearest process of a session decides, so that an agent that another has started speaks for itself. Of a session
    that is new or has ended, as of one whose process has, anybody may tell: it may go on in another process.

    Args:
        db: the database.
        program: the program of the session.
        session: the program's id of the session that the hook named.
        above: the processes above the hook, nearest first.
    """
    named = session_queries.by_session(db, program, session) if above else None
    speaker = session_queries.find(db, named[0]) if named is not None else None
    if speaker is None or speaker.state == session_queries.GONE or not speaker.born:
        return None
    own = session_queries.process(speaker)
    for process in above if not processes.has_departed(own, db.machine) else ():
        if process == own:
            return None
        there = [
            one.uid for one in session_queries.in_process(db, process.pid) if session_queries.process(one) == process
        ]
        if there:
            return None if speaker.uid in there else there[0]
    return None
