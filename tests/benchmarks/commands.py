"""Commands of the shell as whole processes, against Python with Peewee imported."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.figures import Figure, Place

ROUNDS = 30


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark. What is compared runs in turn, and the median of the ratios counts."""
    path = place.folder / "commands.db"
    peewee = ["-c", "import peewee"]
    verbs = {
        "add": ["-m", "tui_tasks", "add", "a task's name"],
        "ls": ["-m", "tui_tasks", "ls"],
        "call": ["-m", "tui_tasks", "call", "tasklist:get_task_in_progress"],
    }
    for command in (peewee, *verbs.values()):
        process(command, path)  # so that what is compiled at first is compiled, and the database is there
    taken: dict[str, list[float]] = {name: [] for name in ("peewee", *verbs)}
    for _ in range(place.times(ROUNDS)):
        taken["peewee"].append(process(peewee, path))
        for name, command in verbs.items():
            taken[name].append(process(command, path))
    base = statistics.median(taken["peewee"])
    for name in verbs:
        ratio = statistics.median(ours / theirs for ours, theirs in zip(taken[name], taken["peewee"], strict=True))
        yield Figure(
            f"`tui-tasks {name}`, the whole process",
            "`python -c 'import peewee'`",
            ratio * base,
            base,
            "ms",
            1.6,
            "lower",
        )


def process(command: list[str], path: Path) -> float:
    """Run Python so; how long it took (ms)."""
    environ = {**os.environ, "TUI_TASKS_DB": str(path)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    at = time.perf_counter()
    subprocess.run([sys.executable, *command], env=environ, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - at) * 1000
