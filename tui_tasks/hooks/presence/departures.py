"""Ends sessions, agents of the channel and questions whose process has ended."""

from __future__ import annotations

from typing import Final

from tui_tasks.core import connections, vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import EndSession, Process
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.store import Store
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.processes import ProcessIdentity

REASON: Final = "the process that asked is no more"


def end_departed(store: Store, now: int) -> int:
    """End each session, connection and question whose process is known to have ended; return how many.

    Raises:
        StorageFailed: the rest is ended another time.
    """
    departed = [session.uid for session in sessions.live(store.db) if has_departed(sessions.process(session))]
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


def has_departed(process: Process) -> bool:
    """Return whether a process is known to have ended; one on another machine, or unknown, may be running."""
    if process.pid == 0 or not process.born:
        return False
    here = processes.identity()
    if process.boot and process.namespace == here.namespace and process.boot != here.boot:
        # The machine was restarted. Other machines cannot have the database open, as its log uses shared memory.
        return True
    found = ProcessIdentity(process.boot, process.namespace, process.pid, process.born)
    return processes.is_alive(found) is False
