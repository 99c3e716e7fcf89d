"""Rows of a replica that must not part from the entries that they came with: the server has them beside the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import views

NUMBER: Final = "server:number"
"""The view of a replica that has the number of the newest companion that was applied."""

# By table: its key, its other columns, and which rows travel.
_TABLES: Final = {
    "kept_reply": (("agent", "key"), ("fingerprint", "reply", "at"), ""),
    "session_name": (("program", "session"), ("agent", "part"), ""),
    "taken_in": (("name",), ("at",), ""),
    # Git's counts, which only the machine with the worktree can know.
    "work_count": (
        ("uid",),
        ("head", "ahead", "behind", "files", "insertions", "deletions", "dirty", "near", "at"),
        "",
    ),
    # That a question was sent; its answers are taken by the machine that sent it.
    "phone_message": (("ask",), ("sent_at",), ""),
    "asker": (("ask",), ("boot", "namespace", "pid", "born"), ""),
    # Who holds a run; that it is still there is known to its machine alone.
    "beat": (("run_uid",), ("supervised", "boot", "namespace", "pid", "born", "at"), ""),
    # A lost machine's are taken over and undone by another.
    "unfinished_change": (("change",), ("actor", "lock"), ""),
    "view": (("key",), ("value",), "{row}.key >= 'until:' AND {row}.key < 'until;'"),
}
_decode = msgspec.json.Decoder().decode


def collect(db: Database) -> None:
    """Let a connection collect, by triggers of its own, the changes of such rows."""
    for statement in _statements():
        db.sql(statement)


def _statements() -> Iterator[str]:
    yield "CREATE TEMP TABLE IF NOT EXISTS outgoing (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT)"
    for table, (keys, others, condition) in _TABLES.items():
        for event, row in (("INSERT", "NEW"), ("DELETE", "OLD")):
            key = f"json_array({', '.join(f'{row}.{name}' for name in keys)})"
            pairs = ", ".join(f"'{name}', NEW.{name}" for name in others)
            value = f"json_object({pairs})" if event == "INSERT" else "NULL"
            when = f"WHEN {condition.format(row=row)} " if condition else ""
            yield (
                f"CREATE TEMP TRIGGER IF NOT EXISTS outgoing_{table}_{event} AFTER {event} ON main.{table} {when}"
                f"BEGIN INSERT INTO outgoing VALUES ('{table}', {key}, {value}); END"
            )


def collected(db: Database) -> list[tuple[str, str, str | None]]:
    """Return what was collected since `forget`, as (kind, key, value)."""
    rows: list[tuple[str, str, str | None]] = db.sql("SELECT kind, key, value FROM outgoing ORDER BY rowid").fetchall()
    return rows


def forget(db: Database) -> None:
    """Forget what was collected."""
    db.sql("DELETE FROM outgoing")


def number(db: Database) -> int:
    """Return the number of the newest companion that was applied."""
    return int(views.get(db, NUMBER) or 0)


def put_number(db: Database, newest: int) -> None:
    """Set the number of the newest companion that was applied, within the open write transaction."""
    views.put_within(db, NUMBER, newest)


def forget_number(db: Database) -> None:
    """Make what was a replica one machine's database, within the open write transaction."""
    db.sql("DELETE FROM view WHERE key = ?", (NUMBER,))


def apply(db: Database, rows: Iterable[tuple[str, str, str | None, int]]) -> None:
    """Apply rows (kind, key, value, number) of the server, oldest first, within the open write transaction."""
    before = newest = number(db)
    for kind, key, value, its_number in rows:
        if its_number > newest:
            _put(db, kind, _decode(key), None if value is None else _decode(value))
            newest = its_number
    if newest != before:
        put_number(db, newest)


def _put(db: Database, table: str, key: list[str], value: dict[str, Any] | None) -> None:
    if table not in _TABLES:
        return
    keys, others, _ = _TABLES[table]
    db.sql(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keys)}", key)
    if value is not None:
        # A value may be of any role: its names are no part of a statement.
        row = {**dict(zip(keys, key, strict=True)), **{name: value[name] for name in others if name in value}}
        marks = ", ".join("?" * len(row))
        db.sql(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
