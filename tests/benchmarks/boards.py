"""A board of five columns, short and long: its start, and the cursor."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks import fill, painted, yardstick
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import FRAME, Painted
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.store import Store

SHORT, LONG = 20, 2_000
ROUNDS: Final = 15
SAMPLES: Final = 500
STATUSES: Final = ("pending", "in_progress", "failed", "done")


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    short, long = (_filled(place, cards) for cards in (SHORT, LONG))
    took: list[list[float]] = [[], []]
    for _ in range(place.times(ROUNDS) + 1):
        for db, each in zip((short, long), took, strict=True):
            with _shown(db) as screen:
                each.append((screen.stand() - screen.began) * 1000)
    few, many = (statistics.median(each[1:]) for each in took)
    board = f"a board of 5 columns with {LONG:,} cards each"
    yield Figure(f"{board}: exec to full paint", f"with {SHORT} each", many, few, "ms", 1.1, "lower")
    with _shown(long) as screen:
        screen.stand(1.0)
        # The cursor begins on the task in progress, which is the last of its column.
        screen.press("h")
        keys = itertools.cycle(["j"] * 15 + ["k"] * 15)
        presses = [screen.press(next(keys)) for _ in range(place.times(SAMPLES))]
    what = f"{board}: cursor down and up, key to last byte"
    yield Figure(f"{what}, p50", "a frame", statistics.median(presses), FRAME, "ms", 1.0, "lower")
    yield Figure(f"{what}, p99", "a frame", yardstick.p(presses, 99), FRAME, "ms", 2.0, "lower")


def _shown(db: Path) -> Painted:
    return painted.ours(db, "watch", "--pane", "board")


def _filled(place: Place, cards: int) -> Path:
    """A database whose list has so many cards for each column; those of one need the human."""
    path = place.folder / f"board-{cards}.db"
    with Store(str(path)) as store, store.transaction(fill.START) as transaction, transaction.change():
        transaction.speak("claude-1")
        for number in range(cards):
            for status in STATUSES:
                transaction.run(AddTask(f"{status} card {number}", _list_of(store), status=status))
            asked = transaction.run(AddTask(f"asked card {number}", _list_of(store)))
            transaction.run(OpenAsk("which one?", task_uid=asked.uid))
    return path


def _list_of(store: Store) -> str:
    from tui_tasks.core.read.tasks import task_queries

    home = task_queries.find_list(store.db, "task")
    assert home is not None
    return home.uid
