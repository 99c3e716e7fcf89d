"""What must cost the same in a list of a million tasks, with a journal of as many entries, as in one of a thousand."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tests.benchmarks.figures import Figure, Place, read_through
from tests.benchmarks.serve import Serve, line
from tests.contract.client import terminal_input
from tui_tasks.core.engine.driver import connect

S = TypeVar("S")

SMALL: Final = 1_000
ROUNDS: Final = 150
PAGE: Final = 50
CLEARED: Final = 150_000


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark: each is done in both by turns, and the medians are compared."""
    large = place.many
    sides = [_Side(place, tasks) for tasks in (SMALL, large)]
    for what, does in _WHAT.items():
        for side in sides:
            read_through(side.path)
        small, big = by_turns(sides, does, place.times(ROUNDS))
        yield _figure(what, big, small, large)
    for side in sides:
        side.serve.close()
    small, big = by_turns(sides, _Side.start, place.times(20))
    yield _figure("the start of `serve`, to its first reply", big, small, large)
    yield from _beside_clearing(place)
    yield _beside_compaction(sides[1].path, large)


def _beside_clearing(place: Place) -> Iterator[Figure]:
    """The longest wait of another agent's write while a long list is cleared, and while that is taken back."""
    tasks = min(CLEARED, place.many)
    path = place.folder / "cleared.db"
    shutil.copy(place.filled(tasks), path)
    clearing, writing = Serve(path, "--list", "task"), Serve(path, "--agent", "writing")
    for what, tool in (("cleared", "tasklist:clear"), ("brought back by an undo", "control:undo")):
        clearing.send(line(tool))
        took = []
        while not clearing.has_spoken():
            at = time.perf_counter()
            writing.ask("tasklist:add_task", name="meanwhile")
            took.append((time.perf_counter() - at) * 1000)
        clearing.replies(1)
        said = f"the longest of {len(took):,} writes while {tasks:,} tasks are {what}"
        yield Figure(said, "half a second", max(took), 500.0, "ms", 1.0, "lower")
    clearing.close()
    writing.close()


def _beside_compaction(path: Path, large: int) -> Figure:
    serve = Serve(path)
    took = []
    command = [sys.executable, "-m", "tui_tasks", "compact", "--before", "0d", "--yes", "--db", str(path)]
    with terminal_input() as terminal:
        compacting = subprocess.Popen(command, stdin=terminal, stdout=subprocess.DEVNULL)
        while compacting.poll() is None:
            at = time.perf_counter()
            serve.ask("tasklist:add_task", name="meanwhile")
            took.append((time.perf_counter() - at) * 1000)
    assert compacting.returncode == 0
    serve.close()
    what = f"the longest of {len(took):,} new tasks while {large:,} tasks' whole journal is compacted"
    return Figure(what, "a tenth of a second", max(took), 100.0, "ms", 1.0, "lower")


def _figure(what: str, big: float, small: float, large: int) -> Figure:
    against = f"with {SMALL:,} tasks and entries"
    return Figure(f"{what}, with {large:,} tasks and entries", against, big, small, "ms", 1.2, "lower")


class _Side:
    """A `serve` over a list of so many tasks."""

    def __init__(self, place: Place, tasks: int) -> None:
        self.path = place.folder / f"grown-{tasks}.db"
        shutil.copy(place.filled(tasks), self.path)
        self._chance = random.Random(7)
        some = _some_tasks(self.path, self._chance)
        self.uids = [uid for uid, _ in some]
        # The last word of a name is a number.
        self.words = [f" {name.rpartition(' ')[2]}" for _, name in some]
        self.serve = Serve(self.path)
        self.newest = tasks
        self.serve.ask("control:hello")

    def one(self) -> str:
        return self._chance.choice(self.uids)

    def insert(self) -> None:
        self.serve.ask("tasklist:add_task_after", uid=self.one(), name="between", description="two others")

    def swap(self) -> None:
        one, other = self._chance.sample(self.uids, 2)
        self.serve.ask("tasklist:swap_tasks", uid1=one, uid2=other)

    def status(self) -> None:
        uid = self.one()
        self.serve.ask("tasklist:set_task_done", uid=uid)
        self.serve.ask("tasklist:set_task_pending", uid=uid)

    def page(self) -> None:
        assert len(self.serve.ask("task", action="list", limit=PAGE)["structuredContent"]["tasks"]) == PAGE

    def reads(self) -> None:
        self.serve.send(b"".join(line("tasklist:get_task", uid=self.one()) for _ in range(PAGE)))
        assert self.serve.replies(PAGE).count(b'"ok":true') == PAGE

    def claim(self) -> None:
        taken = self.serve.ask("control:claim", list="task")
        self.serve.ask("control:release", claim=taken["claim"])

    def search(self) -> None:
        self.serve.ask("task", action="list", query=self._chance.choice(self.words), limit=20)

    def history(self) -> None:
        self.serve.ask("control:history", since=self._chance.randrange(self.newest - PAGE), limit=PAGE)
        self.serve.ask("control:history", limit=PAGE)

    def of_task(self) -> None:
        self.serve.ask("control:history", since=0, task=self.one(), limit=PAGE)

    def start(self) -> None:
        serve = Serve(self.path)
        serve.ask("control:task", uid=self.one())
        serve.close()


_WHAT: Final[dict[str, Callable[[_Side], None]]] = {
    "an insert in the middle": _Side.insert,
    "a swap": _Side.swap,
    "two changes of a status": _Side.status,
    f"a page of {PAGE} tasks": _Side.page,
    f"{PAGE} reads by uid, from anywhere": _Side.reads,
    "a claim of the next task, and its release": _Side.claim,
    "`task` `list` of those that say a rare word": _Side.search,
    f"two pages of {PAGE} of `control:history`": _Side.history,
    "`control:history` of one task": _Side.of_task,
}


def _some_tasks(path: Path, chance: random.Random) -> list[tuple[str, str]]:
    """Uid and name of some tasks from anywhere in the list."""
    connection = connect(path)
    (newest,) = connection.execute("SELECT max(id) FROM task").fetchone()
    ids = sorted(chance.sample(range(1, newest + 1), 400))
    found = connection.execute(f"SELECT uid, name FROM task WHERE id IN ({', '.join(map(str, ids))})").fetchall()
    connection.close()
    return list(found)


def by_turns(sides: Sequence[S], does: Callable[[S], None], times: int) -> list[float]:
    """How long it takes on each side (ms), the first some of which warm up what is read from the disk once."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(times + times // 5):
        for side, took in zip(sides, taken, strict=True):
            at = time.perf_counter()
            does(side)
            if number >= times // 5:
                took.append((time.perf_counter() - at) * 1000)
    return [statistics.median(took) for took in taken]
