"""How long the screen's event loop stands still while a person looks around in many tasks: a heartbeat beside the keys.

A key waits for as long as the loop stands still. The first sight of a pane is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from tests.benchmarks import fill
from tests.benchmarks.figures import Figure, Place, read_through
from tui_tasks.tui.app.app import TaskApp
from tui_tasks.tui.state.database_link import DatabaseLink

# Milliseconds.
WANTED: Final = 100.0
_BEAT: Final = 0.002
# What is looked at: a name, the pane, and the keys, letter by letter.
LOOKS: Final[Sequence[tuple[str, str, Sequence[str]]]] = (
    ("the log of several agents, `who:c`", "log", ("slash", *"who:c")),
    ("a filter of the board, letter by letter", "board", ("slash", *"zebra")),
    ("a filter of the list, letter by letter", "list", ("slash", *"zebra")),
    ("the end of the list, and back", "list", ("end", "home", "end", "home")),
    ("the statistics", "list", ("S",)),
)


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    path = place.filled(place.many)
    read_through(path)
    for name, pane, keys in LOOKS:
        longest = asyncio.run(_longest_stall(path, pane, keys))
        what = f"{name}, at {place.many:,} tasks: the longest that the screen stands still"
        yield Figure(what, "a tenth of a second", longest, WANTED, "ms", 1.0, "lower")


async def _longest_stall(path: Path, pane: str, keys: Sequence[str]) -> float:
    link = DatabaseLink(str(path), read_only=True, clock=lambda: fill.START * 2)
    app = TaskApp(link, zone=ZoneInfo("UTC"), pane=pane)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)
        stalls: list[float] = []
        heart = asyncio.create_task(_beat(stalls))
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await pilot.pause(2.0)
        heart.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heart
    return max(stalls) * 1000


async def _beat(stalls: list[float]) -> None:
    while True:
        at = time.perf_counter()
        await asyncio.sleep(_BEAT)
        stalls.append(time.perf_counter() - at - _BEAT)
