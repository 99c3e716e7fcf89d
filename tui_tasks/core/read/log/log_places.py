"""The numbers that tasks had: computed from their current places by reverting what was added, removed and moved
since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tui_tasks.core.commit.rebalancing import Reranks
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import TaskRow

J = JournalRow

# How many entries are reverted at most, which takes some hundredths of a second.
MAX_ENTRIES: Final = 20_000
_ADDS: Final = {"task.created": 1, "task.restored": 1, "task.deleted": -1, "task.moved": 0}
_MOVES = Statement(
    J.select(J.seq, J.kind, J.task, J.old, TaskRow.list_id, TaskRow.rank)
    .join(TaskRow, on=(TaskRow.uid == J.task))
    .where((J.seq > slot("after")) & (J.seq < slot("before")) & (J.entity == "task") & J.kind.in_(list(_ADDS)))
    .order_by(J.seq.desc())
)


class _Place(msgspec.Struct):
    list_id: int | None = None
    rank: str | None = None


_place = msgspec.json.Decoder(_Place).decode


class PlacesThen:
    """Where tasks were after an entry of the journal. Valid until another entry is written."""

    def __init__(self, db: Database, newest: int) -> None:
        self._db = db
        self.newest = newest
        self._read_after = newest
        # Changes of the number of tasks: entry, list, rank, and one more or one fewer there; newest first.
        self._steps: list[tuple[int, int, str, int]] = []
        # Where each task was before each of its moves, newest first; and where it was at the oldest entry read.
        self._moved: dict[str, list[tuple[int, int, str]]] = {}
        self._stands: dict[str, tuple[int, str]] = {}
        # The ranks that tasks had while they were deleted: rebalancing leaves the ranks of deleted tasks.
        self._deleted_at: dict[str, str] = {}

    def number(self, ahead: Callable[[int, str], int], seq: int, task: str, list_id: int, rank: str) -> int | None:
        """Return the number of a task after the entry `seq`; None if too much has happened since.

        `list_id` and `rank` are its current place; `ahead` counts the tasks of a list before a rank, as they are now.
        """
        if self.newest - seq > MAX_ENTRIES:
            return None
        self._read_back(seq)
        for at, home, place in self._moved.get(task, ()):
            if at > seq:
                list_id, rank = home, place
        since = sum(by for at, home, place, by in self._steps if at > seq and home == list_id and place < rank)
        return ahead(list_id, rank) - since + 1

    def _read_back(self, seq: int) -> None:
        if seq >= self._read_after:
            return
        rows = self._db.all(_MOVES, after=seq, before=self._read_after + 1)
        self._read_after = seq
        ranks = Reranks(self._db, seq)
        for at, kind, task, old, list_id, rank in rows:
            home, place = stood = self._stands.get(task, (list_id, rank))
            was = _place(old) if old is not None else _Place()
            if kind == "task.restored" and was.rank is not None:
                self._deleted_at[task] = was.rank
            elif was.rank is not None:
                was.rank = ranks.now(was.list_id or home, was.rank, at)
            elif kind == "task.deleted" and (task in self._deleted_at or task not in self._stands):
                was.rank = place = ranks.now(home, self._deleted_at.pop(task, place), at)
            before = was.list_id or home, (was.rank if kind != "task.restored" else None) or place
            if kind == "task.moved":
                self._steps += [(at, home, place, 1), (at, *before, -1)]
            else:
                self._steps.append((at, home, place, _ADDS[kind]))
            if before != stood:
                self._moved.setdefault(task, []).append((at, *before))
            self._stands[task] = before
