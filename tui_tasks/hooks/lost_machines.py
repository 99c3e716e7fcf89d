"""Ends what belongs to a machine of a team's server that is no longer heard of, and goes on with what is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec.structs import astuple

from tui_tasks.clock import Uptime
from tui_tasks.core import connections, machine_leases, vocab
from tui_tasks.core.commit.elapsed import Elapsed
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.errors import RoleRefused
from tui_tasks.core.operations.jobs import AbandonCheck, AbandonRun
from tui_tasks.core.operations.sessions import EndSession, RestoreSession
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.schedule import heartbeats
from tui_tasks.core.store import Store
from tui_tasks.hooks import departures
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.processes import ProcessIdentity

_log = logging.getLogger(__name__)
_PATIENCE: Final = 60.0
"""Seconds until a refused step is retried: the server may allow it to other roles alone."""
_MINUTE: Final = 60_000_000


class LostMachines:
    """Looks for machines whose lease has ended, and for this machine's sessions that others have ended."""

    def __init__(self, store: Store, uptime: Callable[[], Uptime]) -> None:
        self._store = store
        self._elapsed = Elapsed(uptime)
        self._refused_until = 0.0

    def look(self, now: int) -> int:
        """End what lost machines hold; return how much.

        Raises:
            Busy: the server is away.
        """
        if not self._store.db.machine or time.monotonic() < self._refused_until:
            return 0
        try:
            return restore(self._store, now) + self._end_all(now)
        except RoleRefused as refused:
            _log.warning("what a lost machine holds stays open: %s", refused.message)
            self._refused_until = time.monotonic() + _PATIENCE
            return 0

    def _end_all(self, now: int) -> int:
        db = self._store.db
        if not machine_leases.lost(db, self._elapsed.look(db, now)) and not machine_leases.unknown(db):
            return 0
        with self._store.transaction(now) as transaction:
            passed = self._elapsed.record(db, now)
            for machine in sorted(machine_leases.unknown(db)):
                machine_leases.begin(db, machine, passed)
            lost = sorted(machine_leases.lost(db, passed))
            count = sum(_end(transaction, machine) for machine in lost)
        for machine in lost:
            _log.warning("machine %s was not heard of: what it held is ended", machine)
        return count


def _end(tx: Transaction, machine: str) -> int:
    """End what a machine holds: its sessions, the questions for whose answer its processes wait, and its runs."""
    reason = f"machine {machine} was not heard of for {machine_leases.LEASE // _MINUTE} min"
    why = {"topic": reason}
    sessions = [one.uid for one in session_queries.live(tx.db) if session_queries.process(one).machine == machine]
    asks = [ask for ask, process in connections.askers(tx.db) if process.machine == machine]
    held = [one for one in heartbeats.everyone(tx.db) if one.namespace.partition("@")[2] == machine]
    for agent in sessions:
        with tx.change():
            tx.speak(vocab.SYSTEM, why)
            tx.run(EndSession(agent, reason, by="machine"))
    for ask in asks:
        departures.withdraw(tx, ask, reason, why)
    for one in held:
        is_job = job_queries.any_run(tx.db, one.run_uid) is not None
        with tx.change():
            tx.speak(vocab.SYSTEM, why)
            tx.run(AbandonRun(one.run_uid, one, reason) if is_job else AbandonCheck(one.run_uid, one))
    machine_leases.end(tx.db, machine)
    return len(sessions) + len(asks) + len(held)


def restore(store: Store, now: int) -> int:
    """Go on with sessions of this machine that another machine has ended, and whose process runs; return how many.

    Raises:
        StorageFailed: they go on another time.
    """
    machine = store.db.machine
    lost = [
        one.uid
        for one in session_queries.ended_by_others(store.db)
        if (process := session_queries.process(one)).machine == machine
        and processes.is_alive(ProcessIdentity(*astuple(process)), machine)
        and not any(
            session_queries.process(other) == process for other in session_queries.in_process(store.db, process.pid)
        )
    ]
    if lost:
        with store.transaction(now) as transaction:
            for agent in lost:
                with transaction.change():
                    transaction.speak(agent)
                    transaction.run(RestoreSession(agent))
    return len(lost)
