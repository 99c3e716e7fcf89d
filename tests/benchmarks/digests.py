"""What happened while the human was away, told from 100,000 entries of the journal."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Final

from tests.benchmarks.figures import Figure, Place, read_through
from tests.benchmarks.fill import START
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, LogTask
from tui_tasks.core.read.digest import digest
from tui_tasks.core.store import Store

ENTRIES: Final = 100_000
ROUNDS: Final = 15
# Milliseconds.
WANTED: Final = 200.0
_GROUP: Final = 200


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark: agents add tasks, log, and report them done or failed."""
    entries = ENTRIES // 10 if place.quick else ENTRIES
    path = place.folder / "digest.db"
    with Store(str(path)) as store:
        fill(store, entries)
        read_through(path)
        took = []
        for _ in range(place.times(ROUNDS)):
            begun = time.perf_counter()
            digest(store.db, 0, START * 2, {})
            took.append((time.perf_counter() - begun) * 1_000)
    what = f"the digest of {entries:,} entries"
    yield Figure(what, "a fifth of a second", statistics.median(took), WANTED, "ms", 1.0, "lower")


def fill(store: Store, entries: int) -> None:
    """Put so many entries, or some more, into the journal: agents add tasks, log, and report them done or failed."""
    home = store.commit(CreatePlan("Plan"), actor="human", now=START)[0]
    while (begin := journal.newest(store.db)) < entries:
        with store.transaction(START + begin) as transaction:
            for number in range(_GROUP):
                with transaction.change():
                    transaction.speak(f"claude-{number % 3}")
                    task = transaction.run(AddTask(f"task {begin} {number}", home.uid, description="words " * 20))
                    transaction.run(EditTask(task.uid, {"status": "in_progress"}))
                    for word in range(4):
                        transaction.run(LogTask(task.uid, f"step {word}"))
                    transaction.run(EditTask(task.uid, {"status": "failed" if number % 20 == 0 else "done"}))
