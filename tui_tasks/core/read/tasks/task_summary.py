"""Tasks in brief, for the reads that agents make most. Whole rows would take four times as long, mostly for
decoding.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from itertools import starmap
from operator import itemgetter

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.tasks.task_queries import IN_LIVE_LIST, LIVE
from tui_tasks.core.schema.tables import TaskRow


class TaskSummary(msgspec.Struct, frozen=True, gc=False):
    """What an agent is shown of a task in a list."""

    uid: str
    name: str
    description: str
    status: str


class KeyedTask(msgspec.Struct, frozen=True, gc=False):
    """A task of a list whose caller has ids of its own."""

    uid: str
    key: str | None
    name: str
    status: str


_COLUMNS = (TaskRow.uid, TaskRow.name, TaskRow.description, TaskRow.status)
_ONE = Statement(lambda: TaskRow.select(*_COLUMNS).where(LIVE & (TaskRow.uid == slot("uid")) & IN_LIVE_LIST))
_BEHIND = LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.rank > slot("behind"))
_OF_LIST = Statement(lambda: TaskRow.select(*_COLUMNS).where(_BEHIND).order_by(TaskRow.rank))
_OF_STATUS = Statement(
    lambda: (
        TaskRow.select(TaskRow.rank, *_COLUMNS)
        .where(_BEHIND & (TaskRow.status == slot("status")))
        .order_by(TaskRow.rank)
    )
)
_KEYED = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.key, TaskRow.name, TaskRow.status)
        .where(LIVE & (TaskRow.list_id == slot("list")))
        .order_by(TaskRow.rank)
    )
)
_RANK = Statement(
    lambda: TaskRow.select(TaskRow.rank, TaskRow.status).where(
        LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.uid == slot("uid"))
    )
)


def one(db: Database, uid: str) -> TaskSummary:
    """Return the task with that uid.

    Raises:
        NotFound: there is none, or it or its list was deleted.
    """
    row = db.one(_ONE, uid=uid)
    if row is None:
        raise NotFound("task", uid)
    return TaskSummary(*row)


def of_list(db: Database, list_id: int, after: str | None = None) -> Generator[TaskSummary, None, None]:
    """Yield the tasks of a list one by one, in order; `after`: only those after the task of that uid.

    Raises:
        NotFound: that task is not, or no longer, in the list.
    """
    yield from starmap(TaskSummary, db.each(_OF_LIST, list=list_id, behind=_rank(db, list_id, after)))


def of_statuses(
    db: Database, list_id: int, statuses: Collection[str], after: str | None = None
) -> Generator[TaskSummary, None, None]:
    """Yield the tasks of a list in one of the statuses, as `of_list` does."""
    from heapq import merge  # short commands start without

    behind = _rank(db, list_id, after, statuses)
    rows = (db.each(_OF_STATUS, list=list_id, status=status, behind=behind) for status in sorted(statuses))
    for _, *row in merge(*rows, key=itemgetter(0)):
        yield TaskSummary(*row)


def keyed(db: Database, list_id: int) -> Generator[KeyedTask, None, None]:
    """Yield the tasks of a list one by one, in order, with their callers' ids."""
    yield from starmap(KeyedTask, db.each(_KEYED, list=list_id))


def _rank(db: Database, list_id: int, uid: str | None, statuses: Collection[str] = vocab.STATUSES) -> str:
    """Return the rank of the task with that uid, after which to read; without a uid the rank before all."""
    if uid is None:
        return ""
    row = db.one(_RANK, list=list_id, uid=uid)
    if row is None or row[1] not in statuses:
        raise NotFound("task", uid)
    rank: str = row[0]
    return rank
