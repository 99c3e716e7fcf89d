"""Applies entries of a server's journal, to which other roles write any values.

An entry that cannot be applied is passed over, on every machine alike: it stays in the journal, and its number is kept
beside it, so that every replay passes it over too.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit.row_writes import TOUCHING, apply, touch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.schema.tables import STATE, columns, model_of
from tui_tasks.core.unjournaled import local_values

PASSED_OVER: Final = "passed_over:"
"""How the keys of the view begin that have the numbers of the entries that were passed over."""

# What unsound values raise. What SQLite raises because of the disk is not among these.
_UNSOUND: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError),
    *(getattr(sqlite3, name) for name in ("DataError", "InterfaceError") if hasattr(sqlite3, name)),
)
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
_decode = msgspec.json.Decoder().decode


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
    if entity == "task" and new.get("status", vocab.STATUSES[0]) not in vocab.STATUSES:
        raise ValueError("unknown status")
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
