"""How refusals name a task: by its number and its name, as people and agents know it."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.read.tasks.queries import LIVE
from tui_tasks.core.schema.tables.tasks import TaskRow
from tui_tasks.core.snapshots import Task

# A task further down its list is named without its number, as counting takes longer the further down it is.
MAX_COUNTED: Final = 10_000
_MAX_CHARS: Final = 60

_BEFORE = (
    TaskRow.select(TaskRow.id)
    .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank < slot("rank")))
    .limit(slot("limit"))
    .alias("before")
)
_COUNT_BEFORE = Statement(TaskRow.select(fn.COUNT(_BEFORE.c.id)).from_(_BEFORE))


def named(db: Database, task: Task) -> str:
    """Return a task's name as in `task #3 "Build the parser"`; a deleted task has no number."""
    name = " ".join(task.name[: 2 * _MAX_CHARS].split())
    name = f"{name[: _MAX_CHARS - 1]}…" if len(name) > _MAX_CHARS else name
    if task.deleted:
        return f'task "{name}"'
    before: int = db.one(_COUNT_BEFORE, list=task.list_id, rank=task.rank, limit=MAX_COUNTED)[0]
    return f'task "{name}"' if before >= MAX_COUNTED else f'task #{before + 1} "{name}"'
