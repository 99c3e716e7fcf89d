"""Each due time of a job is decided once and run once by eight schedulers on two machines that share a server.

The server's time, by which jobs are due, is set forward.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.core.job_steps import Jobs
from tests.postgres.machines import digest
from tests.runner.hosting import runners
from tests.soak import native
from tests.soak.budget import Budget
from tests.soak.forked import forking_from
from tests.soak.scheduler import JOBS, MINUTE, PROCESSES, TIMES, _jobs_of_each_kind
from tests.started import until
from tui_tasks import clock
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.jobs import BeginRun, EndRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.postgres.replica_files import replica_of
from tui_tasks.runner.scheduler_service import SchedulerService

MACHINES: Final = 2
_DAY: Final = 24 * 60 * MINUTE


def soak(folder: Path, budget: Budget) -> str:
    with native.server() as cluster, cluster.database() as name:
        os.environ["XDG_STATE_HOME"] = str(folder / "driver")
        with contextlib.closing(Store(replica_of(cluster.conninfo(name)))) as store:
            return _Driver(cluster, name, store, folder).run(budget)


class _Driver:
    """Sets the server's time forward while the schedulers work, and compares what they did."""

    def __init__(self, cluster: Any, name: str, store: Store, folder: Path) -> None:
        self._cluster, self._name, self._store, self._folder = cluster, name, store, folder
        # No server has an earlier time than its clock.
        self._begin = (clock.now() // MINUTE) * MINUTE + _DAY

    def run(self, budget: Budget) -> str:
        self._store.db.catch_up()
        self._set(self._begin - 1)
        jobs = Jobs(self._store, clock.now)
        uids = _jobs_of_each_kind(jobs)
        with contextlib.ExitStack() as started:
            for number in range(PROCESSES):
                started.enter_context(self._scheduler(number))
            minute = self._pass(budget)
            (self._folder / "end").touch()
        return self._compared(jobs, uids, minute)

    @contextlib.contextmanager
    def _scheduler(self, number: int) -> Any:
        given = (self._cluster.conninfo(self._name), self._folder, number)
        process = forking_from(__name__).Process(target=_schedule, args=given)
        process.start()
        try:
            yield
            process.join(60)
            assert process.exitcode == 0
        finally:
            process.kill()

    def _pass(self, budget: Budget) -> int:
        """Let minutes pass, at times many at once; return how many."""
        chance = random.Random(4)
        minute = 0
        while minute * JOBS < budget.of(TIMES) and not (minute and budget.is_over):
            minute += chance.choice([1] * 30 + [7, 45])
            self._set(self._begin + (minute - 1) * MINUTE)
            until(lambda now=self._begin + (minute - 1) * MINUTE: self._is_settled(now), "all decided and done")
        return minute

    def _set(self, now: int) -> None:
        self._cluster.sql(self._name, f"UPDATE tui_tasks.head SET now = {now}")

    def _is_settled(self, now: int) -> bool:
        db = self._store.db
        db.catch_up()
        return not job_queries.due_jobs(db, now, 1) and not job_queries.open_runs(db)

    def _compared(self, jobs: Jobs, uids: list[str], minutes: int) -> str:
        self._store.db.catch_up()
        runs = [jobs.runs(uid) for uid in uids]
        for times in ([run.scheduled_for for run in of_job] for of_job in runs):
            assert sorted(times) == [self._begin + at * MINUTE for at in range(minutes)], "lost, or decided twice"
        every = [run for of_job in runs for run in of_job]
        ran = {run.uid for run in every if run.decision == "ran"}
        starts = [line.split() for line in (self._folder / "starts").read_text().splitlines()]
        assert len({uid for uid, _ in starts}) == len(starts), "a double start"
        assert {uid for uid, _ in starts} == ran
        assert database_findings.broken_link(self._store.db) is None
        by_machine = Counter(number for _, number in starts)
        assert self._digests() == {digest(self._store.path)}, "the replicas differ"
        return (
            f"{minutes * JOBS:,} due times by {PROCESSES} schedulers on {MACHINES} machines: "
            f"{dict(Counter(run.decision for run in every))}, {len(starts):,} starts, none double, "
            f"equal replicas, {min(by_machine.values()):,} to {max(by_machine.values()):,} by each of {len(by_machine)}"
        )

    def _digests(self) -> set[str]:
        """Return the digest of each machine's replica, once it is as new as the server."""
        found = set()
        for path in sorted(self._folder.glob("machine*/tui-tasks/replicas/*.replica")):
            with contextlib.closing(Store(str(path))) as store:
                store.db.catch_up()
                found.add(digest(store.path))
        return found


def _schedule(url: str, folder: Path, number: int) -> None:
    """One of the schedulers: turn after turn, starts noted in a file and recorded as done."""
    os.environ |= {"XDG_STATE_HOME": str(folder / f"machine{number % MACHINES}"), "TUI_TASKS_CONFIG": os.devnull}
    noted = os.open(folder / "starts", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def start(store: Store, run: Any, _: Any) -> None:
        os.write(noted, f"{run.uid} {number}\n".encode())
        at = store.db.server_time(clock.now())
        held = Heartbeat(run.uid, True, "boot", f"namespace@{store.db.machine}", number, "born", at)
        store.commit(BeginRun(run.uid, held, "hash", at + _DAY), actor="system", now=at)
        store.commit(EndRun(run.uid, "success"), actor="system", now=at)

    made = runners(command=["true"], max_parallel=1_000)
    path = replica_of(url)
    # A clock of its own: the jumps of the server's time are no reason to distrust it here.
    service = SchedulerService(path, lambda: made, clock=lambda: clock.now(), start=start)
    with Store(path) as store:
        while not (folder / "end").exists():
            with contextlib.suppress(Exception):
                store.db.catch_up()
            # The time was set meanwhile: it is asked for in each turn.
            store.db._time_seen = -math.inf
            service._guarded(store, service.turn)
            time.sleep(random.random() / 50)  # they meet in any order, and leave the server time to work
