"""The scheduler's part in checks: it starts check runs that wait and records those whose supervisor has died."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable, Container
from typing import Any

from tui_tasks.core.agent_snapshots import CheckRun
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import AbandonCheck, ClaimCheck
from tui_tasks.core.read import check_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes
from tui_tasks.runner.checks.check_keeper import CheckKeeper
from tui_tasks.runner.checks.input_watch import POLL_SECONDS
from tui_tasks.runner.run_holders import Leases, end_supervisor
from tui_tasks.runner.runner_settings import CheckProfile
from tui_tasks.runner.supervisor_launch import clear_away

StartCheck = Callable[[Store, CheckRun, CheckProfile], "subprocess.Popen[bytes] | None"]


class CheckStarter:
    """Runs the checks of this process's configuration file; a process with another file runs that file's checks."""

    def __init__(self, keeper: CheckKeeper, clock: Callable[[], int], lease: float, start: StartCheck) -> None:
        self.keeper = keeper
        self._clock = clock
        self._leases = Leases(lease)
        self._start = start

    def next_look(self, now: float) -> float:
        """Return when to run the next turn although nobody commits, in seconds of the monotonic clock."""
        return min(self._leases.next_look(now), now + POLL_SECONDS if self.keeper.polls else math.inf)

    def turn(self, store: Store, max_parallel: int, alive: Container[str]) -> dict[str, subprocess.Popen[bytes]]:
        """Update the checks' state, abandon dead runs and start waiting ones; return the supervisors started, by run.

        `alive`: the runs whose supervisors were started here and are alive.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        self.keeper.look(store, self._clock(), reads_contents=True)
        self._abandon_dead_runs(store, alive)
        return self._start_waiting_runs(store, max_parallel)

    def _commit(self, store: Store, operation: Operation) -> Any:
        return store.commit(operation, actor=SYSTEM, now=self._clock())[0]

    def _abandon_dead_runs(self, store: Store, alive: Container[str]) -> None:
        begun = check_queries.running_on(store.db, store.db.machine)
        self._leases.keep_only(run.uid for run in begun)
        for run in begun:
            heartbeat = heartbeats.heartbeat_of(store.db, run.uid)
            reason = self._leases.reason_to_abandon(run.uid, heartbeat, time.monotonic(), is_starting=run.uid in alive)
            if reason is not None and self._commit(store, AbandonCheck(run.uid, heartbeat)):
                end_supervisor(heartbeat)
                clear_away(run.uid)

    def _start_waiting_runs(self, store: Store, max_parallel: int) -> dict[str, subprocess.Popen[bytes]]:
        waiting = check_queries.runs_in(store.db, "waiting")
        if not waiting:
            return {}
        machine = store.db.machine
        known = {
            each.uid: found
            for each in check_queries.definitions(store.db)
            if (found := self.keeper.profiles.find(each, machine)) is not None
        }
        started = {}
        for run in waiting:
            profile = known.get(run.check_uid)
            # Reading first avoids a useless write lock, for which every other writer would wait.
            begun = check_queries.running_on(store.db, machine)
            if (
                profile is None
                or run.machine not in ("", machine)
                or len(begun) >= max_parallel
                or any((each.check_uid, each.cwd) == (run.check_uid, run.cwd) for each in begun)
            ):
                continue
            heartbeat = Heartbeat(run.uid, False, *processes.identity(machine=machine), at=self._clock())
            claimed = self._commit(store, ClaimCheck(run.uid, heartbeat, max_parallel))
            if claimed is None:
                continue
            self._leases.expect(heartbeat, time.monotonic())
            child = self._start(store, claimed, profile)
            if child is not None:
                started[run.uid] = child
        return started
