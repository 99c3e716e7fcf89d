"""Each due time of a job is decided once and run to its end, whatever the clock does: hours of a scheduler in minutes.

many      8 scheduler processes, a clock that is set forward and back, 50,000 nominal times: one record each, no
          double start
stubborn  a command that ignores TERM and leaves `setsid` children, timed out 100 times: nothing is left, ever
flood     1 GB of output: memory and database stay bounded
clocks    libfaketime: two hours back repeat nothing, 40 days forward run once and count the rest
"""

import contextlib
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.core.job_steps import EVERY_MINUTE, Jobs, heartbeat
from tests.runner.hosting import ROOT, STUBBORN, Host, alive, hosted, pids, runners, shell
from tests.soak.budget import Budget
from tests.soak.forked import forking_from
from tests.soak.speaking import memory
from tests.started import until
from tui_tasks import clock
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.jobs import BeginRun, EndRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats, run_output
from tui_tasks.runner.scheduler_service import SchedulerService

SECOND = 1_000_000
MINUTE = 60 * SECOND
BEGIN = 1_767_352_980 * SECOND  # a full minute
PROCESSES = 8
JOBS = 25
TIMES = 50_000


class SharedClock:
    """A clock in a file that any process reads, moved by one."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._held = mmap.mmap(file.fileno(), 16)

    def __call__(self) -> int:
        return struct.unpack_from("q", self._held, 0)[0]

    def set(self, now: int) -> None:
        struct.pack_into("q", self._held, 0, now)

    @property
    def ended(self) -> bool:
        return bool(struct.unpack_from("q", self._held, 8)[0])

    def end(self) -> None:
        struct.pack_into("q", self._held, 8, 1)


def _schedule(folder: str, number: int) -> None:
    """One of the scheduler processes: turn after turn, starts noted in a file and recorded as done."""
    shared = SharedClock(Path(folder) / "clock")
    noted = os.open(Path(folder) / "starts", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def start(store, run, job):
        os.write(noted, f"{run.uid}\n".encode())
        begin = BeginRun(run.uid, heartbeat(run.uid, shared(), number, supervised=True), "hash", shared() + MINUTE)
        store.commit(begin, actor="system", now=shared())
        store.commit(EndRun(run.uid, "success"), actor="system", now=shared())

    made = runners(command=["true"], max_parallel=1_000)
    service = SchedulerService(f"{folder}/t.db", lambda: made, clock=shared, start=start)
    with Store(f"{folder}/t.db") as store:
        while not shared.ended:
            service._guarded(store, service.turn)
            time.sleep(random.random() / 200)  # the processes meet in any order


def many(folder: Path, budget: Budget) -> str:
    """50,000 nominal times, most of them a minute apart, some missed in a stretch; now and then the clock goes back."""
    total = budget.of(TIMES)
    shared = SharedClock(folder / "clock")
    shared.set(BEGIN - 1)
    store = Store(f"{folder}/t.db")
    jobs = Jobs(store, shared)
    uids = _jobs_of_each_kind(jobs)
    forked = forking_from(__name__)
    processes = [forked.Process(target=_schedule, args=(str(folder), n)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    chance = random.Random(4)
    minute, backwards = 0, 0
    try:
        while minute * JOBS < total and not (minute and budget.is_over):
            minute += chance.choice([1] * 30 + [7, 45])
            shared.set(BEGIN + (minute - 1) * MINUTE)
            _settled(store, uids, shared())
            if chance.random() < 0.05:
                backwards += 1
                before = (folder / "starts").read_text()
                shared.set(BEGIN + (minute - 121) * MINUTE)
                time.sleep(0.05)  # ten turns of each process, in which nothing may start
                assert (folder / "starts").read_text() == before, "a clock set back was no quiet time"
    finally:
        shared.end()
    for process in processes:
        process.join(60)
    runs = [jobs.runs(uid) for uid in uids]
    for times in ([run.scheduled_for for run in of_job] for of_job in runs):
        assert sorted(times) == [BEGIN + at * MINUTE for at in range(minute)], "a time lost, or decided twice"
    decisions = Counter(run.decision for of_job in runs for run in of_job)
    ran = {run.uid for of_job in runs for run in of_job if run.decision == "ran"}
    starts = (folder / "starts").read_text().split()
    assert len(starts) == len(set(starts)), "a double start"
    assert set(starts) == ran
    assert database_findings.broken_link(store.db) is None
    return (
        f"{minute * JOBS:,} nominal times by {PROCESSES} processes: {dict(decisions)}, {len(starts):,} starts, none "
        f"double, the clock set back {backwards} times"
    )


def _jobs_of_each_kind(jobs: Jobs) -> list[str]:
    """Jobs whose overlapping and missed times are dealt with in different ways: their uids."""
    words = [("skip", "one"), ("queue", "all"), ("allow", "one"), ("skip", "none"), ("allow", "all")]
    uids = []
    for at in range(JOBS):
        overlap, catch_up = words[at % len(words)]
        settings = {"overlap": overlap, "catch_up": catch_up, "stagger": 0, "keep_runs": 10_000}
        uids.append(jobs.make(f"job {at}", dedicated_context=True, settings=settings).uid)
    return uids


def _settled(store: Store, uids: list[str], now: int) -> None:
    def done() -> bool:
        return not job_queries.due_jobs(store.db, now, 1) and not job_queries.open_runs(store.db)

    until(done, "all decided and done")


def stubborn(folder: Path, budget: Budget) -> str:
    """Timed out again and again; each time everything that it has started is gone."""
    times = budget.of(100, 2)
    store = Store(f"{folder}/t.db")
    host = Host(store)
    text = STUBBORN.replace("PIDS", f"{folder}/pids-$TUI_TASKS_RUN_ID")
    table = runners(**shell(text), max_parallel=4)
    gone, processes = 0, 0
    with hosted(f"{folder}/t.db", table):
        runs = [host.start(f"stubborn {at}", timeout=2) for at in range(times)]
        for run in runs:
            ended = host.ended(run)
            held = pids(folder / f"pids-{run.uid}")
            assert (ended.outcome, ended.reason) == ("error", "timed out after 2 s"), ended
            assert len(held) == 3, held
            left = [pid for pid in held if alive(pid)]
            assert not left, f"left: {left}"
            gone, processes = gone + 1, processes + len(held)
    return f"{gone} of {times} stubborn runs gone with their {processes} processes"


def flood(folder: Path, budget: Budget) -> str:
    """A gigabyte of output, and what its supervisor and the database come to."""
    size = budget.of(1_000) * 1_000_000
    store = Store(f"{folder}/t.db")
    host = Host(store)
    command = f"import sys\nfor _ in range({size // 1_000_000}): sys.stdout.write('x' * 999_999 + chr(10))"
    peak = 0
    with hosted(f"{folder}/t.db", runners(command=[sys.executable, "-c", command])):
        run = host.start("flood", timeout=600)
        while host.run(run.uid).state != "final":
            held = heartbeats.heartbeat_of(store.db, run.uid)
            if held is not None and held.supervised:
                with contextlib.suppress(OSError, StopIteration):  # it has just ended
                    peak = max(peak, memory(held.pid, "VmHWM"))
            time.sleep(0.05)  # looked at 20 times a second
    ended, log = host.run(run.uid), run_output.read_output(store.db, run.uid)
    kept = sum(len(data) for _, data in log.pieces)
    database = sum(path.stat().st_size for path in folder.glob("t.db*"))
    assert ended.outcome == "success", ended
    assert log.total == size
    assert kept <= 1024 * 1024
    assert "bytes left out" in log.text
    assert peak < 200 * 1024 * 1024
    assert database < 80 * 1024 * 1024
    return (
        f"{log.total:,} bytes of output, {kept:,} kept, its supervisor at {peak / 2**20:.0f} MiB, the database with "
        f"its log {database / 2**20:.1f} MiB"
    )


def clocks(folder: Path, budget: Budget) -> str:
    """A scheduler process under libfaketime, its clock set while it serves."""
    library = next(Path("/usr/lib").glob("**/libfaketime.so.1"), None)
    if library is None:
        return "no clock was set: libfaketime is not installed (Debian: faketime)"
    offset = folder / "offset"
    offset.write_text("+0")
    database = f"{folder}/t.db"
    store = Store(database)
    jobs = Jobs(store, clock.now)
    job = jobs.make(schedule=EVERY_MINUTE, dedicated_context=True, settings={"keep_runs": 10_000})
    process = _under(library, offset, database)
    try:
        first = until(lambda: _done(jobs, job.uid), "the first run")
        before = len(jobs.runs(job.uid))
        offset.write_text("-2h")
        time.sleep(75)  # a minute and more, in which nothing may happen
        assert len(jobs.runs(job.uid)) == before, "something was repeated"
        offset.write_text("+0")
        until(lambda: len(_done(jobs, job.uid)) > len(first), "a run after the clock is right again")
        back = len(jobs.runs(job.uid))
        offset.write_text("+40d")
        began = time.monotonic()
        until(lambda: _done(jobs, job.uid)[0].scheduled_for > clock.now() + 39 * 24 * 60 * MINUTE, "40 days on")
        noticed = time.monotonic() - began
        time.sleep(5)  # what is too much would come now
        new = jobs.runs(job.uid)[: len(jobs.runs(job.uid)) - back]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    at = next(n for n, run in enumerate(new) if run.decision == "coalesced")
    stretch = Counter(run.decision for run in new[at - 1 :])
    times = [run.scheduled_for for run in jobs.runs(job.uid)]
    assert len(times) == len(set(times))
    assert stretch["ran"] == 1, stretch
    assert 57_000 < stretch["coalesced"] <= 57_600, stretch
    return (
        f"two hours back repeated nothing in 75 s; 40 days forward were noticed and done in {noticed:.1f} s: "
        f"{dict(stretch)}, told as {new[at - 1].reason!r}"
    )


def _under(library: Path, offset: Path, database: str) -> subprocess.Popen:
    """A scheduler process whose clock is off by what a file says."""
    environ = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    argv = [sys.executable, "-m", "tests.soak.scheduler", database, json.dumps({"command": ["true"]})]
    return subprocess.Popen(argv, cwd=ROOT, env=environ)


def _done(jobs: Jobs, uid: str) -> list:
    return [run for run in jobs.runs(uid) if run.outcome == "success"]


def serve(database: str, table: str) -> None:
    """A scheduler until SIGTERM, for `clocks`."""
    made = runners(**json.loads(table))
    service = SchedulerService(database, lambda: made)
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    service.run()


def soak(folder: Path, budget: Budget) -> str:
    # What waits for minutes of a real clock is left out of a short one.
    parts = (many, stubborn, flood) if budget.share < 1 else (many, stubborn, flood, clocks)
    told = []
    for part in parts:
        place = folder / part.__name__
        place.mkdir()
        told.append(part(place, budget))
    return "; ".join(told)


if __name__ == "__main__":
    serve(*sys.argv[1:])
