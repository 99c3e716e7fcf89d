"""Runs a compaction in steps, so that agents can write while half a million entries are dropped."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.journal import compaction, copying
from tui_tasks.core.journal.compaction import AT_ONCE
from tui_tasks.core.operations.changes import CompactJournal
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN

# Longer than the interval at which processes retry to take the write lock.
_ROOM_SECONDS: Final = 0.003


def compacting(store: Store, before: int, now: int, most: int = AT_ONCE) -> Generator[None, None, int]:
    """Drop the journal's entries from before an instant (microseconds since the epoch), pausing after each step.

    Return how many were dropped, with those that an interrupted compaction left. `most`: entries or rows written in one
    step.

    Raises:
        Refusal: nothing was dropped.
    """
    with copying.early_checkpoints(store.db):
        return (yield from _steps(store, before, now, most))


def _steps(store: Store, before: int, now: int, most: int) -> Generator[None, None, int]:
    db = store.db
    dropped = yield from _drop(db, most)
    try:
        with db.transaction(write=False):
            compaction.old_entries(db, compaction.last_old(db, before, now))
    except Conflict:
        yield from _clear(db, most, breaks_off=False)
        if not dropped:
            raise
        return dropped
    yield from _clear(db, most, breaks_off=True)
    with copying.aside(db):
        tables = copying.set_aside(db)
        yield
        copy = yield from copying.copy(db, tables, most)
    # Verify the copied database: another file may have replaced it since.
    last = compaction.last_old(db, before, now)
    (count,) = store.commit(CompactJournal(before, last, copy), actor=HUMAN, now=now)
    yield
    yield from _drop(db, most)
    yield from _clear(db, most, breaks_off=False)
    return dropped + int(count)


def _drop(db: Database, most: int) -> Generator[None, None, int]:
    """Delete the dropped entries; return how many."""
    total = 0
    while count := compaction.drop_some(db, most):
        total += count
        yield
    return total


def _clear(db: Database, most: int, *, breaks_off: bool) -> Generator[None, None, None]:
    """Delete the copies that no compaction uses."""
    while compaction.clear_some(db, most, breaks_off=breaks_off):
        yield


def compact(store: Store, before: int, now: int) -> int:
    """Run the steps until nothing is left, letting others write in between; return how many entries were dropped.

    Raises:
        Refusal: nothing was dropped.
    """
    steps = compacting(store, before, now)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return int(ended.value)
        time.sleep(_ROOM_SECONDS)
