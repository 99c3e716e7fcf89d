"""Pages of tasks in another order than their list's own. Each page looks at all tasks of the list: see `MAX_SORTED`.

An order is a tuple of columns, the rank last; `place` returns the same values of a line, for comparison in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Tuple, fn
from tui_tasks.core.read.pages.filter import Filter, conditions
from tui_tasks.core.read.pages.list_pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.task_queries import LIVE
from tui_tasks.core.schema.tables.tasks import TaskRow
from tui_tasks.core.vocab import OPEN

MAX_SORTED: Final = 50_000
"""The most tasks of a list that is sorted: a page of so many takes some 50 ms."""

# After every due date and every agent's name.
_LAST: Final = "\U0010ffff"


class _Order(NamedTuple):
    columns: tuple[Any, ...]
    place: Callable[[TaskLine], tuple[Any, ...]]


_due: Any = fn.COALESCE(TaskRow.due, _LAST)
_is_blocked: Any = (TaskRow.waiting_on > 0) & (TaskRow.status == "pending")
_taken_up_by: Any = fn.IIF(TaskRow.status == "pending", _LAST, fn.COALESCE(TaskRow.status_by, TaskRow.updated_by))

ORDERS: Final = {
    # Open tasks, then blocked ones, then closed ones; each by priority and due date.
    "urgency": _Order(
        (fn.IIF(TaskRow.status.in_(list(OPEN)), fn.IIF(_is_blocked, 1, 0), 2), TaskRow.priority, _due),
        lambda task: (int(task.blocked) if task.status in OPEN else 2, task.priority, task.due or _LAST),
    ),
    "due": _Order((_due,), lambda task: (task.due or _LAST,)),
    # The age that a row shows: of the last change, the newest first.
    "age": _Order((TaskRow.updated_at * -1,), lambda task: (-task.updated_at,)),
    "agent": _Order((fn.COALESCE(TaskRow.agent, _taken_up_by),), lambda task: (task.who or _LAST,)),
}
"""The orders by the names that a person gives them."""


def place(by: str, task: TaskLine) -> tuple[Any, ...]:
    """Return the place of a task in an order."""
    return (*ORDERS[by].place(task), task.rank)


def page(query: Any, by: str, start: tuple[Any, ...] | None, limit: int, *, backwards: bool) -> Any:
    """Return a query of the next `limit` rows after a place, or of those before it, nearest first.

    `start`: the place; None for the first rows, or the last.
    """
    columns = (*ORDERS[by].columns, TaskRow.rank)
    if start is not None:
        at, reached = Tuple(*columns), Tuple(*start)
        query = query.where(at < reached if backwards else at > reached)
    order = [column.desc() if backwards else column.asc() for column in columns]
    return query.order_by(*order).limit(limit)


def lines(
    db: Database, list_id: int, start: tuple[Any, ...] | None, limit: int, only: Filter, *, backwards: bool
) -> list[TaskLine]:
    """Return the next `limit` matching tasks of a list after a place in the order of `only.sort`, or those before."""
    query = TaskRow.select(*LINE).where(LIVE, TaskRow.list_id == list_id, *conditions(only))
    rows = db.query(page(query, only.sort, start, limit, backwards=backwards))
    return [read_line(row) for row in (reversed(rows) if backwards else rows)]
