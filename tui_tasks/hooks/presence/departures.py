"""Ends sessions, agents of the channel and questions whose process has ended, and notes which are suspended."""

from __future__ import annotations

from typing import Final

from tui_tasks.core import connections, vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import EndSession, Process
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules.agents import session_rows
from tui_tasks.core.store import Store
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.processes import ProcessIdentity

REASON: Final = "the process that asked is no more"


def end_departed(store: Store, now: int) -> int:
    """End each session, connection and question whose process is known to have ended; return how many.

    Raises:
        StorageFailed: the rest is ended another time.
    """
    departed = [
        session.uid for session in session_queries.live(store.db) if has_departed(session_queries.process(session))
    ]
    closed = [
        found for found in connections.everyone(store.db) if found.closed_at is None and has_departed(found.process)
    ]
    asks = [ask for ask, process in connections.askers(store.db) if has_departed(process)]
    if not departed and not closed and not asks:
        return 0
    with store.transaction(now) as transaction:
        for agent in departed:
            with transaction.change():
                transaction.speak(vocab.SYSTEM)
                transaction.run(EndSession(agent, REASON))
        for found in closed:
            connections.end(store.db, found.agent, found.process, now)
        for ask in asks:
            _withdraw(transaction, ask)
    return len(departed) + len(closed) + len(asks)


def _withdraw(transaction: Transaction, ask: str) -> None:
    connections.drop_asker(transaction.db, ask)
    try:
        with transaction.change():
            transaction.speak(vocab.SYSTEM)
            transaction.run(CloseAsk(ask, "withdrawn", REASON))
    except (Conflict, NotFound):
        pass  # it was answered meanwhile


def note_stopped(store: Store, now: int) -> int:
    """Record which sessions and connections have a suspended process, and since when; return how many changed.

    Raises:
        StorageFailed: it is recorded another time.
    """
    of_sessions = [
        (session.uid, is_stopped)
        for session in session_queries.live(store.db)
        if (is_stopped := _is_stopped(session_queries.process(session))) is not _was_stopped(store.db, session.uid)
    ]
    of_channel = [
        (found, is_stopped)
        for found in connections.everyone(store.db)
        if found.closed_at is None and (is_stopped := _is_stopped(found.process)) is not (found.stopped_at is not None)
    ]
    if of_sessions or of_channel:
        with store.transaction(now) as transaction:
            for agent, is_stopped in of_sessions:
                session_rows.set_stopped(transaction.db, agent, now if is_stopped else None)
            for found, is_stopped in of_channel:
                connections.set_stopped(transaction.db, found.agent, found.process, now if is_stopped else None)
    return len(of_sessions) + len(of_channel)


def _was_stopped(db: Database, agent: str) -> bool:
    activity = session_queries.activity(db, agent)
    return activity is not None and activity.stopped_at is not None


def _is_stopped(process: Process) -> bool:
    return process.pid != 0 and processes.is_stopped(
        ProcessIdentity(process.boot, process.namespace, process.pid, process.born)
    )


def has_departed(process: Process) -> bool:
    """Return whether a process is known to have ended; one on another machine, or unknown, may be running."""
    here = processes.identity()
    if process.boot and process.namespace == here.namespace and process.boot != here.boot:
        # The machine was restarted. Other machines cannot have the database open, as its log uses shared memory.
        return True
    if process.pid == 0 or not process.born:
        return False
    found = ProcessIdentity(process.boot, process.namespace, process.pid, process.born)
    return processes.is_alive(found) is False
