"""What must cost the same with a journal of ten million entries as with one of ten thousand."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks.figures import Figure, Place, read_through
from tests.benchmarks.fill import GROUP, START
from tests.benchmarks.growth import by_turns
from tests.benchmarks.serve import Serve
from tui_tasks.core.operations import RecordRefusal
from tui_tasks.core.store import Store

SMALL: Final = 10_000
# To each task of the other benchmarks.
TIMES: Final = 10
ROUNDS: Final = 300
PAGE: Final = 50


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark: each is done in both by turns, and the medians are compared."""
    large = place.many * TIMES
    sides = [_Side(place.folder, entries) for entries in (SMALL, large)]
    for what, does, times in _WHAT:
        for side in sides:
            read_through(side.path)
        small, big = by_turns(sides, does, place.times(times))
        said = f"{what}, with {large:,} entries in the journal"
        yield Figure(said, f"with {SMALL:,}", big, small, "ms", 1.2, "lower")
    for side in sides:
        side.serve.close()


class _Side:
    """A `serve` over a journal of so many entries."""

    def __init__(self, folder: Path, entries: int) -> None:
        self.path = folder / f"entries-{entries}.db"
        fill(self.path, entries)
        self._chance = random.Random(5)
        self._entries = entries
        self.serve = Serve(self.path)
        self.serve.ask("control:hello")

    def since(self) -> None:
        first = self._chance.randrange(self._entries - PAGE)
        found = self.serve.ask("control:history", since=first, limit=PAGE)["entries"]
        assert [entry["seq"] for entry in found] == list(range(first + 1, first + 1 + PAGE))

    def newest(self) -> None:
        assert len(self.serve.ask("control:history", limit=PAGE)["entries"]) == PAGE

    def write(self) -> None:
        self.serve.ask("tasklist:add_task", name="one more")

    def start(self) -> None:
        serve = Serve(self.path)
        serve.ask("control:hello")
        serve.close()


_WHAT: Final[tuple[tuple[str, Callable[[_Side], None], int], ...]] = (
    (f"`control:history` of {PAGE} entries from anywhere", _Side.since, ROUNDS),
    (f"the newest {PAGE} entries", _Side.newest, ROUNDS),
    ("a new task", _Side.write, ROUNDS),
    ("the start of `serve`, to its first reply", _Side.start, 20),
)


def fill(path: Path, entries: int) -> None:
    """Put so many entries into the journal, each of its own change."""
    with Store(str(path)) as store:
        for begin in range(0, entries, GROUP):
            with store.transaction(START + begin) as transaction:
                for number in range(begin, min(begin + GROUP, entries)):
                    with transaction.change():
                        transaction.speak(f"claude-{number % 3}")
                        transaction.run(RecordRefusal("control:pause", f"only the human may ({number})"))
