"""Replaces the ranks of tasks that have grown too long by short ones in the same order.

An entry `list.reranked` has the old and new ranks of neighbours in a list: a change of the system that undo ignores.
Older entries, and deleted tasks, have ranks from before it: `Reranks` translates them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit.rank import between, spread, within
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import ListRow, TaskRow
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

RERANK: Final = "list.reranked"
"""The kind of an entry that replaces keys."""
# The longest rank that rebalancing makes; it begins when a rank is longer than `rank.MAX_CHARS`.
_SHORT: Final = 32
# How many tasks on either side are included at first.
_REACH: Final = 16
# The longest translation of a rank in an old entry.
_LONGEST: Final = 1_000

_RANKS_UP = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.rank)
        .where(task_queries.LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank > slot("rank")))
        .order_by(TaskRow.rank)
        .limit(slot("limit"))
    )
)
_RANKS_DOWN = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.rank)
        .where(task_queries.LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank <= slot("rank")))
        .order_by(TaskRow.rank.desc())
        .limit(slot("limit"))
    )
)
_RERANKED = Statement(
    lambda: (
        J.select(J.seq, ListRow.id, J.old, J.new)
        .join(ListRow, on=(ListRow.uid == J.uid))
        .where((J.actor == vocab.SYSTEM) & (J.seq > slot("after")) & (J.kind == RERANK))
        .order_by(J.seq)
    )
)


class _Ranks(msgspec.Struct):
    ranks: dict[str, str]


_ranks = msgspec.json.Decoder(_Ranks).decode


def rebalanced(tx: Transaction, task: Task) -> Task:
    """Give short ranks to a task with a long one and its neighbours; return the task."""
    reach = _REACH
    while True:
        below = ranks_down_from(tx.db, task.list_id, task.rank, reach)
        above = ranks_up_from(tx.db, task.list_id, task.rank, reach)
        old = {**dict(reversed(below)), **dict(above)}
        # The outermost tasks keep their ranks, except at an end of the list.
        uids = list(old)
        low = uids.pop(0) if len(below) == reach else None
        high = uids.pop() if len(above) == reach else None
        made = spread(old[low] if low else None, old[high] if high else None, len(uids))
        if max(map(len, made)) <= _SHORT or low is high is None:
            break
        reach *= 2
    new = old | dict(zip(uids, made, strict=True))
    home = tx.state_cache.list_by_id(task.list_id)
    tx.emit_by_system(RERANK, "list", home.uid, old={"ranks": old}, new={"ranks": new})
    return msgspec.structs.replace(task, rank=new[task.uid])


class Reranks:
    """Translates the ranks of journal entries after `since` to the current ones."""

    def __init__(self, db: Database, since: int) -> None:
        self._db = db
        self._read = since
        # By list id: the seq of each rebalancing, oldest first, with its old and new ranks in order.
        self._entries: dict[int, list[tuple[int, list[str], list[str]]]] = {}

    def now(self, list_id: int, place: str, seq: int) -> str:
        """Return the current rank for one that was valid after the entry `seq`."""
        for at, list_of, was, new in self._db.all(_RERANKED, after=self._read):
            old, now = _ranks(was).ranks, _ranks(new).ranks
            self._entries.setdefault(list_of, []).append((at, sorted(old.values()), sorted(now.values())))
            self._read = at
        for at, olds, news in self._entries.get(list_id, ()):
            if at > seq:
                place = _follow(place, olds, news)
        return place


def _follow(place: str, olds: list[str], news: list[str]) -> str:
    """Return the new rank for an old one: that of the same task, or one right after the task before it."""
    at = bisect_right(olds, place) - 1
    if at >= 0 and olds[at] == place:
        return news[at]
    begins_list, ends_list = olds[0] != news[0], olds[-1] != news[-1]
    if (at < 0 and not begins_list) or (at == len(olds) - 1 and not ends_list):
        return place
    before = news[at] if at >= 0 else between(None, news[0])
    moved = within(before, place)
    if len(moved) <= _LONGEST:
        return moved
    return between(before, news[at + 1] if at + 1 < len(news) else None)


def ranks_up_from(db: Database, list_id: int, rank: str, limit: int) -> list[tuple[str, str]]:
    """Return the uids and ranks of the next tasks after a rank, in order."""
    return db.all(_RANKS_UP, list=list_id, rank=rank, limit=limit)


def ranks_down_from(db: Database, list_id: int, rank: str, limit: int) -> list[tuple[str, str]]:
    """Return the uids and ranks of the task at a rank and of those before it, last first."""
    return db.all(_RANKS_DOWN, list=list_id, rank=rank, limit=limit)
