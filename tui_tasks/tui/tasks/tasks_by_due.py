"""The tasks of one list that have a due date, as rows of a list on screen, the soonest first."""

from __future__ import annotations

from collections.abc import Collection

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import due_pages, pages
from tui_tasks.core.read.pages.filter import Filter
from tui_tasks.core.read.pages.pages import TaskLine


class TasksByDue:
    """A `Source` of the tasks of a list that match a filter and have a due date."""

    def __init__(self, db: Database, list_id: int, only: Filter) -> None:
        self._db = db
        self.list_id = list_id
        self.only = only

    def first(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return due_pages.after(self._db, self.list_id, "", "", limit, self.only)

    def last(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return due_pages.before(self._db, self.list_id, "~", "", limit, self.only)

    def after(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return due_pages.after(self._db, self.list_id, *self.order(row), limit, self.only)

    def before(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return due_pages.before(self._db, self.list_id, *self.order(row), limit, self.only)

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        found = pages.lines(self._db, self.list_id, keys, self.only)
        return {uid: task for uid, task in found.items() if task.due is not None}

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> tuple[str, str]:
        """See `Source`."""
        return row.due or "", row.rank

    def place(self, row: TaskLine) -> int:
        """See `Source`; tasks would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1
