"""Replays the journal: entry by entry, or each row once for many entries; and keeps the rows as they were before.

The tables are those that `apply_entries` gives, in about half the time.

The journal does not have all that an entry changes: counts, dependencies and the like follow from others. So triggers
copy each row before it changes into a second table, with the entry's seq; a new row is recorded as one that did not
exist.

To a server's journal other roles write any values. An entry that cannot be applied is passed over, on every machine
alike: it stays in the journal, and its number is kept beside it, so that every replay passes it over too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.commit.row_writes import TOUCHING, apply, insert_many, touch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.schema import due_dates
from tui_tasks.core.schema.tables import STATE, columns, model_of
from tui_tasks.core.unjournaled import local_values

# So many entries are read at a time: an open cursor would keep the journal's database from being checkpointed.
PAGE: Final = 2_000
# With the task's version after the entry, for `touch`, only for entries about `TOUCHING` entities.
_ENTRIES: Final = """
SELECT seq, at, actor, entity, uid, task, old, new,
    CASE WHEN entity IN ('log', 'state') AND NOT EXISTS (SELECT 1 FROM view WHERE key = 'passed_over:' || seq)
        THEN json_extract(image, '$.version') END
FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?
"""
_decode = msgspec.json.Decoder().decode


def replay(source: Database, target: Database) -> None:
    """Apply all journal entries of one database to an empty one, which then has the same tables.

    Raises:
        msgspec.DecodeError: an entry is damaged.
    """
    with target.transaction(write=True):
        begin = compaction.restore_base(source, target)
        for _ in apply_entries(source, target, begin, journal.newest(source)):
            pass


def apply_entries(source: Database, target: Database, after: int, upto: int) -> Iterator[int]:
    """Apply the entries `after < seq <= upto` within the write transaction of `target`; yield the seq of each before
    it.

    Raises:
        msgspec.DecodeError: an entry is damaged.
    """
    skipped = passed_over(source)
    for seq, at, actor, entity, uid, task, old, new, version in read_entries(source, after, upto):
        yield seq
        if new is not None and entity in STATE and seq not in skipped:
            apply(target, entity, uid, None if old is None else _decode(old), _decode(new))
        if version is not None and task is not None:
            touch(target, task, version, at, actor)


def read_entries(source: Database, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of `_ENTRIES` for the entries `after < seq <= upto`, values as JSON."""
    while rows := source.sql(_ENTRIES, (after, upto, PAGE)).fetchall():
        yield from rows
        after = rows[-1][0]


# Entries about these change columns of one row, and what is derived from tasks can be derived at the end.
_COLLECTED: Final = frozenset(
    {"task", "log", "state", "memory", "claim", "ask", "agent", "human_message", "session", "stuck", "work", "auto"}
)
# Characters of collected values at which they are written, so that a few long texts do not fill the memory.
_MAX_CHARACTERS: Final = 64 << 20


def allow_any_order(db: Database) -> None:
    """Make the unique partial indexes plain ones, within the write transaction.

    Rows are not written in the order of the entries, so two of them may meet for a moment: one task leaves
    `in_progress` after another of its list has entered it.
    """
    unique = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE % WHERE %'"
    for name, sql in db.sql(unique).fetchall():
        db.sql(f"DROP INDEX {name}")
        db.sql(sql.replace("UNIQUE ", "", 1))


def apply_together(source: Database, target: Database, after: int, upto: int) -> Iterator[int]:
    """Apply the entries `after < seq <= upto` within the write transaction of `target`; yield the seq of each.

    What was applied is complete once the iterator has ended. `target` must allow any order (`allow_any_order`).

    Raises:
        msgspec.DecodeError: an entry is damaged.
    """
    changes = _RowChanges(target)
    skipped = passed_over(source)
    for seq, at, actor, entity, uid, task, old, new, version in read_entries(source, after, upto):
        yield seq
        if new is not None and entity in STATE and seq not in skipped:
            changes.add(entity, uid, old, new)
        if version is not None and task is not None:
            changes.update("task", task, {"version": version, "updated_at": at, "updated_by": actor})
    changes.write()


class _RowChanges:
    """The rows to insert, and the columns to update, by table and uid."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._inserts: dict[str, dict[str, dict[str, Any]]] = {entity: {} for entity in _COLLECTED}
        self._updates: dict[str, dict[str, dict[str, Any]]] = {entity: {} for entity in _COLLECTED}
        # Inserted tasks that wait for others, or have.
        self._waiting: set[str] = set()
        self._characters = 0

    def add(self, entity: str, uid: str, old: str | None, new: str) -> None:
        """Queue the change of an entry; `old` and `new` are JSON."""
        self._characters += len(new)
        if self._characters > _MAX_CHARACTERS:
            self.write()
        values = _decode(new)
        if _is_applied_alone(entity, old, values):
            # A new list, and a row of the other tables, have nothing to do with the rows that were taken.
            if entity == "task" or (entity == "list" and (old is not None or "ranks" in values)):
                self.write()
            apply(self._db, entity, uid, None if old is None else _decode(old), values)
        elif old is not None:
            self.update(entity, uid, values)
        else:
            self._inserts[entity][uid] = values
            if entity == "task" and (values.get("depends_on") or values.get("held")):
                self._waiting.add(uid)

    def update(self, entity: str, uid: str, values: dict[str, Any]) -> None:
        """Take new values of some columns of a row."""
        inserted = self._inserts[entity].get(uid)
        if inserted is None:
            self._updates[entity].setdefault(uid, {}).update(values)
            return
        inserted.update(values)
        if entity == "task" and ("depends_on" in values or "held" in values):
            self._waiting.add(uid)

    def write(self) -> None:
        """Write what was taken."""
        waiting = {uid: self._inserts["task"][uid].get("depends_on", ()) for uid in self._waiting}
        for entity, rows in self._inserts.items():
            insert_many(self._db, entity, rows.values())
            rows.clear()
        for entity, changed in self._updates.items():
            for uid, values in changed.items():
                apply(self._db, entity, uid, {}, values)
            changed.clear()
        # The tasks that these wait for are as they are to be only now.
        for uid, depends_on in waiting.items():
            apply(self._db, "task", uid, {}, {"depends_on": depends_on})
        self._waiting.clear()
        self._characters = 0


def _is_applied_alone(entity: str, old: str | None, new: dict[str, Any]) -> bool:
    """Return whether an entry changes more than one row, in a way that depends on when it is applied."""
    if entity != "task":
        return entity not in _COLLECTED
    if old is None:
        return False
    # A task that is no longer done loses its checks; one that changes lists takes over that list's rule.
    return "list_id" in new or ('"status":"done"' in old and new.get("status", "done") != "done")


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
    number: int = db.scalar("SELECT seq FROM position")
    return number


def since(db: Database) -> int:
    """Return the seq of the earliest state that `go_back` can restore."""
    number: int = db.scalar("SELECT since FROM position")
    return number


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


PASSED_OVER: Final = "passed_over:"
"""How the keys of the view begin that have the numbers of the entries that were passed over."""

# What unsound values raise. What SQLite raises because of the disk is not among these.
_UNSOUND: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError),
    *(getattr(sqlite3, name) for name in ("DataError", "InterfaceError") if hasattr(sqlite3, name)),
)
_HAS_LIST: Final = "SELECT EXISTS (SELECT 1 FROM list WHERE id = ?)"
# Where the snapshot of each table is, whose fields have the types of its columns.
_SNAPSHOTS: Final = {
    "list": "snapshots.TaskList",
    "task": "snapshots.Task",
    "log": "snapshots.LogEntry",
    "state": "snapshots.SavedState",
    "memory": "snapshots.Memory",
    "claim": "snapshots.Claim",
    "ask": "agent_snapshots.Ask",
    "agent": "agent_snapshots.Agent",
    "human_message": "agent_snapshots.HumanMessage",
    "session": "read.agents.session_queries.AgentSession",
    "stuck": "read.agents.session_queries.Stuck",
    "job": "job_snapshots.Job",
    "run": "job_snapshots.Run",
    "work": "agent_snapshots.Work",
    "auto": "agent_snapshots.Auto",
}


def passed_over(db: Database) -> frozenset[int]:
    """Return the numbers of the entries that were passed over."""
    rows = db.sql("SELECT key FROM view WHERE key >= 'passed_over:' AND key < 'passed_over;'").fetchall()
    return frozenset(int(key.removeprefix(PASSED_OVER)) for (key,) in rows)


def apply_entry(db: Database, row: tuple[Any, ...]) -> None:
    """Apply the change of an entry, given all its columns, within the open write transaction, or pass it over."""
    db.begin_savepoint()
    try:
        _apply(db, row)
        db.end_savepoint()
    except _UNSOUND:
        db.fail_savepoint()
        local_values.put_within(db, f"{PASSED_OVER}{row[0]}", True)


def _apply(db: Database, row: tuple[Any, ...]) -> None:
    _, at, actor, _, entity, uid, task, _, _, old, new, image, *_ = row
    if new is not None and entity in STATE:
        before, values = None if old is None else _decode(old), _decode(new)
        _refuse_unsound(entity, uid, before, values)
        if entity == "task" and "list_id" in values and not db.scalar(_HAS_LIST, (values["list_id"],)):
            raise ValueError("there is no such list")
        apply(db, entity, uid, before, values)
    if entity in TOUCHING and task is not None and image is not None:
        touch(db, task, msgspec.convert(_decode(image)["version"], int), at, actor)


def _refuse_unsound(entity: str, uid: str, old: Any, new: Any) -> None:
    """Refuse values that SQLite would store and no reader could read.

    Raises:
        ValueError: they are unsound.
    """
    if not isinstance(new, dict) or not isinstance(old, dict | None):
        raise ValueError("the values are no object")
    if not new or (old is None and all(value is None for value in new.values())):
        raise ValueError("there are no values")
    if new.get("uid", uid) != uid or (old is not None and "id" in new):
        raise ValueError("it is about another row")
    if old is None and not uid.isprintable():
        raise ValueError("its id would do something to a terminal")
    if entity == "task" and new.get("status", vocab.STATUSES[0]) not in vocab.STATUSES:
        raise ValueError("unknown status")
    if entity == "task" and (due := new.get("due")) is not None:
        due_dates.check_stored(due)
    types = _types(entity)
    for name, value in new.items():
        if value is not None and name in types:
            msgspec.convert(value, types[name])


@cache
def _types(entity: str) -> dict[str, Any]:
    """Return the types of the columns that a table's snapshot has."""
    if entity not in _SNAPSHOTS:
        return {}
    module, _, name = _SNAPSHOTS[entity].rpartition(".")
    snapshot = getattr(import_module(f"tui_tasks.core.{module}"), name)
    held = columns(model_of(entity))
    return {field.name: field.type for field in msgspec.structs.fields(snapshot) if field.name in held}
