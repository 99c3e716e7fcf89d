"""Applies to a replica what its server has and it lacks."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks import clock
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.commit.shared_entries import apply_entry
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed
from tui_tasks.postgres import companions

_SECOND: Final = 1_000_000
_NAMES: Final = (
    *("seq", "at", "actor", "kind", "entity", "uid", "task"),
    *("change", "undoes", "old", "new", "image", "why"),
)
ENTRY_COLUMNS: Final = f"{', '.join(_NAMES)}, hash"


def apply_news(db: Database, news: Any, ahead: int) -> None:
    """Apply news (`journal_client.News`) within the open write transaction.

    `ahead`: by how much the server's clock is ahead of this machine's, in microseconds.

    Raises:
        StorageFailed: the replica belongs to another history.
    """
    seq, last = journal.head(db)
    for row in news.entries:
        if row[0] <= seq:
            continue
        values = dict(zip(_NAMES, row[:-1], strict=True))
        if row[0] != seq + 1 or (linked := journal.append(db, last, values)) != bytes(row[-1]):
            raise other_history(db.path)
        seq, last = seq + 1, linked
        apply_entry(db, row)
    if not news.is_complete:
        return
    companions.apply(db, news.companions)
    _advance(db, news.head.passed, ahead)


def _advance(db: Database, passed: int, ahead: int) -> None:
    """Let the database's own instant, by which leases end, be no earlier than on other machines."""
    mark, up = database_clock.mark(db), clock.uptime()
    here = 0 if mark is None else mark.passed
    if mark is not None and mark.machine == up.machine:
        here += max(0, up.up - mark.up)
    if passed and (mark is None or here + _SECOND < passed):
        database_clock.put_mark(db, database_clock.Mark(up.machine, up.up, passed, clock.now() + ahead))


def other_history(path: str) -> StorageFailed:
    """Return the error of a replica that does not fit its server."""
    return StorageFailed(
        f"{path} does not fit the server's journal: delete it, and it is built again from the server", retryable=False
    )
