"""What is recorded beside a task: its log, the state that an agent saved, the memory of its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.tables.columns import columns
from tui_tasks.core.schema.tables.tasks import LogRow, MemoryRow, StateRow
from tui_tasks.core.snapshots import LogEntry, Memory, SavedState, reader

_read_log = reader(LogEntry, LogRow)
_read_state = reader(SavedState, StateRow)
read_memory = reader(Memory, MemoryRow)

_LOG = tuple(columns(LogRow).values())
_OF_LOG: Any = (LogRow.task_uid == slot("task")) & (LogRow.deleted == SQL("0"))
_LOGS = Statement(LogRow.select(*_LOG).where(_OF_LOG).order_by(LogRow.id))
_LATEST_LOGS = Statement(LogRow.select(LogRow.id).where(_OF_LOG).order_by(LogRow.id.desc()).limit(slot("limit")))
_LOG_BY_ID = Statement(LogRow.select(*_LOG).where(LogRow.id == slot("id")))
_LOG_BEFORE = Statement(
    LogRow.select(*_LOG).where(_OF_LOG & (LogRow.id < slot("before"))).order_by(LogRow.id.desc()).limit(slot("limit"))
)
_LOG_COUNT = Statement(LogRow.select(fn.COUNT(LogRow.id)).where(_OF_LOG))
_STATE = Statement(StateRow.select(*columns(StateRow).values()).where(StateRow.uid == slot("uid")))
_MEMORY_OF = Statement(MemoryRow.select(*columns(MemoryRow).values()).where(MemoryRow.task_uid == slot("task")))


def logs(db: Database, uid: str) -> list[LogEntry]:
    """Return a task's log, oldest first."""
    return list(each_log(db, uid))


def each_log(db: Database, uid: str) -> Generator[LogEntry, None, None]:
    """Yield the entries of a task's log one by one, oldest first: each may be long."""
    for row in db.each(_LOGS, task=uid):
        yield _read_log(row)


def each_latest_log(db: Database, uid: str, limit: int) -> Generator[LogEntry, None, None]:
    """Yield the newest entries of a task's log one by one, the oldest of them first."""
    latest = db.all(_LATEST_LOGS, task=uid, limit=limit)
    for (number,) in reversed(latest):
        yield _read_log(db.one(_LOG_BY_ID, id=number))


def log_page(db: Database, uid: str, limit: int, before: int = 2**62) -> list[LogEntry]:
    """Return a task's newest log entries before the entry of a given number, newest first."""
    return [_read_log(row) for row in db.all(_LOG_BEFORE, task=uid, before=before, limit=limit)]


def log_count(db: Database, uid: str) -> int:
    """Return how many log entries a task has."""
    counted: int = db.one(_LOG_COUNT, task=uid)[0]
    return counted


def any_state(db: Database, uid: str) -> SavedState | None:
    """Return the saved state of a task, also if its saving was undone; None without one."""
    row = db.one(_STATE, uid=uid)
    return _read_state(row) if row else None


def saved_state(db: Database, uid: str) -> SavedState | None:
    """Return the saved state of a task, or None."""
    found = any_state(db, uid)
    return None if found is None or found.deleted else found


def any_memory_of(db: Database, task_uid: str) -> Memory | None:
    """Return the memory of a task, also if it was undone; None without one."""
    row = db.one(_MEMORY_OF, task=task_uid)
    return read_memory(row) if row else None


def memory_of(db: Database, task_uid: str) -> Memory | None:
    """Return the memory of a task, or None."""
    found = any_memory_of(db, task_uid)
    return None if found is None or found.deleted else found
