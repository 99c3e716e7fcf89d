"""Ends sessions, agents and questions whose process has ended, and notes suspended ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import EndSession, Process
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules.agents import session_rows
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
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
                session_rows.set_stopped(transaction.db, agent, now if is_stopped else None)
            for one, is_stopped in of_channel:
                connections.set_stopped(transaction.db, one.agent, one.process, now if is_stopped else None)
    return len(of_sessions) + len(of_channel)


def _was_stopped(db: Database, agent: str) -> bool:
    activity = session_queries.activity(db, agent)
    return activity is not None and activity.stopped_at is not None


def _is_stopped(process: Process, machine: str) -> bool:
    return process.pid != 0 and processes.is_stopped(
        ProcessIdentity(process.boot, process.namespace, process.pid, process.born), machine
    )
