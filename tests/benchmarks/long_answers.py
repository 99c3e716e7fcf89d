"""Pages of answers that are long: plans and agents."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.serve import Serve
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.operations.tasks import CreatePlan
from tui_tasks.core.store import Store

PLANS: Final = 10_000
AGENTS: Final = 1_000
PAGE: Final = 50
ROUNDS: Final = 300


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""

    def plan(transaction: Transaction, number: int) -> None:
        transaction.speak("claude")
        transaction.run(CreatePlan(f"plan {number}", "d" * 60))

    def agent(transaction: Transaction, number: int) -> None:
        transaction.speak(f"claude-{number}")
        transaction.run(CreatePlan(f"plan {number}"))

    for tool, make, many, wanted in (("get_plans", plan, PLANS, 1.2), ("control:agents", agent, AGENTS, 6.0)):
        took = _pages(place, tool, make, (PAGE, many))
        what = f"a page of {PAGE} of `{tool}` of {many:,}"
        yield Figure(what, f"of {PAGE}", took[1], took[0], "ms", wanted, "lower")


def _pages(place: Place, tool: str, make: Callable[[Transaction, int], None], counts: tuple[int, int]) -> list[float]:
    """How long a page takes with so many of them, in turn."""
    sides = [Serve(_filled(place, tool, make, count)) for count in counts]
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(place.times(ROUNDS)):
        for serve, times in zip(sides, taken, strict=True):
            at = time.perf_counter()
            answer: Any = serve.ask(tool, limit=PAGE)
            times.append((time.perf_counter() - at) * 1000)
            assert len(answer["plans"] if tool == "get_plans" else answer) == PAGE
    for serve in sides:
        serve.close()
    return [statistics.median(times) for times in taken]


def _filled(place: Place, tool: str, make: Callable[[Transaction, int], None], count: int) -> Path:
    path = place.folder / f"{tool.replace(':', '-')}-{count}.db"
    with Store(str(path)) as store, store.transaction(time.time_ns() // 1000) as transaction:
        for number in range(count):
            with transaction.change():
                make(transaction, number)
    return path
