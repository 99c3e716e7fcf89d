"""Durable writes through `serve`, against a bare loop of sqlite3 transactions of three inserts each."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Final

from tests.benchmarks import yardstick
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.serve import Serve, line, many_in_flight, one_in_flight

# The disk's mood changes by the second, so that both are measured in turn, and the median of the ratios counts.
ROUNDS: Final = 5
FLIGHT: Final = 64


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    serve = Serve(place.folder / "serve.db")
    names = itertools.count(1)
    request = line("tasklist:add_task", name="a task's name %d", description="what is to be done there")

    def add() -> bytes:
        return request % next(names)

    bare, one, many = [], [], []
    seconds = place.seconds(2.0)
    one_in_flight(serve, add, 0.2)
    for _ in range(ROUNDS):
        bare.append(yardstick.durable_commits(place.folder / "bare.db", seconds))
        one.append(one_in_flight(serve, add, seconds))
        many.append(many_in_flight(serve, add, seconds, FLIGHT))
    serve.close()
    loop = statistics.median(rate for rate, _ in bare)
    middle = statistics.median
    what, against = "durable `tasklist:add_task` through `serve`", "a bare transaction of three inserts"
    ratios = [ours / theirs for ours, (theirs, _) in zip(many, bare, strict=True)]
    yield Figure(f"{what}, {FLIGHT} in flight", against, middle(ratios) * loop, loop, "1/s", 3.0, "higher")
    ratios = [ours / theirs for (ours, _), (theirs, _) in zip(one, bare, strict=True)]
    yield Figure(f"{what}, one in flight", against, middle(ratios) * loop, loop, "1/s", 0.5, "higher")
    ours, theirs = ([yardstick.p(took, 99) * 1000 for _, took in each] for each in (one, bare))
    yield Figure("the same: reply latency, p99", f"{against}, p99", middle(ours), middle(theirs), "ms", 3.0, "lower")
