"""Where the rows of windows come from: pages of a list."""

from __future__ import annotations

from collections.abc import Collection

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import pages
from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.core.read.tasks.pages import TaskLine, TaskPage
from tui_tasks.tui.app.app_state import AppState


class TasksOfList:
    """The tasks of one list in order, those that are wanted: a `Source` of rows.

    With a filter, a page may be cut short where nothing is found for long; asked for the same again it goes on.
    """

    def __init__(self, db: Database, seen: AppState, list_id: int, only: Filter = ALL) -> None:
        self._db = db
        self._seen = seen
        self.list_id = list_id
        self.only = only
        self._reached: dict[tuple[str, bool], str] = {}

    def first(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(pages.FIRST, limit, backwards=False)

    def last(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(pages.LAST, limit, backwards=True)

    def after(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=False)

    def before(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=True)

    def _read(self, rank: str, limit: int, *, backwards: bool) -> TaskPage:
        start = self._reached.pop((rank, backwards), rank)
        page = (pages.before if backwards else pages.after)(self._db, self.list_id, start, limit, self.only)
        if page.reached is not None:
            self._reached[page[0 if backwards else -1].rank if page else rank, backwards] = page.reached
        return page

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        found = pages.lines(self._db, self.list_id, keys, self.only)
        # What was passed over as unwanted may be wanted by now.
        for (rank, backwards), reached in list(self._reached.items()):
            low, high = (reached, rank) if backwards else (rank, reached)
            if any(low <= row.rank <= high for row in found.values()):
                del self._reached[rank, backwards]
        return found

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.rank

    def place(self, row: TaskLine) -> int:
        """See `Source`; with a filter one row's place says nothing of the next one's."""
        return -1 if self.only else self._seen.places.ahead(self.list_id, row.rank)

    def total(self) -> int:
        """See `Source`."""
        # In a backup that was put in the database's place there may be no such list.
        found = self._seen.lists.get(self.list_id)
        return -1 if self.only else found.total if found else 0
