"""How much memory a process has to itself and shares, once it has been used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import painted
from tests.benchmarks.figures import Figure, Place
from tests.benchmarks.painted import Painted


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    with painted.minimal(place.folder) as screen:
        screen.settle(1.0)
        least = _resident(screen)
    with painted.ours(place.filled(place.many)) as screen:
        screen.settle(1.0)
        for key in "\x04" * 20 + "Gg21":
            screen.press(key)
        screen.drain(1.0)
        ours = _resident(screen)
    what = f"memory of the screen at {place.many:,} tasks, after paging, end, home and board"
    yield Figure(what, "a minimal Textual app", ours, least, "MB", 1.6, "lower")


def _resident(screen: Painted) -> float:
    """The most that was in memory, in MB."""
    told = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{screen.process.pid}/status").read_text())
    assert told
    return int(told[1]) / 1024
