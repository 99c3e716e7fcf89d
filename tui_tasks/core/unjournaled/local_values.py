"""Values that this database keeps by their keys, outside the journal: no replay, undo or other machine has them.

Most are the human's: when they last looked, when all was seen, their saved filters.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database

LOOKED: Final = "looked"
SEEN: Final = "seen"
HIDDEN: Final = "hidden"
UNSEEN: Final = "unseen"
"""The changes before the human last looked that they have not seen (`unseen_changes.UnseenChanges`)."""


class Looked(msgspec.Struct, frozen=True, gc=False):
    """When the human last looked: the journal's newest seq then, and the instant in microseconds, UTC."""

    seq: int
    at: int


def get(db: Database, key: str) -> Any:
    """Return what is kept under a key, or None."""
    value = db.scalar("SELECT value FROM view WHERE key = ?", (key,))
    return msgspec.json.decode(value) if value is not None else None


def put(db: Database, key: str, value: Any) -> None:
    """Keep a JSON value under a key, replacing an earlier one; None keeps nothing.

    Raises:
        StorageFailed: nothing was written.
    """
    with db.transaction(write=True):
        if value is None:
            drop_within(db, key)
        else:
            put_within(db, key, value)


def put_within(db: Database, key: str, value: Any) -> None:
    """Do as `put` does, within the write transaction that is open."""
    drop_within(db, key)
    db.sql("INSERT INTO view (key, value) VALUES (?, ?)", (key, msgspec.json.encode(value).decode()))


def drop_within(db: Database, key: str) -> None:
    """Delete what is kept under a key, within the write transaction that is open."""
    db.sql("DELETE FROM view WHERE key = ?", (key,))


def looked(db: Database) -> Looked | None:
    """Return when the human last looked; None if they never did."""
    stored = get(db, LOOKED)
    return None if stored is None else msgspec.convert(stored, Looked)


def seen_at(db: Database) -> int:
    """Return when the human said last that all was seen, in microseconds; 0 if never."""
    return int(get(db, SEEN) or 0)


_FILTER: Final = "filter:"


def filter_key(name: str) -> str:
    """Return the key under which a filter of that name is kept."""
    return _FILTER + name


def filters(db: Database) -> dict[str, str]:
    """Return the saved filters: the words of each, by name."""
    rows = db.sql("SELECT key, value FROM view WHERE key >= 'filter:' AND key < 'filter;' ORDER BY key").fetchall()
    return {key.removeprefix(_FILTER): msgspec.json.decode(value, type=str) for key, value in rows}
