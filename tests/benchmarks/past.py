"""Time travel over a journal of a million entries: how long the first view takes, and a step."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from tests.benchmarks import painted
from tests.benchmarks.digests import fill
from tests.benchmarks.figures import Figure, Place, read_through
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store

ROUNDS: Final = 60
# Seconds for a million entries; milliseconds.
WANTED_FIRST: Final = 20.0
WANTED_STEP: Final = 50.0


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark: nine tenths of the journal are replayed; then keys go back and on, a change at a time."""
    path = place.folder / "past.db"
    with Store(str(path)) as store:
        fill(store, place.many)
        entries = journal.newest(store.db) * 9 // 10
    read_through(path)
    with painted.ours(path, "watch", "--at", str(entries)) as screen:
        first = screen.stand() - screen.began
        took = [screen.press(key) for _ in range(place.times(ROUNDS)) for key in "<>"]
    yield Figure(
        f"exec to the state after {entries:,} entries, replayed",
        "20 s a million",
        first,
        WANTED_FIRST * max(entries / 1_000_000, 0.1),
        "s",
        1.0,
        "lower",
    )
    step = statistics.median(took)
    yield Figure("a step back or on from there, painted, p50", "50 ms", step, WANTED_STEP, "ms", 1.0, "lower")
