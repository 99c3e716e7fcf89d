"""The number of a task, which is its place in its list, at a cost that does not grow with the list.

A short list is counted. For a long one the rank of every thousandth task is kept, so that only one stretch between two
ranks is counted; the journal tells which changes move tasks between stretches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.overview import Change
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.read.tasks import queries

STRETCH: Final = 1_000
# A list of up to so many tasks is counted each time, which takes a fraction of a millisecond.
SHORT: Final = 4_000


class _Marks:
    """The stretches of a long list: the rank after which each begins, and its number of tasks."""

    def __init__(self, db: Database, list_id: int) -> None:
        self._db = db
        self._list = list_id
        # A stretch begins after its rank: the task of that rank ends the stretch before.
        self.ranks: list[str] = [pages.FIRST]
        self.counts: list[int] = []
        while (rank := pages.step(db, list_id, self.ranks[-1], STRETCH)) is not None:
            self.ranks.append(rank)
            self.counts.append(STRETCH)
        self.counts.append(pages.between(db, list_id, self.ranks[-1]))

    def ahead(self, rank: str) -> int:
        at = max(0, bisect_left(self.ranks, rank) - 1)
        return sum(self.counts[:at]) + pages.between(self._db, self._list, self.ranks[at], rank)

    def at(self, place: int) -> str | None:
        number = 0
        while number < len(self.counts) - 1 and place > self.counts[number]:
            place -= self.counts[number]
            number += 1
        return pages.uid_after(self._db, self._list, self.ranks[number], place)

    def count_again(self, rank: str) -> bool:
        """Count the stretch of a rank again; return False when it has become too long."""
        at = max(0, bisect_left(self.ranks, rank) - 1)
        ends = at + 1 < len(self.ranks)
        # Up to and including the next mark; a blank sorts before every digit.
        end = f"{self.ranks[at + 1]} " if ends else pages.LAST
        self.counts[at] = pages.between(self._db, self._list, self.ranks[at], end)
        return self.counts[at] <= 4 * STRETCH


class TaskNumbers:
    """The numbers of the tasks in all lists of a database."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._marks: dict[int, _Marks] = {}
        self._short: set[int] = set()

    def ahead(self, list_id: int, rank: str) -> int:
        """Return how many tasks of the list come before a rank."""
        known = self.ahead_if_quick(list_id, rank)
        if known is not None:
            return known
        marks = self._of(list_id)
        return pages.between(self._db, list_id, high=rank) if marks is None else marks.ahead(rank)

    def number(self, task: TaskLine) -> int:
        """Return a task's number: its place in its list, counted from 1."""
        return self.ahead(task.list_id, task.rank) + 1

    def number_of(self, uid: str, list_id: int | None = None) -> int:
        """Return the number of the task with a uid, in one list only if given; 0 when there is none."""
        task = pages.line(self._db, uid)
        there = task is not None and not task.deleted and list_id in (None, task.list_id)
        return self.number(task) if task is not None and there else 0

    def ahead_if_quick(self, list_id: int, rank: str) -> int | None:
        """As `ahead`, but None when a long list would have to be counted first."""
        marks = self._marks.get(list_id)
        if marks is not None:
            return marks.ahead(rank)
        near = pages.step(self._db, list_id, pages.FIRST, STRETCH)
        if near is None or rank <= near:
            return pages.between(self._db, list_id, high=rank)
        far = pages.step(self._db, list_id, pages.LAST, STRETCH, backwards=True)
        if far is not None and rank > far:
            # Near the end, count backwards from the total, which is kept with the list.
            return queries.list_by_id(self._db, list_id).total - pages.count_from(self._db, list_id, rank)
        return None

    def go_through(self, list_id: int) -> None:
        """Count a list once, which makes all its numbers quick to get."""
        self._of(list_id)

    def at(self, list_id: int, place: int) -> str | None:
        """Return the uid of the task at a place, counted from 1."""
        marks = self._of(list_id)
        return pages.uid_after(self._db, list_id, pages.FIRST, place) if marks is None else marks.at(place)

    def is_quick(self, list_id: int) -> bool:
        """Return whether numbers of the list are quick to get: it is short, or was counted."""
        return list_id in self._marks or list_id in self._short or not self._is_long(list_id)

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
        return pages.step(self._db, list_id, pages.FIRST, SHORT) is not None

    def _of(self, list_id: int) -> _Marks | None:
        marks = self._marks.get(list_id)
        if marks is None and list_id not in self._short:
            if not self._is_long(list_id):
                self._short.add(list_id)
                return None
            marks = self._marks[list_id] = _Marks(self._db, list_id)
        return marks
