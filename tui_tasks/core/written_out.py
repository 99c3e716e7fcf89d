"""Tasks as the JSON that commands print, written by SQLite itself: a tenth of the time that Python would take."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tui_tasks.core.database import Database
from tui_tasks.core.models import JsonField, TaskRow, columns
from tui_tasks.core.orm import Value, fn
from tui_tasks.core.queries import LIVE
from tui_tasks.core.snapshots import TaskList

# What `snapshots.full_task` gives, in its order; `list` and `blocked` are no columns.
_NAMES: Final = (
    *("uid", "key", "list", "name", "description", "status", "priority", "tags", "domain", "result", "metadata"),
    *("agent", "intent", "depends_on", "blocked", "node_ids", "version"),
    *("created_at", "updated_at", "started_at", "finished_at"),
)
_COLUMNS: Final = columns(TaskRow)


def tasks(db: Database, home: TaskList, statuses: Collection[str] = ()) -> list[str]:
    """The tasks of a list in order, each as a JSON object with every field (contract, section 7).

    `statuses`: only these, where any are named.
    """
    members: list[Any] = []
    for name in _NAMES:
        members += [Value(name, converter=False), _member(name, home.handle)]
    query = TaskRow.select(fn.json_object(*members)).where(LIVE & (TaskRow.list_id == home.id))
    if statuses:
        query = query.where(TaskRow.status.in_(sorted(statuses)))
    return [row[0] for row in db.query(query.order_by(TaskRow.rank))]


def _member(name: str, handle: str) -> Any:
    if name == "list":
        return Value(handle, converter=False)
    if name == "blocked":
        return fn.json(fn.IIF(TaskRow.waiting_on > 0, "true", "false"))
    column = _COLUMNS[name]
    if name.endswith("_at"):
        return _iso(column)
    return fn.json(column) if isinstance(column, JsonField) else column


def _iso(column: Any) -> Any:
    """An instant as `snapshots.iso` writes it."""
    seconds = fn.strftime("%Y-%m-%dT%H:%M:%S", column / 1_000_000, "unixepoch")
    return fn.IIF(
        column.is_null(), None, seconds.concat(fn.printf(".%03d+00:00", column / 1_000 - column / 1_000_000 * 1_000))
    )
