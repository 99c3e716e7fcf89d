"""Held tasks for screens: who filed what, since when, and what waits for it (docs: protocol, section 11)."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, fn
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.read.tasks.queries import HELD
from tui_tasks.core.schema.models import EdgeRow, JournalRow, ListRow, TaskRow


class HeldTask(msgspec.Struct, frozen=True, gc=False):
    """A task that waits for the human to accept it.

    `waiting` is how many tasks depend on it, `blocked_by` on how many open ones it depends.
    """

    id: int
    uid: str
    name: str
    list_id: int
    list_name: str
    maker: str
    at: int
    version: int
    waiting: int
    blocked_by: int


_WAITING: Any = EdgeRow.select(fn.COUNT(EdgeRow.task_uid)).where(EdgeRow.on_uid == TaskRow.uid)
_ALL = Statement(
    TaskRow.select(
        TaskRow.id,
        TaskRow.uid,
        TaskRow.name,
        TaskRow.list_id,
        ListRow.name,
        TaskRow.created_by,
        TaskRow.created_at,
        TaskRow.version,
        _WAITING,
        TaskRow.waiting_on - SQL("1"),
    )
    .join(ListRow, on=(ListRow.id == TaskRow.list_id))
    .where(HELD)
    .order_by(TaskRow.id)
)
_COUNT = Statement(TaskRow.select(fn.COUNT(TaskRow.id)).where(HELD))
_WHY = Statement(
    JournalRow.select(JournalRow.why)
    .where((JournalRow.task == slot("task")) & (JournalRow.kind == "task.created"))
    .limit(1)
)


def everything(db: Database) -> list[HeldTask]:
    """The held tasks, oldest first."""
    return [HeldTask(*row) for row in db.all(_ALL)]


def count(db: Database) -> int:
    """How many tasks are held."""
    found: int = db.one(_COUNT)[0]
    return found


def why(db: Database, uid: str) -> str:
    """Why a task was filed, in the words of the request that did it; empty where it said nothing, or was compacted."""
    row = db.one(_WHY, task=uid)
    reasons = msgspec.json.decode(row[0]) if row and row[0] else {}
    return "\n".join(text for reason in reasons.values() if (text := _as_text(reason)))


def _as_text(reason: Any) -> str:
    if isinstance(reason, str):
        return reason.strip()
    if isinstance(reason, list):
        return "\n".join(text for each in reason if (text := _as_text(each)))
    return msgspec.json.encode(reason).decode()
