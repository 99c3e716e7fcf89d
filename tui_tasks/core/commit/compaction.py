"""Drops old entries of the journal when the human asks for it (docs: events-and-errors, `cursor_expired`).

Dropped entries are lost for history, events and undo. The rest remains verifiable: a journal entry records which entry
was the last to be dropped, and its hash (`Base`), and a copy of the tables is kept from which they can be rebuilt with
the remaining entries. A database that was never compacted has none of this.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, InvalidArgument
from tui_tasks.core.schema.tables import STATE
from tui_tasks.text.times import DAY, SECOND

DAYS: Final = {"d": 1, "w": 7}
# How many entries are deleted, or rows copied, in one transaction, during which other writers wait.
AT_ONCE: Final = 2_000


def instant(text: str, now: int) -> int:
    """Return the instant (microseconds since the epoch) of an age such as `90d` or `12w`, or of a date with or without
    a time.

    Raises:
        InvalidArgument: it is none of these, or not past.
    """
    if age := re.fullmatch(r"(\d{1,5})([dw])", text):
        return now - int(age[1]) * DAYS[age[2]] * DAY
    try:
        meant = int(datetime.fromisoformat(text).timestamp() * SECOND)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument("before", f"{text} is neither an age (90d, 12w) nor a date (2026-01-31)") from None
    if meant > now:
        raise InvalidArgument("before", f"{text} is in the future")
    return meant


class Base(NamedTuple):
    """The beginning of a compacted journal.

    Attributes:
        seq: the entry that records the compaction.
        last: the last dropped entry.
        hash: the hash of that entry.
        tables: the last entry whose change is in the copied tables.
        copy: the prefix of the names of those tables.
    """

    seq: int
    last: int
    hash: bytes
    tables: int
    copy: str


def base(db: Database) -> Base | None:
    """Return the beginning of the journal; None if it was never compacted."""
    if not is_there(db, "base"):
        return None
    # Databases of the first releases have only three columns: the tables are as of the compaction's own entry.
    seq, last, hashed, *copied = db.sql("SELECT * FROM base").fetchone()
    # An altered value may have any type.
    return Base(seq, last, hashed if isinstance(hashed, bytes) else b"", *(copied or [seq, "base"]))


def is_there(db: Database, table: str) -> bool:
    """Return whether there is a table of that name."""
    return db.scalar("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)) is not None


# So many entries are read at a time.
_PAGE: Final = 10_000
_LONG_AGO: Final = -(2**62)


def last_old(db: Database, before: int, now: int) -> int:
    """Return the seq of the last entry to drop: it and all before it are older than `before`; 0 if there is none.

    Entries are ordered by number, not by instant, as instants come from wall clocks. So this is the last old entry
    before the first that is not old. Instants in the future (after `now`) are ignored. A change is dropped as a whole
    or not at all.

    Raises:
        StorageFailed: the database cannot be read.
    """
    last, begin = 0, journal.oldest(db)
    for start in range(begin, journal.newest(db) + 1, _PAGE):
        end = start + _PAGE - 1
        new, _ = _seqs(db, start, end, before, now)
        _, old = _seqs(db, start, end if new is None else new - 1, _LONG_AGO, before - 1)
        last = old or last
        if new is not None:
            break
    following = db.scalar("SELECT change FROM journal WHERE seq = ?", (last + 1,))
    last = last if following is None else min(last, int(following) - 1)
    return last if last >= begin else 0


def _seqs(db: Database, first: int, last: int, since: int, until: int) -> tuple[int | None, int | None]:
    """Return the first and last seq of the entries whose instant is from `since` up to `until`."""
    row = db.sql(
        "SELECT min(seq), max(seq) FROM journal WHERE seq BETWEEN ? AND ? AND at BETWEEN ? AND ?",
        (first, last, since, until),
    ).fetchone()
    return row[0], row[1]


def older_than(db: Database, before: int, now: int) -> int:
    """Return how many entries are older than an instant, and so would be dropped.

    Raises:
        StorageFailed: the database cannot be read.
    """
    last = last_old(db, before, now)
    # Another process may have dropped some meanwhile.
    return max(0, last + 1 - journal.oldest(db)) if last else 0


def old_entries(db: Database, last: int) -> tuple[int, bytes]:
    """Return the seq of the oldest remaining entry, and the hash of the last to drop.

    Raises:
        Conflict: there are none to drop.
    """
    row = db.sql("SELECT hash, (SELECT min(seq) FROM journal) FROM journal WHERE seq = ?", (last,)).fetchone()
    dropped = base(db)
    if row is None or (dropped is not None and last <= dropped.last):
        raise Conflict("no entry of the journal is that old: nothing was dropped")
    return int(row[1]), bytes(row[0])


OVERTAKEN: Final = "another compaction of the journal has begun, or the database was replaced: nothing was dropped"


def copied(db: Database, copy: str) -> int:
    """Return the seq of the last entry whose change is in a complete copy of the tables.

    Raises:
        Conflict: the copy is gone, as another compaction began, or the database was replaced.
    """
    begun = is_there(db, "copying")
    last = db.scalar("SELECT tables FROM copying WHERE copy = ?", (copy,)) if begun else None
    if last is None:
        raise Conflict(OVERTAKEN)
    return int(last)


def keep_base(db: Database, new_base: Base) -> None:
    """Adopt the copied tables, in the transaction that writes the compaction's entry."""
    db.sql("DROP TABLE copying")
    db.sql("DROP TABLE IF EXISTS base")
    columns = ("seq INTEGER", "last INTEGER", "hash BLOB", "tables INTEGER", "copy TEXT")
    db.sql(f"CREATE TABLE base ({', '.join(f'{column} NOT NULL' for column in columns)})")
    db.sql("INSERT INTO base VALUES (?, ?, ?, ?, ?)", new_base)


# Rows to delete are looked up in the transaction that deletes them, as before it another process may also compact, or
# restore a backup.


def clear_some(db: Database, most: int, *, breaks_off: bool) -> bool:
    """Delete some rows of copies that no compaction uses, in a transaction of its own; return whether there may be
    more.

    `breaks_off`: also those of a compaction in another process, which then fails.
    """
    with db.transaction(write=True):
        current = base(db)
        wanted = [current.copy] if current else []
        if not breaks_off and is_there(db, "copying"):
            wanted += [copy for (copy,) in db.sql("SELECT copy FROM copying")]
        left = db.sql(
            "SELECT name FROM sqlite_master WHERE name = 'copying' AND ? OR name GLOB 'base_*'"
            f"{' AND NOT name GLOB ?' * len(wanted)} ORDER BY name = 'copying' DESC LIMIT 1",
            (breaks_off, *(f"{copy}_*" for copy in wanted)),
        ).fetchone()
        if left is None:
            return False
        db.sql(f"DELETE FROM {left[0]} WHERE rowid IN (SELECT rowid FROM {left[0]} LIMIT {most})")
        if not db.scalar(f"SELECT count(*) FROM (SELECT 1 FROM {left[0]} LIMIT 1)"):
            db.sql(f"DROP TABLE {left[0]}")
    return True


def drop_some(db: Database, most: int) -> int:
    """Delete the oldest of the dropped entries, in a transaction of its own; return how many.

    Raises:
        StorageFailed: nothing was deleted.
    """
    with db.transaction(write=True):
        current = base(db)
        if current is None:
            return 0
        last = min(current.last, journal.oldest(db) + most - 1)
        # The output of a run is deleted with the entry of its end.
        db.sql(
            "DELETE FROM run_log WHERE run_uid IN (SELECT uid FROM journal WHERE seq <= ? AND kind = 'run.finished')",
            (last,),
        )
        return int(db.sql("DELETE FROM journal WHERE seq <= ?", (last,)).rowcount)


def restore_base(source: Database, target: Database) -> int:
    """Fill the tables of a database from the compacted copy of another; return the last entry whose change they
    have.
    """
    current = base(source)
    if current is None:
        return 0
    for table in STATE:
        # A copy lacks tables that later schemas added; a copy without lists is damaged.
        if table != "list" and not is_there(source, f"{current.copy}_{table}"):
            continue
        target.sql(f"DELETE FROM {table}")
        rows = source.sql(f"SELECT * FROM {current.copy}_{table}")
        # Columns added since then get their defaults.
        columns = [column[0] for column in rows.description]
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        target.write_many(insert, rows)
    return current.tables
