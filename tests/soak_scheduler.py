"""The scheduler for hours in minutes: `python -m tests.soak_scheduler [PART ...]`, all parts unless named.

    many      8 scheduler processes, a clock that is set forward and back, 50,000 nominal times: one record each, no
              double start
    stubborn  a command that ignores TERM and leaves `setsid` children, timed out 100 times: nothing is left, ever
    flood     1 GB of output: memory and database stay bounded
    clocks    libfaketime: two hours back repeat nothing, 40 days forward run once and count the rest

Each part prints its figures, and fails with an AssertionError. `--quick` does a hundredth of it.
"""

import argparse
import json
import mmap
import multiprocessing
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.core.job_steps import EVERY_MINUTE, Jobs, beat
from tests.runner.hosting import ROOT, Host, hosted, runners, until
from tests.runner.test_supervisor import STUBBORN, alive, pids, shell
from tui_tasks import clock
from tui_tasks.core import beats, journal, queries_jobs
from tui_tasks.core.operations_jobs import BeginRun, EndRun
from tui_tasks.core.store import Store
from tui_tasks.runner.service import SchedulerService

SECOND = 1_000_000
MINUTE = 60 * SECOND
BEGIN = 1_767_352_980 * SECOND  # a full minute
PROCESSES = 8
JOBS = 25


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
        begin = BeginRun(run.uid, beat(run.uid, shared(), number, supervised=True), "hash", shared() + MINUTE)
        store.commit(begin, actor="system", now=shared())
        store.commit(EndRun(run.uid, "success"), actor="system", now=shared())

    made = runners(command=["true"], max_parallel=1_000)
    service = SchedulerService(f"{folder}/t.db", lambda: made, clock=shared, start=start)
    with Store(f"{folder}/t.db") as store:
        while not shared.ended:
            service._safely(store)
            time.sleep(random.random() / 200)


def many(folder: Path, scale: int) -> None:
    """50,000 nominal times, most of them a minute apart, some missed in a stretch; now and then the clock goes back."""
    total = 50_000 // scale
    shared = SharedClock(folder / "clock")
    shared.set(BEGIN - 1)
    store = Store(f"{folder}/t.db")
    jobs = Jobs(store, shared)
    uids = _jobs_of_each_kind(jobs)
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_schedule, args=(str(folder), n)) for n in range(PROCESSES)]
    began = time.monotonic()
    for process in processes:
        process.start()
    chance = random.Random(4)
    minute, backwards = 0, 0
    while minute * JOBS < total:
        minute += chance.choice([1] * 30 + [7, 45])
        shared.set(BEGIN + (minute - 1) * MINUTE)
        _settled(store, uids, shared())
        if chance.random() < 0.05:
            backwards += 1
            before = journal.newest(store.db)
            shared.set(BEGIN + (minute - 121) * MINUTE)
            time.sleep(0.05)
            assert journal.newest(store.db) == before, "a clock set back was no quiet time"
    shared.end()
    for process in processes:
        process.join(60)
    took = time.monotonic() - began
    runs = [jobs.runs(uid) for uid in uids]
    for times in ([run.scheduled_for for run in of_job] for of_job in runs):
        assert sorted(times) == [BEGIN + at * MINUTE for at in range(minute)], "a time lost, or decided twice"
    decisions = Counter(run.decision for of_job in runs for run in of_job)
    ran = {run.uid for of_job in runs for run in of_job if run.decision == "ran"}
    starts = (folder / "starts").read_text().split()
    assert len(starts) == len(set(starts)), "a double start"
    assert set(starts) == ran
    assert journal.broken_link(store.db) is None
    print(f"many: {minute * JOBS:,} nominal times, {PROCESSES} processes, {took:.0f} s: {dict(decisions)}, "
          f"{len(starts):,} starts, none double, the clock set back {backwards} times")  # fmt: skip


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
        return not queries_jobs.due_jobs(store.db, now, 1) and not queries_jobs.open_runs(store.db)

    until(done, "all decided and done", 120)


def stubborn(folder: Path, scale: int) -> None:
    """Timed out again and again; each time everything that it has started is gone."""
    times = max(4, 100 // scale)
    store = Store(f"{folder}/t.db")
    host = Host(store)
    text = STUBBORN.replace("PIDS", f"{folder}/pids-$TUI_TASKS_RUN_ID")
    table = runners(**shell(text), max_parallel=4)
    began = time.monotonic()
    gone, processes = 0, 0
    with hosted(f"{folder}/t.db", table):
        runs = [host.start(f"stubborn {at}", timeout=2) for at in range(times)]
        for run in runs:
            ended = host.ended(run, 10 * times)
            held = pids(folder / f"pids-{run.uid}")
            assert (ended.outcome, ended.reason) == ("error", "timed out after 2 s"), ended
            assert len(held) == 3, held
            left = [pid for pid in held if alive(pid)]
            assert not left, f"left: {left}"
            gone, processes = gone + 1, processes + len(held)
    print(f"stubborn: gone {gone} of {times}, {processes} processes, {time.monotonic() - began:.0f} s")


def flood(folder: Path, scale: int) -> None:
    """A gigabyte of output, and what its supervisor and the database come to."""
    size = 1_000_000_000 // scale
    store = Store(f"{folder}/t.db")
    host = Host(store)
    command = f"import sys\nfor _ in range({size // 1_000_000}): sys.stdout.write('x' * 999_999 + chr(10))"
    began = time.monotonic()
    peak = 0
    with hosted(f"{folder}/t.db", runners(command=[sys.executable, "-c", command])):
        run = host.start("flood", timeout=600)
        while host.run(run.uid).state != "final":
            held = beats.find(store.db, run.uid)
            if held is not None and held.supervised:
                peak = max(peak, _peak_memory(held.pid))
            time.sleep(0.05)
    took = time.monotonic() - began
    ended, log = host.run(run.uid), queries_jobs.run_log(store.db, run.uid)
    kept = sum(len(data) for _, data in log.pieces)
    database = sum(path.stat().st_size for path in folder.glob("t.db*"))
    assert ended.outcome == "success", ended
    assert log.total == size
    assert kept <= 1024 * 1024
    assert "bytes left out" in log.text
    assert peak < 200 * 1024 * 1024
    assert database < 80 * 1024 * 1024
    print(f"flood: {log.total:,} bytes in {took:.1f} s, {kept:,} kept; the supervisor's peak "
          f"{peak / 2**20:.0f} MiB, the database with its log {database / 2**20:.1f} MiB")  # fmt: skip


def _peak_memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def clocks(folder: Path, scale: int) -> None:
    """A scheduler process under libfaketime, its clock set while it serves."""
    library = next(Path("/usr/lib").glob("**/libfaketime.so.1"), None)
    if library is None:
        print("clocks: not done, libfaketime is not installed (Debian: faketime)")
        return
    offset = folder / "offset"
    offset.write_text("+0")
    database = f"{folder}/t.db"
    store = Store(database)
    jobs = Jobs(store, clock.now)
    job = jobs.make(schedule=EVERY_MINUTE, dedicated_context=True, settings={"keep_runs": 10_000})
    process = _under(library, offset, database)
    try:
        first = until(lambda: _done(jobs, job.uid), "the first run", 90)
        before = len(jobs.runs(job.uid))
        offset.write_text("-2h")
        time.sleep(75)
        assert len(jobs.runs(job.uid)) == before, "something was repeated"
        offset.write_text("+0")
        until(lambda: len(_done(jobs, job.uid)) > len(first), "a run after the clock is right again", 90)
        back = len(jobs.runs(job.uid))
        offset.write_text("+40d")
        began = time.monotonic()
        until(lambda: _done(jobs, job.uid)[0].scheduled_for > clock.now() + 39 * 24 * 60 * MINUTE, "40 days on", 120)
        noticed = time.monotonic() - began
        time.sleep(5)
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
    print(f"clocks: two hours back repeated nothing in 75 s; 40 days forward, noticed and done in {noticed:.1f} s: "
          f"{dict(stretch)}, told as {new[at - 1].reason!r}")  # fmt: skip


def _under(library: Path, offset: Path, database: str) -> subprocess.Popen:
    """A scheduler process whose clock is off by what a file says."""
    environ = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    argv = [sys.executable, "-m", "tests.soak_scheduler", "--host", database, json.dumps({"command": ["true"]})]
    return subprocess.Popen(argv, cwd=ROOT, env=environ)


def _done(jobs: Jobs, uid: str) -> list:
    return [run for run in jobs.runs(uid) if run.outcome == "success"]


def serve(database: str, table: str) -> None:
    """A scheduler until SIGTERM, for `clocks`."""
    made = runners(**json.loads(table))
    service = SchedulerService(database, lambda: made)
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    service.run()


PARTS = {"many": many, "stubborn": stubborn, "flood": flood, "clocks": clocks}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak_scheduler", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which (all)")
    parser.add_argument("--quick", action="store_true", help="a hundredth of it")
    parser.add_argument("--host", nargs=2, metavar=("DATABASE", "RUNNER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host:
        serve(*options.host)
        return
    for name in options.parts or PARTS:
        # In memory where there is such a place: it is not the disk that is tried here.
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix="soak-scheduler-", dir=place))
        try:
            PARTS[name](folder, 100 if options.quick else 1)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
