"""Commands of the shell as whole processes, against Python with Peewee imported."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Figure, Place
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store

ROUNDS = 30
EXPORTED = 10_000
# Peewee imports psycopg where that is installed, which takes twice as long again.
_PEEWEE = "import sys; sys.modules['psycopg'] = None; import peewee"
# As argcomplete's script runs the program: without arguments, and with descriptor 8 for the words.
_TAB = """
import os, sys
os.dup2(os.open(sys.argv.pop(), os.O_WRONLY | os.O_CREAT, 0o600), 8)
from tui_tasks.__main__ import main
main()
"""


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark. What is compared runs in turn, and the median of the ratios counts."""
    path = place.folder / "commands.db"
    peewee = ["-c", _PEEWEE]
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
    yield _tab(place, path)
    yield from _against_taskwarrior(place)


def _tab(place: Place, path: Path) -> Figure:
    """What a shell waits for that completes a task, the shell itself apart."""
    line = "tui-tasks done "
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
    words = str(path.with_name("words"))
    peewee, tab = ["-c", _PEEWEE], ["-c", _TAB, words]
    process(tab, path, **asked)
    base, ratios = [], []
    for _ in range(place.times(ROUNDS)):
        base.append(process(peewee, path))
        ratios.append(process(tab, path, **asked) / base[-1])
    middle = statistics.median
    what = "Tab after `tui-tasks done`, the whole process"
    return Figure(what, "`python -c 'import peewee'`", middle(ratios) * middle(base), middle(base), "ms", 0.9, "lower")


def _against_taskwarrior(place: Place) -> Iterator[Figure]:
    """Debian's taskwarrior (`apt-get install taskwarrior`), with tasks of the same names and descriptions."""
    if shutil.which("task") is None:
        print("`ls --json` is left out: taskwarrior is not installed", file=sys.stderr)
        return
    ours = place.filled(EXPORTED)
    home = place.folder / "taskwarrior"
    home.mkdir()
    environ = taskwarrior(home, ours)
    ratios, base = [], []
    for _ in range(place.times(10)):
        at = time.perf_counter()
        told = subprocess.run(["task", "export"], env=environ, check=True, stdout=subprocess.PIPE).stdout
        base.append((time.perf_counter() - at) * 1000)
        ratios.append(process(["-m", "tui_tasks", "ls", "--json"], ours) / base[-1])
    assert len(json.loads(told)) == EXPORTED
    middle = statistics.median
    what = f"`tui-tasks ls --json` of {EXPORTED:,} tasks, the whole process"
    yield Figure(what, "`task export` of the same", middle(ratios) * middle(base), middle(base), "ms", 0.5, "lower")


def tasks_of(path: Path) -> list[Task]:
    """Every task of a database."""
    with Store(str(path), read_only=True) as store:
        return [task for each in task_queries.lists(store.db) for task in task_queries.tasks(store.db, each.id)]


def taskwarrior(home: Path, ours: Path) -> dict[str, str]:
    """Give taskwarrior the tasks of a database; return the environment to run it in."""
    (home / "rc").write_text("confirmation=no\nverbose=nothing\n")
    environ = {**os.environ, "TASKRC": str(home / "rc"), "TASKDATA": str(home)}
    theirs = json.dumps([_as_taskwarrior(task) for task in tasks_of(ours)])
    subprocess.run(["task", "import", "-"], env=environ, input=theirs, text=True, check=True, capture_output=True)
    return environ


def _as_taskwarrior(task: Task) -> dict[str, Any]:
    made = {
        "uuid": task.uid,
        "status": {"pending": "pending", "in_progress": "pending", "done": "completed"}.get(task.status, "deleted"),
        "description": task.name,
        "entry": _instant(task.created_at),
        "modified": _instant(task.updated_at),
        "priority": "HHML"[min(task.priority, 4) - 1],
        "annotations": [{"entry": _instant(task.created_at), "description": task.description}],
    }
    return made if made["status"] == "pending" else made | {"end": _instant(task.finished_at or task.updated_at)}


def _instant(microseconds: int) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(microseconds // 1_000_000))


def process(command: list[str], path: Path, **more: str) -> float:
    """Run Python so; how long it took (ms)."""
    environ = {**os.environ, "TUI_TASKS_DB": str(path), **more}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    at = time.perf_counter()
    subprocess.run([sys.executable, *command], env=environ, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - at) * 1000
