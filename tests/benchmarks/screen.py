"""From exec to the last byte of the first full paint."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Final

from tests.benchmarks import painted
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import Painted

ROUNDS: Final = 25


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    few, many = place.filled(1_000), place.filled(place.many)
    took = _in_turn(
        place,
        lambda: painted.minimal(place.folder),
        lambda: painted.ours(few),
        lambda: painted.ours(many),
    )
    what = "exec to first full paint of the screen"
    yield Figure(f"{what}, 1,000 tasks", "a minimal Textual app", took[1], took[0], "ms", 1.3, "lower")
    yield Figure(f"{what}, {place.many:,} tasks", "with 1,000", took[2], took[1], "ms", 1.15, "lower")


def _in_turn(place: Place, *starts: Callable[[], Painted]) -> list[float]:
    """The median of each, the machine's mood being shared; the first round, which writes bytecode, does not count."""
    rounds = [[_start(start) for start in starts] for _ in range(place.times(ROUNDS) + 1)]
    return [statistics.median(each) for each in zip(*rounds[1:], strict=True)]


def _start(start: Callable[[], Painted]) -> float:
    with start() as screen:
        return (screen.stand() - screen.began) * 1000
