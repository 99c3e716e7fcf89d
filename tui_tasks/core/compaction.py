"""Dropping old entries of the journal, when the human asks for it (contract, section 3, `cursor_expired`).

What is dropped is gone for history, events and undo. What stays can still be proved: an entry of the journal itself
tells which was the last to go, and its hash (`Base`), and the tables are kept as they were then, so that with the
entries since they can be made again. Nothing of this is in a database that was never compacted.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from tui_tasks.core.database import Database
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.models import STATE

_DAY: Final = 24 * 3600 * 1_000_000
_DAYS: Final = {"d": 1, "w": 7}
# Others wait while so many entries are deleted.
AT_ONCE: Final = 5_000


def instant(text: str, now: int) -> int:
    """The instant (microseconds, UTC) that a person means: `90d`, `12w`, or a date, with or without a time.

    Raises:
        InvalidArgument: it is none of these, or not past.
    """
    if age := re.fullmatch(r"(\d{1,5})([dw])", text):
        return now - int(age[1]) * _DAYS[age[2]] * _DAY
    try:
        meant = int(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument("before", f"{text} is no age like 90d or 12w, and no date like 2026-01-31") from None
    if meant > now:
        raise InvalidArgument("before", f"{text} is not past yet")
    return meant


class Base(NamedTuple):
    """Where a journal begins that was compacted.

    `seq` is that of the entry that tells of it, the tables were kept as they were then; `last` is that of the last
    entry that was dropped, `hash` its hash.
    """

    seq: int
    last: int
    hash: bytes


def base(db: Database) -> Base | None:
    """Where the journal begins; None where it was never compacted."""
    if not db.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'base'"):
        return None
    seq, last, hashed = db.sql("SELECT seq, last, hash FROM base").fetchone()
    return Base(seq, last, bytes(hashed))


def first_since(db: Database, at: int) -> int:
    """The number of the first entry that was made at an instant or later, or that of the next entry there will be.

    The one before it and it belong to different requests.
    """
    low, newest = db.sql("SELECT min(seq), max(seq) FROM journal").fetchone()
    if low is None:
        return 1
    high = newest + 1
    while low < high:
        middle = (low + high) // 2
        (made,) = db.sql("SELECT at FROM journal WHERE seq = ?", (middle,)).fetchone()
        low, high = (middle + 1, high) if made < at else (low, middle)
    change = db.sql("SELECT change FROM journal WHERE seq = ?", (low,)).fetchone()
    return int(change[0]) if change else int(low)


def keep_base(db: Database, found: Base) -> None:
    """Keep the tables as they are now, within the transaction that has written the entry which tells of it."""
    for table in STATE:
        db.sql(f"DROP TABLE IF EXISTS base_{table}")
        db.sql(f"CREATE TABLE base_{table} AS SELECT * FROM {table}")
    db.sql("DROP TABLE IF EXISTS base")
    db.sql("CREATE TABLE base (seq INTEGER NOT NULL, last INTEGER NOT NULL, hash BLOB NOT NULL)")
    db.sql("INSERT INTO base VALUES (?, ?, ?)", found)


def drop_some(db: Database, most: int = AT_ONCE) -> bool:
    """Delete the oldest entries of those that are to go, in a transaction of its own; return whether there are more.

    Raises:
        StorageFailed: nothing was deleted.
    """
    found = base(db)
    oldest: int = db.scalar("SELECT min(seq) FROM journal")
    if found is None or oldest > found.last:
        return False
    with db.transaction(write=True):
        db.sql("DELETE FROM journal WHERE seq <= ?", (min(found.last, oldest + most - 1),))
    return oldest + most <= found.last


def restore_base(source: Database, target: Database) -> int:
    """Make the tables of one database as another's were when it was compacted; return the last entry in them."""
    found = base(source)
    if found is None:
        return 0
    for table in STATE:
        target.sql(f"DELETE FROM {table}")
        for row in source.sql(f"SELECT * FROM base_{table}"):
            target.sql(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return found.seq
