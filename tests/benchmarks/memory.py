"""How much memory a process has, once it has been used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks import painted
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.serve import Serve, line

REQUESTS: Final = 10_000
FLIGHT: Final = 50


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    yield of_serve(place)
    yield of_screen(place)


def of_serve(place: Place) -> Figure:
    """Of a channel that has been used for a while."""
    serve = Serve(place.folder / "memory.db")
    for begin in range(0, REQUESTS, FLIGHT):
        lines = [line("tasklist:add_task", name=f"task {begin + n}", description="d" * 60) for n in range(FLIGHT)]
        serve.send(b"".join(lines))
        serve.replies(FLIGHT)
    ours = _in_memory(serve.process.pid, "VmRSS")
    serve.close()
    command = [sys.executable, "-c", "import peewee; print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as least:
        assert least.stdout is not None
        least.stdout.readline()
        peewee = _in_memory(least.pid, "VmRSS")
        least.communicate(b"\n")
    what = f"memory of `serve --no-scheduler` after {REQUESTS:,} requests"
    return Figure(what, "Python with Peewee imported", ours, peewee, "MB", 1.5, "lower")


def of_screen(place: Place) -> Figure:
    """Of the screen."""
    with painted.minimal(place.folder) as screen:
        screen.stand(1.0)
        least = _in_memory(screen.process.pid, "VmHWM")
    with painted.ours(place.filled(place.many)) as screen:
        screen.stand(1.0)
        for key in "\x04" * 20 + "Gg21":
            screen.type(key)
            screen.drain(0.1)
        screen.drain(1.0)
        ours = _in_memory(screen.process.pid, "VmHWM")
    what = f"memory of the screen at {place.many:,} tasks, after paging, end, home and board"
    return Figure(what, "a minimal Textual app", ours, least, "MB", 1.6, "lower")


def _in_memory(pid: int, which: str) -> float:
    """What a process has in memory (`VmRSS`), or has had at the most (`VmHWM`), in MB."""
    told = re.search(rf"{which}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert told
    return int(told[1]) / 1024
