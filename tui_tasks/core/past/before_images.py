"""Rows as they were before each replayed entry, so that the state can go back exactly.

The journal does not have all that an entry changes: counts, dependencies and the like follow from others. So triggers
copy each row before it changes into a second table, with the entry's seq; a new row is recorded as one that did not
exist.
"""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.schema.state_tables import STATE, model_of

# `seq`: of the last entry that the tables have; `since`: of the earliest state that `go_back` can restore.
_POSITION: Final = """
CREATE TABLE position (seq INTEGER NOT NULL, since INTEGER NOT NULL, is_recording INTEGER NOT NULL)
"""


def install(db: Database) -> None:
    """Create the tables for before-images in an empty database, within its write transaction; recording is off."""
    db.sql(_POSITION)
    db.sql("INSERT INTO position VALUES (0, 0, 0)")
    for table in STATE:
        columns = ", ".join(_columns(db, table))
        db.sql(f"CREATE TABLE before_{table} (at_seq INTEGER NOT NULL, existed INTEGER NOT NULL, {columns})")
        db.sql(f"CREATE INDEX before_{table}_seq ON before_{table} (at_seq)")


# For each event: which row a trigger copies, and whether that row existed before.
_EVENTS: Final = (("INSERT", "NEW", 0), ("UPDATE", "OLD", 1), ("DELETE", "OLD", 1))


def _make_triggers(db: Database) -> None:
    for table in STATE:
        for event, row, existed in _EVENTS:
            values = ", ".join(f"{row}.{column}" for column in _columns(db, table))
            db.sql(
                f"CREATE TRIGGER before_{table}_{event} AFTER {event} ON {table} "
                "WHEN (SELECT is_recording FROM position) "
                f"BEGIN INSERT INTO before_{table} VALUES ((SELECT seq FROM position), {existed}, {values}); END"
            )


def _drop_triggers(db: Database) -> None:
    # Changes take half as long without triggers.
    for table in STATE:
        for event, _, _ in _EVENTS:
            db.sql(f"DROP TRIGGER IF EXISTS before_{table}_{event}")


def seq(db: Database) -> int:
    """Return the seq of the last entry that the tables have."""
    found: int = db.scalar("SELECT seq FROM position")
    return found


def since(db: Database) -> int:
    """Return the seq of the earliest state that `go_back` can restore."""
    found: int = db.scalar("SELECT since FROM position")
    return found


def begin_entry(db: Database, seq: int) -> None:
    """Attribute the changes from now on to that entry."""
    db.sql("UPDATE position SET seq = ?", (seq,))


def skip_to(db: Database, seq: int) -> None:
    """Set the last entry that the tables have, where the changes up to it were not recorded."""
    db.sql("UPDATE position SET seq = ?1, since = ?1", (seq,))


def record(db: Database) -> None:
    """Start recording, unless it is on."""
    if not db.scalar("SELECT is_recording FROM position"):
        _make_triggers(db)
        db.sql("UPDATE position SET since = seq, is_recording = 1")


def forget(db: Database, upto: int) -> None:
    """Delete what was recorded for the entries up to one; the state after that becomes the earliest to go back to."""
    for table in STATE:
        db.sql(f"DELETE FROM before_{table} WHERE at_seq <= ?", (upto,))
    db.sql("UPDATE position SET since = max(since, ?)", (upto,))


def stop(db: Database) -> None:
    """Delete all that was recorded, and stop recording."""
    forget(db, seq(db))
    _drop_triggers(db)
    db.sql("UPDATE position SET is_recording = 0")


def go_back(db: Database, seq: int) -> None:
    """Restore all rows as they were after an entry, not before `since`, within the write transaction."""
    db.sql("UPDATE position SET is_recording = 0")
    for table in STATE:
        model = model_of(table)
        meta: Any = model._meta
        keys = ", ".join(field.column_name for field in meta.get_primary_keys())
        columns = ", ".join(_columns(db, table))
        later = f"FROM before_{table} WHERE at_seq > ?"
        db.sql(f"DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} {later})", (seq,))
        # Of several images of a row, the oldest is its state then.
        db.sql(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM before_{table} "
            f"WHERE existed AND rowid IN (SELECT min(rowid) {later} GROUP BY {keys})",
            (seq,),
        )
        db.sql(f"DELETE {later}", (seq,))
    db.sql("UPDATE position SET seq = ?, is_recording = 1", (seq,))


def _columns(db: Database, table: str) -> list[str]:
    return [row[1] for row in db.sql(f"PRAGMA table_info({table})")]
