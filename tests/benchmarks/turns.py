"""The longest that one of many writing processes waits, against bare sqlite3 and its own wait for the lock."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks import yardstick
from tests.benchmarks.figures import Figure, Place
from tui_tasks import clock
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Busy
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store

PROCESSES: Final = 16


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    seconds = place.seconds(8.0)
    Store(str(place.folder / "turns.db")).close()
    yardstick.connect(place.folder / "turns-bare.db").close()
    ours = _longest(place.folder / "turns.db", seconds, "ours")
    theirs = _longest(place.folder / "turns-bare.db", seconds, "bare")
    what = f"the longest wait of a write, {PROCESSES} processes that do nothing else"
    yield Figure(what, "the same by bare sqlite3", ours * 1000, theirs * 1000, "ms", 0.5, "lower")


def _longest(path: Path, seconds: float, who: str) -> float:
    """The longest that one of the processes was at one write."""
    command = [sys.executable, "-m", "tests.benchmarks.turns", str(path), str(seconds), who]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    longest = 0.0
    for writer in writers:
        assert writer.stdout is not None
        longest = max(longest, float(writer.stdout.read()))
        writer.wait()
    return longest


def _write(path: Path, seconds: float, who: str) -> None:
    """Write again and again from when the input ends, and print the longest time that one write took."""
    write = _ours(path) if who == "ours" else _bare(path)
    print("ready", flush=True)
    sys.stdin.read()
    longest, end = 0.0, time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        write()
        longest = max(longest, time.monotonic() - began)
    print(longest)


def _ours(path: Path) -> Callable[[], object]:
    store = Store(str(path))
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=clock.now())

    def write() -> None:
        try:
            store.commit(AddTask("a task's name", home.uid), actor="agent", now=clock.now())
        except Busy:
            return

    return write


def _bare(path: Path) -> Callable[[], object]:
    connection = yardstick.connect(path)
    insert = "INSERT INTO one (a, b) VALUES (?, ?)"

    def write() -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return
        for _ in range(3):
            connection.execute(insert, ("a task's name", "what is to be done there"))
        connection.execute("COMMIT")

    return write


if __name__ == "__main__":
    _write(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
