"""The scheduler: decides what is due, starts runs, records runs whose supervisor died and agents that are stuck.

Every decision is an operation that has an effect only for the first scheduler that commits it, so that schedulers need
not know of each other. A scheduler sleeps until something is due or another process commits.
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
from tui_tasks.clock import Uptime
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import storage_errors
from tui_tasks.core.errors import Refusal, RoleRefused, StorageFailed
from tui_tasks.core.job_snapshots import ON_TIME, Heartbeat, Job, Run
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.operations.jobs import AbandonRun, ClaimRun, DecideDue, DropDecided, ExpireRuns, RequestRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.agents import last_words, stuck_signs
from tui_tasks.core.read.agents.stuck_causes import Thresholds, causes
from tui_tasks.core.read.job_queries import OpenRun
from tui_tasks.core.read.tasks import task_search
from tui_tasks.core.schedule import policy
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.unjournaled.heartbeats import Scheduler
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes, run_marks
from tui_tasks.runner.checks.check_keeper import CheckKeeper, CheckStarter
from tui_tasks.runner.clock_check import ClockCheck
from tui_tasks.runner.run_holders import Leases, continue_stopped, end_supervisor, has_ended
from tui_tasks.runner.runner_settings import Runners
from tui_tasks.runner.supervisor_launch import Launcher, clear_away
from tui_tasks.text.times import SECOND

EVERY: Final = 15 * SECOND
"""Microseconds between two looks at stuck agents."""


class StuckWatch:
    """Records the causes that the state does not have yet, so that several processes may look.

    Args:
        thresholds: returns when an agent counts as stuck; called for each look.
    """

    def __init__(self, thresholds: Callable[[], Thresholds]) -> None:
        self._thresholds = thresholds
        self._next = 0

    def look(self, store: Store, now: int) -> int | None:
        """Look unless the last look is recent; return the instant of the next one, None if only a commit requires one.

        `now`: microseconds since the epoch.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        if self._next - EVERY <= now < self._next:
            return self._next
        self._next = now + EVERY
        agents = stuck_signs.of_agents(store.db, now)
        recorded = {one.uid: one for one in last_words.stuck_now(store.db)}
        noted = {name: one.cause for name, one in recorded.items()}
        if store.db.machine:
            # What an agent does is known to its machine alone.
            elsewhere = stuck_signs.elsewhere(store.db)
            agents = [one for one in agents if one.agent not in elsewhere]
            noted = {name: cause for name, cause in noted.items() if name not in elsewhere}
        stuck = causes(agents, now, self._thresholds())
        # An open question already shows that its agent waits for the human.
        stuck = {name: cause for name, cause in stuck.items() if cause.kind != "human"}
        # One that was heard between two looks is stuck anew.
        same = {name: cause.since for name, cause in stuck.items() if noted.get(name) == cause.kind}
        anew = {name for name, since in same.items() if recorded[name].has_ended(heard_at=since, acted_at=since)}
        over = sorted((noted.keys() - stuck.keys()) | anew)
        notes = [NoteStuck(name, None) for name in over]
        new = {name: cause for name, cause in stuck.items() if name in anew or name not in same}
        notes += [NoteStuck(name, cause.kind, cause.text, cause.since) for name, cause in new.items()]
        if notes and not store.db.machine:
            store.commit(*notes, actor=SYSTEM, now=now)
        elif notes:
            # The role of an agent notes nothing of others.
            for note in notes:
                with contextlib.suppress(RoleRefused):
                    store.commit(note, actor=SYSTEM, now=now)
        return self._next if agents else None


_log = logging.getLogger(__name__)

# Seconds without a heartbeat after which a run is abandoned, if its supervisor is not visible from here.
LEASE_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 1.0
# Seconds until a server's role that may run no jobs is tried again: it may be allowed by then.
PATIENCE_SECONDS: Final = 60.0
# The least seconds between two turns.
PAUSE_SECONDS: Final = 0.05
# How many jobs are decided in one transaction, for which other writers wait.
DECISIONS_PER_TURN: Final = 10

StartRun = Callable[[Store, Run, Job], subprocess.Popen[bytes] | None]


class SchedulerService:
    """A scheduler on one database. `run` serves until `stop`, in the calling thread, on its own connection.

    Args:
        runners: returns the configured runners; called for each start.
        clock: returns the time of day, in microseconds since the epoch.
        lease: seconds without a heartbeat after which a run is abandoned.
        start: starts a claimed run; replaced in tests.
        at_step: called with "decided", "claimed" and "started" as they are reached; used by tests.
        uptime: returns how long the machine has been up; the default goes with the clock.
        thresholds: returns when an agent counts as stuck; called for each look.
        checks: writes the configured checks into the state; None: no checks are run.
    """

    def __init__(
        self,
        path: str,
        runners: Callable[[], Runners],
        *,
        clock: Callable[[], int] = wall.now,
        lease: float = LEASE_SECONDS,
        start: StartRun | None = None,
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
        # A clock given by a test is trusted.
        self._clock_check = ClockCheck(self._now, self._uptime) if uptime or clock is wall.now else None
        self._db: Database | None = None
        self._leases = Leases(lease)
        launcher = Launcher(runners, clock)
        self._start = start or launcher
        self._check_starter = CheckStarter(checks, clock, lease, launcher.check) if checks is not None else None
        self._at_step = at_step
        # The supervisors that were started here and are alive, by their run.
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._wake_out, self._wake_in = os.pipe()
        self._stopped = False
        self._refused_until = 0.0
        self._refusal = ""
        # Why it starts nothing for now, and the record that says so.
        self._waits = ""
        self._recorded: Scheduler | None = None

    def stop(self) -> None:
        """Make `run` return soon; callable from any thread. Runs continue."""
        self._stopped = True
        with contextlib.suppress(OSError):
            os.write(self._wake_in, b".")

    def run(self) -> None:
        """Serve until `stop`. Inside a run, return at once: no jobs are started from there (rule S1)."""
        with Store(self.path, makes=False) as store:
            self._db = store.db
            store.database_clock = DatabaseClock(self._uptime)
            store.db.follow()
            if run_marks.inside_run(os.environ, store.db):
                _log.info("inside a run: no jobs are started from here")
                return
            watch = Watch(store.db)
            try:
                while not self._stopped:
                    times = [
                        self._guarded(store, self.turn),
                        self._guarded(store, lambda store: self._stuck.look(store, self._now())),
                    ]
                    self._record(store)
                    self._sleep(watch, min(filter(None, times), default=None))
            finally:
                watch.close()
                self._drop_record(store)
                self._db = None

    def _now(self) -> int:
        """Return the time of day by which jobs are due."""
        return self._clock() if self._db is None else self._db.server_time(self._clock())

    def _record(self, store: Store) -> None:
        """Record that this process hosts the scheduler, and what keeps it from starting jobs, if that has changed.

        A failure is not logged: the next turn fails, too, and logs it. Then this is tried again.
        """
        path, machine = heartbeats.real_path(store.db), store.db.machine
        one = Scheduler(*processes.identity(machine=machine), path, self._waits)
        if one == self._recorded:
            return
        with contextlib.suppress(Refusal), storage_errors(store.path):
            if self._recorded is None:
                heartbeats.drop_schedulers(
                    store.db, *(each for each in heartbeats.schedulers_of(store.db) if has_ended(each, machine))
                )
            heartbeats.put_scheduler(store.db, one)
            self._recorded = one

    def _drop_record(self, store: Store) -> None:
        """Delete the record that this process hosts the scheduler. A record that is left counts only while it runs."""
        if self._recorded is not None:
            with contextlib.suppress(Refusal), storage_errors(store.path):
                heartbeats.drop_schedulers(store.db, self._recorded)

    def _guarded(self, store: Store, step: Callable[[Store], int | None]) -> int | None:
        """Run a step, log what it raises, and return when to run it next; None if only a commit can require it."""
        try:
            with storage_errors(store.path):
                return step(store)
        except StorageFailed as failure:
            _log.warning("%s", failure.message)
        except Exception:  # one failed turn must not end the scheduler
            _log.exception("a defect of the scheduler")
        return self._now() + int(RETRY_SECONDS * SECOND)

    def _sleep(self, watch: Watch, until: int | None) -> None:
        """Sleep until an instant, or until another process or thread has committed.

        The clock is read again each time the watch checks the database (every second), so that a change of the clock
        is noticed.
        """
        lease_at = self._leases.next_look(time.monotonic())
        inputs: list[int] = []
        if self._check_starter is not None:
            lease_at = min(lease_at, self._check_starter.next_look(time.monotonic()))
            inputs = self._check_starter.keeper.fds
        self._pause()
        while not self._stopped:
            now = time.monotonic()
            if (until is not None and self._now() >= until) or now >= lease_at:
                return
            if self._clock_check is not None and self._clock_check.has_jumped():
                return
            waits = [lease_at - now]
            if until is not None:
                waits.append((until - self._now()) / SECOND)
            ready = watch.sleep(min(waits), self._wake_out, *inputs)
            if watch.changed(time.monotonic()) or not ready.isdisjoint(inputs):
                return
            if self._check_starter is not None and self._check_starter.keeper.has_changed():
                return

    def _pause(self) -> None:
        """Pause between two turns, so that under constant commits the scheduler does not delay every writer."""
        poll = select.poll()
        poll.register(self._wake_out, select.POLLIN)
        poll.poll(PAUSE_SECONDS * 1_000)

    def turn(self, store: Store) -> int | None:
        """Do everything that is due; return the next instant at which something is, or None if none is known.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        self._db = store.db
        self._children = {uid: child for uid, child in self._children.items() if child.poll() is None}
        continue_stopped(child.pid for child in self._children.values())
        held = self._clock_check.look(store.db) if self._clock_check is not None else 0
        runs_jobs = self._run_jobs(store, held)
        self._waits = self._refusal if not runs_jobs else "it does not trust the clock yet" if held else ""
        if task_search.catch_up_index(store.db):
            return self._now()
        if not runs_jobs:
            return self._now() + int(PATIENCE_SECONDS * SECOND)
        if held:
            return self._now() + held
        return job_queries.next_change(store.db, self._now())

    def _run_jobs(self, store: Store, held: int) -> bool:
        """Do what is due of jobs and checks; return whether this machine may: an agent's role on a server may not."""
        if time.monotonic() < self._refused_until:
            return False
        try:
            if not held:
                self._take_back(store)
                self._decide_due(store)
            self._abandon_dead_runs(store)
            self._start_waiting_runs(store, by_hand_alone=held > 0)
            if self._check_starter is not None:
                self._children |= self._check_starter.turn(store, self._runners().max_parallel, self._children)
        except RoleRefused as refused:
            self._refused_until = time.monotonic() + PATIENCE_SECONDS
            if refused.message != self._refusal:
                self._refusal = refused.message
                _log.warning("jobs and checks are left to other machines: %s", refused.message)
            return False
        return True

    def _commit(self, store: Store, *operations: Operation) -> list[Any]:
        return store.commit(*operations, actor=SYSTEM, now=self._now())

    def _take_back(self, store: Store) -> None:
        """Decide again what a wall clock that was ahead has decided."""
        for uid, until in job_queries.decided_ahead(store.db, self._now() + ON_TIME).items():
            if self._commit(store, DropDecided(uid, until)) == [True]:
                _log.warning("job %s was decided until later than now, by a clock that was ahead: taken back", uid)

    def _decide_due(self, store: Store) -> None:
        """Decide some of the due jobs; a backlog is decided in the turns that follow at once."""
        due = job_queries.due_jobs(store.db, self._now(), DECISIONS_PER_TURN)
        if due:
            self._commit(store, *(DecideDue(uid) for uid in due))
            self._at_step("decided")

    def _abandon_dead_runs(self, store: Store) -> None:
        """End requested runs past their deadline; abandon claimed ones whose supervisor is dead or stays suspended."""
        now = self._now()
        runs = [run for run in job_queries.open_runs(store.db) if run.state != "queued"]
        held = {heartbeat.run_uid: heartbeat for heartbeat in heartbeats.heartbeats(store.db)}
        self._leases.keep_only(run.uid for run in runs)
        for run in runs:
            heartbeat = held.get(run.uid)
            if run.state == "running" and not run.dedicated:
                if run.deadline is not None and run.deadline <= now:
                    self._commit(store, ExpireRuns())
            elif heartbeat is not None and not heartbeat.is_on(store.db.machine):
                continue
            elif heartbeat is not None or run.state == "running":
                reason = self._leases.reason_to_abandon(
                    run.uid, heartbeat, time.monotonic(), is_starting=run.uid in self._children
                )
                if reason is not None and self._commit(store, AbandonRun(run.uid, heartbeat, reason)) == [True]:
                    end_supervisor(heartbeat)
                    clear_away(run.uid)

    def _start_waiting_runs(self, store: Store, *, by_hand_alone: bool) -> None:
        """Start the waiting runs, oldest first; with `by_hand_alone`, only runs that no clock has scheduled."""
        now, runners = self._now(), self._runners()
        most = runners.max_parallel
        for run in job_queries.open_runs(store.db):
            # Reading first avoids a useless write lock, for which every other writer would wait.
            if run.dedicated and (
                job_queries.in_hand(store.db) >= most or heartbeats.heartbeat_of(store.db, run.uid) is not None
            ):
                continue
            if by_hand_alone and (run.not_before is not None or run.scheduled_for is not None):
                continue
            if self._stopped or not job_queries.startable(store.db, run, now):
                continue
            if run.dedicated and store.db.machine and not _has_runner(store, run, runners):
                continue
            if run.dedicated:
                self._claim_and_start(store, run, most)
            else:
                self._commit(store, RequestRun(run.uid))

    def _claim_and_start(self, store: Store, run: OpenRun, most: int) -> None:
        """Claim a run unless another scheduler has, and start its supervisor."""
        heartbeat = Heartbeat(run.uid, False, *processes.identity(machine=store.db.machine), at=self._now())
        (claimed,) = self._commit(store, ClaimRun(run.uid, heartbeat, most))
        job = job_queries.any_job(store.db, run.job_uid) if claimed is not None else None
        if claimed is None or job is None:
            return
        self._leases.expect(heartbeat, time.monotonic())
        self._at_step("claimed")
        child = self._start(store, claimed, job)
        if child is not None:
            self._children[claimed.uid] = child
        self._at_step("started")


def _has_runner(store: Store, run: OpenRun, runners: Runners) -> bool:
    """Return whether this machine has the runner of a run; on a server another one may have it."""
    job = job_queries.any_job(store.db, run.job_uid)
    return job is not None and policy.read_settings(job.settings).runner in runners.profiles
