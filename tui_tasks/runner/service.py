"""The scheduler: decides what is due, sees that runs are started, and records what has died. Any number may be hosted.

Each thing that it decides is an operation of the state, decided once whoever comes first; so processes need not know
of each other. It sleeps until something is due, and is woken by what others commit.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any, Final

from tui_tasks import clock as wall
from tui_tasks.core.elapsed import Elapsed
from tui_tasks.core.engine.storage_errors import storage_errors
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations_jobs import AbandonRun, ClaimRun, DecideDue, ExpireRuns, RequestRun, TakeBackDue
from tui_tasks.core.read.jobs import queries_jobs
from tui_tasks.core.read.jobs.queries_jobs import OpenRun
from tui_tasks.core.read.stuck import Thresholds
from tui_tasks.core.read.tasks import search
from tui_tasks.core.schedule import heartbeats
from tui_tasks.core.schedule.schedule import ON_TIME
from tui_tasks.core.snapshots import Heartbeat, Job, Run
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import inside, processes
from tui_tasks.runner.assignment import clear_away
from tui_tasks.runner.check_host import CheckHost
from tui_tasks.runner.check_keeper import CheckKeeper
from tui_tasks.runner.clock_check import ClockCheck
from tui_tasks.runner.launch import Launcher
from tui_tasks.runner.lease import Leases
from tui_tasks.runner.profiles import Runners
from tui_tasks.runner.stuck_watch import StuckWatch
from tui_tasks.uptime import Uptime

_log = logging.getLogger(__name__)

# Seconds without a sign of life after which a run that nobody can be seen to hold is given up.
LEASE: Final = 30.0
RETRY: Final = 1.0
# Seconds between two turns at the least.
PACE: Final = 0.05
# So many jobs are decided in one transaction: others wait for it.
AT_ONCE: Final = 10

Start = Callable[[Store, Run, Job], subprocess.Popen[bytes] | None]


class SchedulerService:
    """A scheduler on one database. `run` serves until `stop`, in the thread that calls it, on a connection of its own.

    runners: what the human has configured, asked anew for each start.
    start: starts a claimed run; for tests.
    checks: what keeps the checks that the human has configured; None: none are run.
    thresholds: when an agent is stuck, as the human has configured it, asked anew for each look.
    uptime: for how long the machine is up; unless told, what goes with the clock.
    at_step: told "decided", "claimed", "started" as they are reached; for tests.
    """

    def __init__(
        self,
        path: str,
        runners: Callable[[], Runners],
        *,
        clock: Callable[[], int] = wall.now,
        lease: float = LEASE,
        start: Start | None = None,
        at_step: Callable[[str], None] = lambda step: None,
        uptime: Callable[[], Uptime] | None = None,
        thresholds: Callable[[], Thresholds] = Thresholds,
        checks: CheckKeeper | None = None,
    ) -> None:
        self.path = path
        self._stuck = StuckWatch(thresholds)
        self._runners = runners
        self._clock = clock
        self._uptime = uptime or wall.uptime_beside(clock)
        # A clock of a test's own is taken as it is.
        self._check = ClockCheck(clock, self._uptime) if uptime or clock is wall.now else None
        self._leases = Leases(lease)
        launcher = Launcher(runners, clock)
        self._start = start or launcher
        self._checks = CheckHost(checks, clock, lease, launcher.check) if checks is not None else None
        self._at_step = at_step
        self._children: list[subprocess.Popen[bytes]] = []
        self._woken, self._wakes = os.pipe()
        self._stopped = False

    def stop(self) -> None:
        """End `run` soon, from any thread; runs go on."""
        self._stopped = True
        with contextlib.suppress(OSError):
            os.write(self._wakes, b".")

    def run(self) -> None:
        """Serve until `stop`. From inside a run nothing is hosted: whatever starts jobs is outside (rule S1)."""
        with Store(self.path) as store:
            store.elapsed = Elapsed(self._uptime)
            if inside.inside_run(os.environ, store.db):
                _log.info("inside a run: no jobs are started from here")
                return
            watch = Watch(store.db)
            try:
                while not self._stopped:
                    times = [at for at in (self._safely(store, self.turn), self._safely(store, self._look)) if at]
                    self._sleep(watch, min(times, default=None))
            finally:
                watch.close()

    def _look(self, store: Store) -> int | None:
        return self._stuck.look(store, self._clock())

    def _safely(self, store: Store, does: Callable[[Store], int | None]) -> int | None:
        """A turn, whatever happens; the instant of the next, None where only others' commits can bring one about."""
        try:
            with storage_errors(store.path):
                return does(store)
        except StorageFailed as failure:
            _log.warning("%s", failure.message)
        except Exception:  # one bad turn is not to end the scheduler
            _log.exception("a defect of the scheduler")
        return self._clock() + int(RETRY * 1_000_000)

    def _sleep(self, watch: Watch, until: int | None) -> None:
        """Sleep until an instant, or until another process or thread has committed.

        The clock is looked at again each time the watch looks at the database (its safety net, each second): so a
        clock that is set is noticed.
        """
        lease_at = self._leases.next_look(time.monotonic())
        inputs: list[int] = []
        if self._checks is not None:
            lease_at = min(lease_at, self._checks.next_look(time.monotonic()))
            inputs = self._checks.keeper.fds
        self._rest()
        while not self._stopped:
            now = time.monotonic()
            if (until is not None and self._clock() >= until) or now >= lease_at:
                return
            if self._check is not None and self._check.has_jumped():
                return
            waits = [lease_at - now]
            if until is not None:
                waits.append((until - self._clock()) / 1_000_000)
            ready = watch.sleep(min(waits), self._woken, *inputs)
            if watch.changed(time.monotonic()) or not ready.isdisjoint(inputs):
                return
            if self._checks is not None and self._checks.keeper.has_changed():
                return

    def _rest(self) -> None:
        """Leave some time between two turns: where others commit all the time, each turn would cost them one."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.poll(PACE * 1_000)

    def turn(self, store: Store) -> int | None:
        """Do all that is to be done now; return the instant at which there is more, as far as is known.

        Raises:
            StorageFailed: some of it could not be written.
        """
        self._children = [child for child in self._children if child.poll() is None]
        held = self._check.look(store.db) if self._check is not None else 0
        if not held:
            self._take_back(store)
            self._decide(store)
        self._give_up(store)
        self._begin(store, by_hand_alone=held > 0)
        if self._checks is not None:
            self._children += self._checks.turn(store, self._runners().max_parallel)
        if search.catch_up(store.db):
            return self._clock()
        if held:
            return self._clock() + held
        return queries_jobs.next_change(store.db, self._clock())

    def _commit(self, store: Store, *operations: Operation) -> list[Any]:
        return store.commit(*operations, actor=SYSTEM, now=self._clock())

    def _take_back(self, store: Store) -> None:
        """Have decided anew what a clock that was ahead has decided."""
        for uid in queries_jobs.decided_ahead(store.db, self._clock() + ON_TIME):
            _log.warning("job %s was decided until later than now, by a clock that was ahead: taken back", uid)
            self._commit(store, TakeBackDue(uid))

    def _decide(self, store: Store) -> None:
        """Decide some of what is due; the rest, as of a long absence, in the turns that follow at once."""
        due = queries_jobs.due_jobs(store.db, self._clock(), AT_ONCE)
        if due:
            self._commit(store, *(DecideDue(uid) for uid in due))
            self._at_step("decided")

    def _give_up(self, store: Store) -> None:
        """End what nobody answers, and what nobody can be seen to have in hand any more."""
        now = self._clock()
        runs = [run for run in queries_jobs.open_runs(store.db) if run.state != "queued"]
        held = {beat.run_uid: beat for beat in heartbeats.everyone(store.db)}
        self._leases.keep_only(run.uid for run in runs)
        for run in runs:
            beat = held.get(run.uid)
            if run.state == "running" and not run.dedicated:
                if run.deadline is not None and run.deadline <= now:
                    self._commit(store, ExpireRuns())
            elif beat is not None or run.state == "running":
                reason = self._leases.verdict(run.uid, beat, time.monotonic())
                if reason is not None and self._commit(store, AbandonRun(run.uid, beat, reason)) == [True]:
                    clear_away(run.uid)

    def _begin(self, store: Store, *, by_hand_alone: bool) -> None:
        """Start what waits, the oldest first; `by_hand_alone`: nothing that was started by a clock."""
        now = self._clock()
        most = self._runners().max_parallel
        for run in queries_jobs.open_runs(store.db):
            # Looked at first, for a write lock that is taken for nothing keeps everybody waiting.
            if run.dedicated and (
                queries_jobs.in_hand(store.db) >= most or heartbeats.find(store.db, run.uid) is not None
            ):
                continue
            if by_hand_alone and (run.not_before is not None or run.scheduled_for is not None):
                continue
            if self._stopped or not queries_jobs.startable(store.db, run, now):
                continue
            if run.dedicated:
                self._claim(store, run, most)
            else:
                self._commit(store, RequestRun(run.uid))

    def _claim(self, store: Store, run: OpenRun, most: int) -> None:
        """Take a run in hand, unless another has, and have it supervised."""
        beat = Heartbeat(run.uid, False, *processes.identity(), at=self._clock())
        (claimed,) = self._commit(store, ClaimRun(run.uid, beat, most))
        job = queries_jobs.any_job(store.db, run.job_uid) if claimed is not None else None
        if claimed is None or job is None:
            return
        self._at_step("claimed")
        child = self._start(store, claimed, job)
        if child is not None:
            self._children.append(child)
        self._at_step("started")
