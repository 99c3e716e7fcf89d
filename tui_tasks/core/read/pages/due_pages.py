"""Pages of a list by due date, earliest first, each at a cost that does not grow with the list.

The order is `(due, rank)`, of the tasks with a due date. Dates and instants sort as text: a date comes before the
instants of its day.
"""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.pages.filter import ALL, Filter, conditions
from tui_tasks.core.read.pages.pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.queries import LIVE
from tui_tasks.core.schema.tables.tasks import TaskRow


def after(db: Database, list_id: int, due: str, rank: str, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """Return the next `limit` tasks with a due date after a place in the order; `("", "")` is the start."""
    of_list = _of_list(db, list_id, only)
    same = [*of_list, TaskRow.due == due, TaskRow.rank > rank]
    found = _lines(db, same, (TaskRow.rank,), limit)
    if len(found) < limit:
        found += _lines(db, [*of_list, TaskRow.due > due], (TaskRow.due, TaskRow.rank), limit - len(found))
    return found


def before(db: Database, list_id: int, due: str, rank: str, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """Return the last `limit` tasks with a due date before a place in the order; `("~", "")` is the end."""
    of_list = _of_list(db, list_id, only)
    same = [*of_list, TaskRow.due == due, TaskRow.rank < rank]
    found = _lines(db, same, (TaskRow.rank.desc(),), limit)
    if len(found) < limit:
        order = (TaskRow.due.desc(), TaskRow.rank.desc())
        found += _lines(db, [*of_list, TaskRow.due < due], order, limit - len(found))
    return found[::-1]


def _of_list(db: Database, list_id: int, only: Filter) -> list[Any]:
    # Written as the condition of the index `task_due`, so that SQLite uses it.
    has_due = [TaskRow.list_id == list_id, LIVE, TaskRow.due.is_null(False)]
    few = pages.found_by_words(db, list_id, only) if only else None
    return [*has_due, *(few if few is not None else conditions(only))]


def _lines(db: Database, wanted: list[Any], order: tuple[Any, ...], limit: int) -> list[TaskLine]:
    query = TaskRow.select(*LINE).where(*wanted).order_by(*order).limit(limit)
    return [read_line(row) for row in db.query(query)]
