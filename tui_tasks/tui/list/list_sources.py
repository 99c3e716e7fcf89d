"""The tasks of one list as rows of a list on screen: in the list's order, or sorted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine, TaskPage
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.tui.state.app_state import AppState


class TasksOfList:
    """A `Source` of the tasks of a list that match a filter, in the list's order.

    With a filter, a read ends early when nothing matches for long; repeated, it continues from there.
    """

    def __init__(self, db: Database, state: AppState, list_id: int, only: Filter = ALL) -> None:
        self._db = db
        self._state = state
        self.list_id = list_id
        self.only = only
        # Where a read from a rank in a direction ended early.
        self._reached: dict[tuple[str, bool], str] = {}

    def first(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(list_pages.FIRST, limit, backwards=False)

    def last(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(list_pages.LAST, limit, backwards=True)

    def after(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=False)

    def before(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=True)

    def _read(self, rank: str, limit: int, *, backwards: bool) -> TaskPage:
        start = self._reached.pop((rank, backwards), rank)
        page = (list_pages.before if backwards else list_pages.after)(self._db, self.list_id, start, limit, self.only)
        if page.reached is not None:
            self._reached[page[0 if backwards else -1].rank if page else rank, backwards] = page.reached
        return page

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        lines = list_pages.lines(self._db, self.list_id, keys, self.only)
        # A task that a read skipped may match now, so that read starts again.
        for (rank, backwards), reached in list(self._reached.items()):
            low, high = (reached, rank) if backwards else (rank, reached)
            if any(low <= row.rank <= high for row in lines.values()):
                del self._reached[rank, backwards]
        return lines

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.rank

    def place(self, row: TaskLine) -> int:
        """See `Source`; with a filter, the rows between two that match are not counted."""
        return -1 if self.only else self._state.places.ahead(self.list_id, row.rank)

    def total(self) -> int:
        """See `Source`."""
        # The list may be missing when a backup has replaced the database.
        home = self._state.lists.get(self.list_id)
        return -1 if self.only else home.total if home else 0


class TasksByDue:
    """A `Source` of the tasks of a list that match a filter and have a due date."""

    def __init__(self, db: Database, list_id: int, only: Filter) -> None:
        self._db = db
        self.list_id = list_id
        self.only = only

    def first(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.due_after(self._db, self.list_id, "", "", limit, self.only)

    def last(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.due_before(self._db, self.list_id, "~", "", limit, self.only)

    def after(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.due_after(self._db, self.list_id, *self.order(row), limit, self.only)

    def before(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.due_before(self._db, self.list_id, *self.order(row), limit, self.only)

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        lines = list_pages.lines(self._db, self.list_id, keys, self.only)
        return {uid: task for uid, task in lines.items() if task.due is not None}

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


class SortedTasks:
    """A `Source` of the tasks of a list that match a filter, in the order of its `sort`."""

    def __init__(self, db: Database, list_id: int, only: Filter) -> None:
        self._db = db
        self.list_id = list_id
        self.only = only

    def first(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, None, limit, self.only, backwards=False)

    def last(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, None, limit, self.only, backwards=True)

    def after(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, self.order(row), limit, self.only, backwards=False)

    def before(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, self.order(row), limit, self.only, backwards=True)

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        return list_pages.lines(self._db, self.list_id, keys, self.only)

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> tuple[Any, ...]:
        """See `Source`."""
        return list_pages.sorted_place(self.only.sort, row)

    def place(self, row: TaskLine) -> int:
        """See `Source`; tasks would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1
