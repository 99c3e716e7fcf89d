"""Other programs that do the like, where they are installed: their start on a terminal, their list as a process.

taskwarrior comes from Debian, dooit and kanban-tui from PyPI, Backlog.md from npm: those on the PATH are measured.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks import commands, painted
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import Painted

TASKS: Final = 1_000
# Those with a screen start with nothing in them, ours with so many tasks.
SCREENS: Final = {"dooit": "dooit", "kanban-tui": "kanban-tui"}


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark. What is not installed is left out, with a word."""
    filled = place.filled(TASKS)
    home = place.folder / "peers"
    home.mkdir()
    for name, program in SCREENS.items():
        if _is_there(program):
            took = _by_turns(place, lambda: _paint(painted.ours(filled)), lambda p=program: _paint(_at_home(p, home)))
            what = f"exec to first full paint, {TASKS:,} tasks"
            yield Figure(what, f"{name} with none", *took, "ms", 1.0, "lower")
    for name, program, prepare in (("taskwarrior", "task", _taskwarrior), ("Backlog.md", "backlog", _backlog)):
        if _is_there(program):
            lists = prepare(home, filled)
            took = _by_turns(place, lambda: commands.process(["-m", "tui_tasks", "ls"], filled), lists)
            yield Figure(f"`tui-tasks ls` of {TASKS:,} tasks, the whole process", name, *took, "ms", 1.0, "lower")


def _is_there(program: str) -> bool:
    found = shutil.which(program) is not None
    if not found:
        print(f"{program} is left out: it is not installed", file=sys.stderr)
    return found


def _by_turns(place: Place, *each: Callable[[], float]) -> list[float]:
    """The median of each; the first round, which makes what is made once, does not count."""
    rounds = [[does() for does in each] for _ in range(place.times(10) + 1)]
    return [statistics.median(took) for took in zip(*rounds[1:], strict=True)]


def _paint(screen: Painted) -> float:
    with screen:
        return (screen.settle(0.4) - screen.began) * 1000


def _at_home(program: str, home: Path) -> Painted:
    return Painted(["env", *(f"{name}={home}" for name in _HOMES), program], home)


_HOMES: Final = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def _run(command: Sequence[str], folder: Path, environ: dict[str, str]) -> float:
    at = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - at) * 1000


def _taskwarrior(home: Path, filled: Path) -> Callable[[], float]:
    environ = commands.taskwarrior(home, filled)
    return lambda: _run(["task", "rc.detection=off", "list"], home, environ)


def _backlog(home: Path, filled: Path) -> Callable[[], float]:
    """A folder of Markdown files, one a task, as Backlog.md writes them."""
    environ = {**os.environ, **dict.fromkeys(_HOMES, str(home))}
    folder = home / "backlog-md"
    folder.mkdir()
    _run(["git", "init", "-q"], folder, environ)
    _run(["backlog", "init", "tasks", "--defaults"], folder, environ)
    for number, task in enumerate(commands.tasks_of(filled), 1):
        (folder / "backlog" / "tasks" / f"task-{number} - {task.name.replace(' ', '-')}.md").write_text(
            f"---\nid: TASK-{number}\ntitle: {task.name}\nstatus: To Do\nassignee: []\n"
            f"created_date: '2026-01-02 11:22'\nlabels: []\ndependencies: []\nordinal: {number}000\n---\n\n"
            f"## Description\n\n{task.description}\n"
        )
    return lambda: _run(["backlog", "task", "list", "--plain"], folder, environ)
