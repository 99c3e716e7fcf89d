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
# How many tasks a file has, and how much memory a command may take: in MB.
IN_FILE: Final = 100_000
WANTED: Final = 150.0
# Those of a folder are a file for each task.
WRITTEN: Final = ("jsonl", "markdown", "todo.txt", "taskwarrior", "beads", "csv")
READ: Final = ("jsonl", "markdown", "todo.txt", "taskwarrior", "beads")
# Runs the program, and says at its end how much memory it has had at the most.
_RUN: Final = """
import atexit, sys
file = sys.argv.pop(1)
def say():
    with open("/proc/self/status") as status, open(file, "w") as said:
        said.write(status.read())
atexit.register(say)
from tui_tasks.__main__ import main
main()
"""


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    yield from of_files(place)
    yield from of_listings(place)
    yield of_serve(place)
    yield of_screen(place)


def of_files(place: Place) -> Iterator[Figure]:
    """Of exports and imports, by format."""
    tasks = IN_FILE // 5 if place.quick else IN_FILE
    path = place.filled(tasks)
    for name in WRITTEN:
        file = place.folder / f"file.{name}"
        yield _of_command(f"`export {name}` of {tasks:,} tasks", place, path, "export", name, "-o", str(file))
        if name in READ:
            empty = place.folder / f"import.{name}.db"
            yield _of_command(f"`import {name}` of {tasks:,} tasks", place, empty, "import", name, str(file))
            yield _of_command(f"the same, when all are there: `{name}`", place, empty, "import", name, str(file))


def of_listings(place: Place) -> Iterator[Figure]:
    """Of what goes through many tasks."""
    path = place.filled(place.many)
    yield _of_command(f"`ls` of {place.many:,} tasks", place, path, "ls")
    for name in ("jsonl", "markdown"):
        yield _of_command(f"`export {name}` of {place.many:,} tasks", place, path, "export", name)


def _of_command(what: str, place: Place, path: Path, *command: str) -> Figure:
    said = place.folder / "status"
    options = [command[0], "--db", str(path), *command[1:]]
    subprocess.run([sys.executable, "-c", _RUN, str(said), *options], stdout=subprocess.DEVNULL, check=True)
    return Figure(f"memory of {what}", "150 MB", _megabytes(said.read_text(), "VmHWM"), WANTED, "MB", 1.0, "lower")


def of_serve(place: Place) -> Figure:
    """Of a channel that has been used for a while."""
    serve = Serve(place.folder / "memory.db")
    for begin in range(0, REQUESTS, FLIGHT):
        lines = [line("tasklist:add_task", name=f"task {begin + n}", description="d" * 60) for n in range(FLIGHT)]
        serve.send(b"".join(lines))
        serve.replies(FLIGHT)
    ours = _in_memory(serve.process.pid, "VmRSS")
    serve.close()
    command = [
        sys.executable,
        "-c",
        "import sys; sys.modules['psycopg'] = None; import peewee; print(flush=True); input()",
    ]
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
    return _megabytes(Path(f"/proc/{pid}/status").read_text(), which)


def _megabytes(status: str, which: str) -> float:
    told = re.search(rf"{which}:\s+(\d+) kB", status)
    assert told
    return int(told[1]) / 1024
