"""How long the screen's event loop stands still while a person looks around in many tasks: a heartbeat beside the keys.

A key waits for as long as the loop stands still. The first sight of a pane is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Final

from tests.benchmarks import fill
from tests.benchmarks.figures import Figure, Place, read_through
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.tasks import LogTask
from tui_tasks.core.store import Store
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.state.database_link import DatabaseLink
from tui_tasks.tui.state.past_link import PastLink

# Milliseconds.
WANTED: Final = 100.0
_BEAT: Final = 0.002
# What is looked at: a name, the pane, and the keys, letter by letter.
LOOKS: Final[Sequence[tuple[str, str, Sequence[str]]]] = (
    ("the log of several agents, `who:c`", "log", ("slash", *"who:c")),
    ("the log with a word, letter by letter", "log", ("slash", *"part", "space", *"77")),
    ("the ends of the log", "log", ("end", "home", "end", "home")),
    ("a filter of the board, letter by letter", "board", ("slash", *"zebra")),
    ("a filter of the board that many cards match", "board", ("slash", *"auth")),
    ("a filter of the list, letter by letter", "list", ("slash", *"zebra")),
    ("the end of the list, and back", "list", ("end", "home", "end", "home")),
    ("the list in every order, `=`", "list", [key for order in "udago" for key in ("equals_sign", order)]),
    ("the search in all lists, letter by letter", "list", ("ctrl+f", *"auth")),
    ("the palette, letter by letter", "list", ("colon", *"new")),
    ("the inbox", "list", ("a", "end")),
    ("the agents", "list", ("A", "end")),
    ("the digest", "list", ("D",)),
    ("the statistics", "list", ("S",)),
)
# Entries about tasks beside their creation, for each ten tasks.
LOGGED: Final = 16
_GROUP: Final = 2_000


def measure(place: Place) -> Iterator[Figure]:
    """As a benchmark."""
    path = place.folder / "stalls.db"
    entries = _fill(place.filled(place.many), path)
    read_through(path)
    for name, pane, keys in LOOKS:
        longest = asyncio.run(_longest_stall(_app(path, pane), keys))
        yield _figure(name, place, entries, longest)
    link = PastLink(str(path), str(entries - 100), clock=_now)
    longest = asyncio.run(_longest_stall(TaskApp(link, zone=UTC), (*"<<<>>>", *"{}")))
    yield _figure("steps of time travel", place, entries, longest)


def _figure(name: str, place: Place, entries: int, longest: float) -> Figure:
    what = f"{name}, at {place.many:,} tasks and {entries:,} entries: the longest that the screen stands still"
    return Figure(what, "a tenth of a second", longest, WANTED, "ms", 1.0, "lower")


def _fill(filled: Path, path: Path) -> int:
    """Copy a database of many tasks, and have agents log on them; return how many entries there are."""
    shutil.copy(filled, path)
    with Store(str(path)) as store:
        uids = [uid for (uid,) in store.db.sql("SELECT uid FROM task ORDER BY id").fetchall()]
        for begin in range(0, len(uids) * LOGGED // 10, _GROUP):
            with store.transaction(fill.START + 1_000_000_000 + begin * 1_000) as transaction:
                for number in range(begin, begin + _GROUP):
                    with transaction.change():
                        transaction.speak(f"claude-{number % 7}")
                        transaction.run(LogTask(uids[number * 7919 % len(uids)], f"done with part {number}"))
        return journal.newest(store.db)


def _now() -> int:
    return fill.START * 2


def _app(path: Path, pane: str) -> TaskApp:
    return TaskApp(DatabaseLink(str(path), read_only=True, clock=_now), zone=UTC, pane=pane)


async def _longest_stall(app: TaskApp, keys: Sequence[str]) -> float:
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
