"""Reads for what a screen shows at a glance: what changed, who works on what, what comes next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Case, Statement, slot
from tui_tasks.core.read.pages.pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.queries import IN_LIVE_LIST, LIVE
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import EdgeRow, ListRow, TaskRow

J = JournalRow


_MOVES = frozenset({"task.created", "task.deleted", "task.restored", "task.moved"})


class Change(msgspec.Struct, frozen=True, gc=False):
    """What one journal entry touched, without the values.

    `list_id`, `rank` and `status` are the task's current ones; `was` is its list and rank before it was moved.
    """

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    list_id: int | None = None
    rank: str | None = None
    status: str | None = None
    was: tuple[int, str] | None = None

    def places(self) -> list[tuple[int, str]]:
        """Return where the entry added, removed or moved a task, after and before: (list id, rank)."""
        if self.kind not in _MOVES:
            return []
        now = [(self.list_id, self.rank)] if self.list_id is not None and self.rank is not None else []
        return now + ([self.was] if self.was is not None else [])


class _Moved(msgspec.Struct):
    list_id: int | None = None
    rank: str | None = None


_CHANGES = Statement(
    J.select(
        J.seq,
        J.at,
        J.actor,
        J.kind,
        J.entity,
        J.uid,
        J.task,
        TaskRow.list_id,
        TaskRow.rank,
        TaskRow.status,
        Case(None, [(J.kind == "task.moved", J.old)]),
    )
    .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task))
    .where(J.seq > slot("since"))
    .order_by(J.seq)
    .limit(slot("limit"))
)
# Older entries say nothing of what is being done now, and there may be millions.
_NOT_LONG_AGO = 200


def _newest_of_tasks(limit: int) -> Any:
    newest = J.select(J.seq, J.task).where(J.task.is_null(False)).order_by(J.seq.desc()).limit(limit)
    return newest.alias("recent")


_RECENT: Any = _newest_of_tasks(_NOT_LONG_AGO)
# A bound: the entries of a deleted list may be a million.
_OF_LATE: Any = _newest_of_tasks(5_000)
_TOUCHED_LAST = Statement(
    TaskRow.select(TaskRow.list_id)
    .join(_OF_LATE, on=(_OF_LATE.c.task == TaskRow.uid))
    .where(IN_LIVE_LIST)
    .order_by(_OF_LATE.c.seq.desc())
    .limit(1)
)
_ACTIVE_OF_RECENT = Statement(
    TaskRow.select(*LINE)
    .join(_RECENT, on=(_RECENT.c.task == TaskRow.uid))
    .where(LIVE & (TaskRow.status == SQL("'in_progress'")) & IN_LIVE_LIST)
    .order_by(_RECENT.c.seq.desc())
    .limit(1)
)
_ACTIVE_LISTS = Statement(
    ListRow.select(ListRow.id)
    .where((ListRow.deleted == SQL("0")) & (ListRow.in_progress > SQL("0")))
    .order_by(ListRow.id)
)
_ACTIVE_OF_LIST = Statement(
    TaskRow.select(*LINE)
    .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'in_progress'")))
    .order_by(TaskRow.rank)
    .limit(1)
)
_DEPENDENTS = Statement(
    TaskRow.select(*LINE)
    .join(EdgeRow, on=(EdgeRow.task_uid == TaskRow.uid))
    .where((EdgeRow.on_uid == slot("uid")) & LIVE & IN_LIVE_LIST)
    .order_by(TaskRow.id)
    .limit(slot("limit"))
)
_moved = msgspec.json.Decoder(_Moved).decode


def changes(db: Database, since: int, limit: int) -> list[Change]:
    """Return what the oldest `limit` journal entries after `since` touched."""
    return [_read_change(row) for row in db.all(_CHANGES, since=since, limit=limit)]


def _read_change(row: Any) -> Change:
    seq, at, actor, kind, entity, uid, task, list_id, rank, status, old = row
    before = None if old is None else _moved(old)
    was = None if before is None else (before.list_id or list_id, before.rank or rank)
    return Change(seq, at, actor, kind, entity, uid, task, list_id, rank, status, was)


def list_touched_last(db: Database) -> int | None:
    """Return the number of the list whose task was changed last; None if the newest entries name none."""
    row = db.one(_TOUCHED_LAST)
    return row[0] if row else None


def active(db: Database) -> TaskLine | None:
    """Return a task in progress of any list: the one touched last, if that was recently."""
    lists = db.all(_ACTIVE_LISTS)
    if not lists:
        return None
    row = db.one(_ACTIVE_OF_RECENT) or db.one(_ACTIVE_OF_LIST, list=lists[0][0])
    return read_line(row) if row else None


def dependents(db: Database, uid: str, limit: int = 20) -> list[TaskLine]:
    """Return the tasks that depend on a task, oldest first."""
    return [read_line(row) for row in db.all(_DEPENDENTS, uid=uid, limit=limit)]


def waiting_on(db: Database, uids: Iterable[str]) -> set[str]:
    """Return the uids of the tasks that depend on any of these: changes of these may free or block them."""
    uids = list(uids)
    found: set[str] = set()
    for at in range(0, len(uids), 500):
        query = EdgeRow.select(EdgeRow.task_uid).where(EdgeRow.on_uid.in_(uids[at : at + 500]))
        found.update(uid for (uid,) in db.query(query))
    return found
