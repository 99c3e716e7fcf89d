"""How many tasks come before one in its list, at a cost that does not grow with the list.

A short list is counted. For a long one the rank of every thousandth task is kept, so that only one stretch between two
ranks is counted; the journal tells which changes move tasks between stretches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.overview import Change
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries

STRETCH: Final = 1_000
# A list of up to so many tasks is counted each time, which takes a fraction of a millisecond.
SHORT: Final = 4_000


class _Marks:
    """The stretches of a long list: the rank after which each begins, and its number of tasks."""

    def __init__(self, db: Database, list_id: int) -> None:
        self._db = db
        self._list = list_id
        # A stretch begins after its rank: the task of that rank ends the stretch before.
        self.ranks: list[str] = [list_pages.FIRST]
        self.counts: list[int] = []
        while (rank := list_pages.step(db, list_id, self.ranks[-1], STRETCH)) is not None:
            self.ranks.append(rank)
            self.counts.append(STRETCH)
        self.counts.append(list_pages.between(db, list_id, self.ranks[-1]))

    def ahead(self, rank: str) -> int:
        at = max(0, bisect_left(self.ranks, rank) - 1)
        return sum(self.counts[:at]) + list_pages.between(self._db, self._list, self.ranks[at], rank)

    def count_again(self, rank: str) -> bool:
        """Count the stretch of a rank again; return False when it has become too long."""
        at = max(0, bisect_left(self.ranks, rank) - 1)
        ends = at + 1 < len(self.ranks)
        # Up to and including the next mark; a blank sorts before every digit.
        end = f"{self.ranks[at + 1]} " if ends else list_pages.LAST
        self.counts[at] = list_pages.between(self._db, self._list, self.ranks[at], end)
        return self.counts[at] <= 4 * STRETCH


class RowPlaces:
    """The places of the tasks in all lists of a database."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._marks: dict[int, _Marks] = {}
        self._short: set[int] = set()

    def ahead(self, list_id: int, rank: str) -> int:
        """Return how many tasks of the list come before a rank."""
        known = self._ahead_near_an_end(list_id, rank)
        if known is not None:
            return known
        marks = self._of(list_id)
        return list_pages.between(self._db, list_id, high=rank) if marks is None else marks.ahead(rank)

    def _ahead_near_an_end(self, list_id: int, rank: str) -> int | None:
        """As `ahead`, but None when a long list would have to be counted first."""
        marks = self._marks.get(list_id)
        if marks is not None:
            return marks.ahead(rank)
        near = list_pages.step(self._db, list_id, list_pages.FIRST, STRETCH)
        if near is None or rank <= near:
            return list_pages.between(self._db, list_id, high=rank)
        far = list_pages.step(self._db, list_id, list_pages.LAST, STRETCH, backwards=True)
        if far is not None and rank > far:
            # Near the end, count backwards from the total, which is kept with the list.
            return task_queries.list_by_id(self._db, list_id).total - list_pages.count_from(self._db, list_id, rank)
        return None

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes that moved tasks."""
        for list_id, rank in [place for change in changes for place in change.places()]:
            self._short.discard(list_id)
            marks = self._marks.get(list_id)
            if marks is not None and not marks.count_again(rank):
                del self._marks[list_id]

    def forget(self) -> None:
        """Drop all counts, as too much has changed."""
        self._marks.clear()
        self._short.clear()

    def _is_long(self, list_id: int) -> bool:
        return list_pages.step(self._db, list_id, list_pages.FIRST, SHORT) is not None

    def _of(self, list_id: int) -> _Marks | None:
        marks = self._marks.get(list_id)
        if marks is None and list_id not in self._short:
            if not self._is_long(list_id):
                self._short.add(list_id)
                return None
            marks = self._marks[list_id] = _Marks(self._db, list_id)
        return marks
