"""What others write while the screen is shown: how soon it is painted, how keys fare meanwhile; and an idle screen."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks import painted, yardstick
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import FRAME, Painted
from tests.benchmarks.serve import Serve
from tests.benchmarks.writer import LAST
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store

SAMPLES: Final = 500
RATE: Final = 500
# A row with the cursor, painted from its first cell on.
_CURSOR: Final = re.compile(rb"\x1b\[\d+;1H(?:\x1b\[[0-9;]*m)*>")
_LETTERS: Final = ("bcdfghjk", "lmnpqrst")


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    few, many = (_copied(place, tasks) for tasks in (1_000, place.many))
    took = list(_commits(place, few))
    what = "a commit in one process, painted in another"
    yield Figure(f"{what}, p99", "a frame", yardstick.p(took, 99), FRAME, "ms", 1.0, "lower")
    yield _events(place, _copied(place, 1_000, "events"))
    for db, tasks in ((few, 1_000), (many, place.many)):
        yield from _storm(place, db, f"{tasks:,} tasks")
    # Untouched: what was written a moment ago has an age that ticks.
    yield from _idle(place, _copied(place, 1_000, "idle"))


def _copied(place: Place, tasks: int, name: str = "live") -> Path:
    copy = place.folder / f"{name}-{tasks}.db"
    shutil.copyfile(place.filled(tasks), copy)
    # A screen would warn, for a while, of a file that others can read.
    copy.chmod(0o600)
    return copy


def _commits(place: Place, db: Path) -> Iterator[float]:
    """The milliseconds from a durable commit until what it says is painted elsewhere."""
    chance = random.Random(1)
    with painted.ours(db, "--no-scheduler") as screen, Store(str(db)) as store:
        screen.stand(1.0)
        uids = painted.first_tasks(store, 20)
        for number in range(place.times(SAMPLES)):
            screen.drain(chance.uniform(0.05, 0.15))
            # In turn of other letters, as cells that stay the same are not painted.
            name = "".join(chance.choices(_LETTERS[number // len(uids) % 2], k=20))
            store.commit(EditTask(uids[number % len(uids)], {"name": name}), actor="writer", now=time.time_ns() // 1000)
            begin = time.perf_counter()
            yield (screen.wait_for(name.encode()) - begin) * 1000


def _events(place: Place, db: Path) -> Figure:
    """What it costs an agent's channel that another process writes, one commit after the other."""
    serve, rounds = Serve(db), []
    serve.ask("control:subscribe")
    with Store(str(db)) as store:
        (uid,) = painted.first_tasks(store, 1)
        for turn in range(8):
            here, there = time.process_time(), _processor(serve.process.pid)
            for number in range(times := place.times(200)):
                edit = EditTask(uid, {"name": f"turn {turn}, number {number}"})
                store.commit(edit, actor="writer", now=time.time_ns() // 1000)
                assert b'"event"' in serve.replies(1)
            used = _processor(serve.process.pid) - there
            rounds.append((used / times, (time.process_time() - here) / times))
    serve.close()
    ours, theirs = (min(side) * 1000 for side in zip(*rounds, strict=True))
    what = "processor time of an event to a subscriber in another process, best of 8 rounds"
    return Figure(what, "its write", ours, theirs, "ms", 1.0, "lower")


def _processor(pid: int) -> float:
    """The seconds of processor that the threads of a process have used, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _storm(place: Place, db: Path, tasks: str) -> Iterator[Figure]:
    """Keys while another process writes all the time, against keys while nobody does."""
    with painted.ours(db, "--no-scheduler") as screen:
        screen.stand(1.0)
        quiet = keys_took(screen, place.times(SAMPLES))
        with _writer(db) as writer:
            screen.drain(0.5)
            busy = keys_took(screen, place.times(SAMPLES))
            screen.type("g")
            screen.drain(0.3)
            assert writer.stdin is not None
            writer.stdin.close()
            seen = screen.wait_for(LAST.encode())
            assert writer.stdout is not None
            ended, rate = map(float, writer.stdout.read().split())
    what = f"a key with {rate:.0f} durable changes a second coming in, {tasks}"
    middle = statistics.median
    yield Figure(f"{what}, p50", "with nothing coming in", middle(busy), middle(quiet), "ms", 1.5, "lower")
    late = (seen - ended) * 1000
    yield Figure(f"the last of these on the screen, {tasks}", "100 ms", late, 100, "ms", 1.0, "lower")


def keys_took(screen: Painted, times: int) -> list[float]:
    """The milliseconds from a key until the cursor is on another row, up and down between two rows."""
    took = []
    for number in range(times):
        begin = screen.type("jk"[number % 2])
        took.append((screen.wait_for(_CURSOR) - begin) * 1000)
        screen.drain(0.02)
    return took


@contextlib.contextmanager
def _writer(db: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.benchmarks.writer", str(db), str(RATE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        yield writer


def _idle(place: Place, db: Path) -> Iterator[Figure]:
    """A screen on which nothing changes."""
    with painted.ours(db) as screen:
        screen.stand(2.0)
        seconds, before = place.seconds(60), _cpu(screen)
        written = screen.drain(seconds)
        used = _cpu(screen) - before
    yield Figure("an idle screen: processor time", "the time that went by", used, seconds, "s", 0.003, "lower")
    yield Figure("an idle screen: written to the terminal", "one byte", written, 1, "B", 0, "lower")


def _cpu(screen: Painted) -> float:
    """The seconds of processor that the program has used."""
    fields = Path(f"/proc/{screen.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
