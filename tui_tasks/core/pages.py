"""Reads for screens: pages of a list by key, places, and what changed, each at a cost that does not grow with the list.

A page is found by the rank where it starts, never by counting rows to it. Rows are narrow: no description, which may
be long, is read for a line on a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from peewee import JOIN, SQL, fn

from tui_tasks.core import models, vocab
from tui_tasks.core.database import Database, Statement, slot
from tui_tasks.core.models import EdgeRow, JournalRow, ListRow, LogRow, TaskRow
from tui_tasks.core.queries import LIVE
from tui_tasks.core.snapshots import LogEntry, reader

J = JournalRow


class TaskLine(msgspec.Struct, frozen=True, gc=False):
    """What one line on a screen shows of a task. Instants are microseconds, UTC."""

    uid: str
    list_id: int
    rank: str
    name: str
    status: str
    priority: int
    tags: tuple[str, ...]
    domain: str | None
    agent: str | None
    depends_on: tuple[str, ...]
    version: int
    created_by: str
    updated_at: int
    updated_by: str
    started_at: int | None
    finished_at: int | None
    waiting_on: int
    deleted: bool

    @property
    def blocked(self) -> bool:
        """Whether it is pending and a dependency holds it up."""
        return self.waiting_on > 0 and self.status == "pending"

    @property
    def who(self) -> str:
        """Whose it is: its agent, else, once somebody has taken it up, who touched it last; else nobody (empty)."""
        return self.agent or ("" if self.status == "pending" else self.updated_by)


class Term(msgspec.Struct, frozen=True, gc=False):
    """One word of a filter: `field` is word, status, who, tag, domain or prio; `value` is in the state's words.

    A status may also be open, blocked or changed. Words and names are compared with case folded.
    """

    field: str
    value: str
    negated: bool = False


class Filter(msgspec.Struct, frozen=True, gc=False):
    """Which tasks of a list are wanted; none of the terms is every task. `looked_at` is what `changed` counts from."""

    terms: tuple[Term, ...] = ()
    looked_at: int = 0

    def __bool__(self) -> bool:
        return bool(self.terms)


class Change(msgspec.Struct, frozen=True, gc=False):
    """One journal entry, without what it says: what was touched. `list_id` is the task's list as it is now."""

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    list_id: int | None


ALL: Final = Filter()
_FIELDS = models.columns(TaskRow)
_LINE = tuple(_FIELDS[name] for name in TaskLine.__struct_fields__)
_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_read_log = reader(LogEntry, LogRow)
_OF_LIST: Any = LIVE & (TaskRow.list_id == slot("list"))
_AFTER = Statement(
    TaskRow.select(*_LINE).where(_OF_LIST & (TaskRow.rank > slot("rank"))).order_by(TaskRow.rank).limit(slot("limit"))
)
_BEFORE = Statement(
    TaskRow.select(*_LINE)
    .where(_OF_LIST & (TaskRow.rank < slot("rank")))
    .order_by(TaskRow.rank.desc())
    .limit(slot("limit"))
)
_FIRST = Statement(TaskRow.select(*_LINE).where(_OF_LIST).order_by(TaskRow.rank).limit(slot("limit")))
_LAST = Statement(TaskRow.select(*_LINE).where(_OF_LIST).order_by(TaskRow.rank.desc()).limit(slot("limit")))
_LINE_BY_UID = Statement(TaskRow.select(*_LINE).where(TaskRow.uid == slot("uid")))
_AHEAD = Statement(TaskRow.select(fn.COUNT(TaskRow.id)).where(_OF_LIST & (TaskRow.rank < slot("rank"))))
_RANK_AT = Statement(TaskRow.select(TaskRow.uid).where(_OF_LIST).order_by(TaskRow.rank).limit(1).offset(slot("offset")))
_DEPENDENTS = Statement(
    TaskRow.select(*_LINE)
    .join(EdgeRow, on=(EdgeRow.task_uid == TaskRow.uid))
    .where((EdgeRow.on_uid == slot("uid")) & LIVE)
    .order_by(TaskRow.id)
    .limit(slot("limit"))
)
_LOG_BEFORE = Statement(
    LogRow.select(*models.columns(LogRow).values())
    .where((LogRow.task_uid == slot("task")) & (LogRow.deleted == SQL("0")) & (LogRow.id < slot("before")))
    .order_by(LogRow.id.desc())
    .limit(slot("limit"))
)
_LOG_COUNT = Statement(
    LogRow.select(fn.COUNT(LogRow.id)).where((LogRow.task_uid == slot("task")) & (LogRow.deleted == SQL("0")))
)
_CHANGES = Statement(
    J.select(J.seq, J.at, J.actor, J.kind, J.entity, J.uid, J.task, TaskRow.list_id)
    .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task))
    .where(J.seq > slot("since"))
    .order_by(J.seq)
    .limit(slot("limit"))
)
_TOUCHED_LAST = Statement(
    J.select(TaskRow.list_id)
    .join(TaskRow, on=(TaskRow.uid == J.task))
    .join(ListRow, on=(ListRow.id == TaskRow.list_id))
    .where(ListRow.deleted == SQL("0"))
    .order_by(J.seq.desc())
    .limit(1)
)
_FAILED = Statement(ListRow.select(fn.COALESCE(fn.SUM(ListRow.failed), 0)).where(ListRow.deleted == SQL("0")))
_ACTIVE_LISTS = Statement(
    ListRow.select(ListRow.id).where((ListRow.deleted == SQL("0")) & (ListRow.in_progress > SQL("0")))
)
_ACTIVE_OF_LIST = Statement(
    TaskRow.select(*_LINE)
    .where(_OF_LIST & (TaskRow.status == SQL("'in_progress'")))
    .order_by(TaskRow.updated_at.desc())
    .limit(slot("limit"))
)
# Each distinct actor by one step in the index on (actor, seq), however long the journal is.
_ACTORS = """
WITH RECURSIVE known(name) AS (
    SELECT min(actor) FROM journal
    UNION ALL
    SELECT (SELECT min(actor) FROM journal WHERE actor > known.name) FROM known WHERE known.name IS NOT NULL
)
SELECT known.name, last.seq, last.at FROM known
JOIN journal AS last ON last.seq = (SELECT max(seq) FROM journal WHERE actor = known.name)
"""


def _read_line(row: Any) -> TaskLine:
    values = list(row)
    values[6], values[9], values[17] = _strings(row[6]), _strings(row[9]), bool(row[17])
    return TaskLine(*values)


assert [TaskLine.__struct_fields__[at] for at in (6, 9, 17)] == ["tags", "depends_on", "deleted"]


def after(db: Database, list_id: int, rank: str, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """The next `limit` tasks of a list after a rank, in order."""
    if only:
        return _filtered(db, only, [TaskRow.list_id == list_id, TaskRow.rank > rank], limit)
    return [_read_line(row) for row in db.all(_AFTER, list=list_id, rank=rank, limit=limit)]


def before(db: Database, list_id: int, rank: str, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """The last `limit` tasks of a list before a rank, in order."""
    if only:
        return _filtered(db, only, [TaskRow.list_id == list_id, TaskRow.rank < rank], limit, backwards=True)
    return [_read_line(row) for row in reversed(db.all(_BEFORE, list=list_id, rank=rank, limit=limit))]


def first(db: Database, list_id: int, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """The first `limit` tasks of a list, in order."""
    if only:
        return _filtered(db, only, [TaskRow.list_id == list_id], limit)
    return [_read_line(row) for row in db.all(_FIRST, list=list_id, limit=limit)]


def last(db: Database, list_id: int, limit: int, only: Filter = ALL) -> list[TaskLine]:
    """The last `limit` tasks of a list, in order."""
    if only:
        return _filtered(db, only, [TaskRow.list_id == list_id], limit, backwards=True)
    return [_read_line(row) for row in reversed(db.all(_LAST, list=list_id, limit=limit))]


def line(db: Database, uid: str) -> TaskLine | None:
    """The task with that uid, a deleted one too."""
    row = db.one(_LINE_BY_UID, uid=uid)
    return _read_line(row) if row else None


def lines(db: Database, list_id: int, uids: Iterable[str], only: Filter = ALL) -> dict[str, TaskLine]:
    """Those of the tasks that stand in the list and are wanted, by uid."""
    uids = list(uids)
    if only:
        found = [
            found
            for at in range(0, len(uids), 500)
            for found in _filtered(db, only, [TaskRow.list_id == list_id, TaskRow.uid.in_(uids[at : at + 500])], 500)
        ]
        return {task.uid: task for task in found}
    each = (line(db, uid) for uid in uids)
    return {task.uid: task for task in each if task is not None and not task.deleted and task.list_id == list_id}


def ahead(db: Database, list_id: int, rank: str) -> int:
    """How many tasks of the list stand before a rank: a task's place less one."""
    count: int = db.one(_AHEAD, list=list_id, rank=rank)[0]
    return count


def at_place(db: Database, list_id: int, place: int) -> str | None:
    """The uid of the task at a place of the list, counted from 1."""
    row = db.one(_RANK_AT, list=list_id, offset=place - 1) if place > 0 else None
    return row[0] if row else None


def count(db: Database, list_id: int, only: Filter) -> int:
    """How many tasks of the list are wanted. It looks at all of them."""
    query = TaskRow.select(fn.COUNT(TaskRow.id)).where(LIVE, TaskRow.list_id == list_id, *_wanted(only))
    counted: int = db.query(query)[0][0]
    return counted


def dependents(db: Database, uid: str, limit: int = 20) -> list[TaskLine]:
    """The tasks that depend on a task, oldest first."""
    return [_read_line(row) for row in db.all(_DEPENDENTS, uid=uid, limit=limit)]


def log_page(db: Database, uid: str, limit: int, before_id: int = 2**62) -> list[LogEntry]:
    """A task's newest log entries before an entry's number, newest first."""
    return [_read_log(row) for row in db.all(_LOG_BEFORE, task=uid, before=before_id, limit=limit)]


def log_count(db: Database, uid: str) -> int:
    """How many log entries a task has."""
    counted: int = db.one(_LOG_COUNT, task=uid)[0]
    return counted


def changes(db: Database, since: int, limit: int) -> list[Change]:
    """What the oldest `limit` journal entries after `since` touched."""
    return [Change(*row) for row in db.all(_CHANGES, since=since, limit=limit)]


def list_touched_last(db: Database) -> int | None:
    """The number of the list whose task was changed last, or None where no task ever was."""
    row = db.one(_TOUCHED_LAST)
    return row[0] if row else None


def failed(db: Database) -> int:
    """How many tasks of all lists have failed."""
    summed: int = db.one(_FAILED)[0]
    return summed


def active(db: Database, limit: int = 10) -> list[TaskLine]:
    """The tasks in progress of all lists, the one touched last first."""
    found = [
        _read_line(row)
        for (list_id,) in db.all(_ACTIVE_LISTS)
        for row in db.all(_ACTIVE_OF_LIST, list=list_id, limit=limit)
    ]
    return sorted(found, key=lambda task: task.updated_at, reverse=True)[:limit]


def speakers(db: Database) -> list[tuple[str, int, int]]:
    """Every agent that has changed something: name, seq and instant of its last entry."""
    return [row for row in db.sql(_ACTORS).fetchall() if row[0] not in vocab.RESERVED_AGENTS]


def _filtered(
    db: Database, only: Filter, where: Sequence[Any], limit: int, *, backwards: bool = False
) -> list[TaskLine]:
    order = TaskRow.rank.desc() if backwards else TaskRow.rank
    rows = db.query(TaskRow.select(*_LINE).where(LIVE, *where, *_wanted(only)).order_by(order).limit(limit))
    return [_read_line(row) for row in (reversed(rows) if backwards else rows)]


def _wanted(only: Filter) -> list[Any]:
    """The conditions of a filter: of one field any will do, but tags and words must all be there."""
    conditions: list[Any] = []
    anys: dict[str, Any] = {}
    for term in only.terms:
        condition = _condition(term, only.looked_at)
        if term.negated:
            conditions.append(~condition)
        elif term.field in ("word", "tag"):
            conditions.append(condition)
        else:
            anys[term.field] = anys[term.field] | condition if term.field in anys else condition
    return [*conditions, *anys.values()]


def _condition(term: Term, looked_at: int) -> Any:
    value = term.value
    folded = value.casefold()
    if term.field == "status":
        return _status(value, looked_at)
    if term.field == "who":
        taken_up = fn.IIF(TaskRow.status == "pending", "", TaskRow.updated_by)
        return fn.casefold(fn.COALESCE(TaskRow.agent, taken_up)) == folded
    if term.field == "tag":
        return fn.has_tag(TaskRow.tags, value) == 1
    if term.field == "domain":
        return fn.COALESCE(fn.casefold(TaskRow.domain), "") == folded
    if term.field == "prio":
        number = vocab.PRIORITY_WORDS[value]
        return TaskRow.priority >= number if number == vocab.LOW else TaskRow.priority == number
    return (fn.instr(fn.casefold(TaskRow.name), folded) > 0) | (fn.instr(fn.casefold(TaskRow.description), folded) > 0)


def _status(value: str, looked_at: int) -> Any:
    if value == "open":
        return TaskRow.status.in_(["pending", "in_progress"])
    if value == "blocked":
        return (TaskRow.status == "pending") & (TaskRow.waiting_on > 0)
    if value == "changed":
        return (TaskRow.updated_at > looked_at) & (TaskRow.updated_by != vocab.HUMAN)
    return TaskRow.status == value
