"""Reads of the tasks and memories that match, for the dialects `task` and `memory` (docs: protocol, section 6)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import fn
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.read.tasks import search
from tui_tasks.core.read.tasks.queries import LIVE, TASK, list_by_id, read_memory, read_task
from tui_tasks.core.schema import models
from tui_tasks.core.schema.models import WAITS, MemoryRow, TaskRow
from tui_tasks.core.snapshots import Memory, Task

# All that match are counted, so that to look at each of so many costs less than to go through a long list.
MOST_FOUND: Final = 100_000
ANY_PRIORITY: Final = (vocab.URGENT, 2**63 - 1)
"""From the lowest number to the highest."""

_PART: Any = (
    LIVE
    & (TaskRow.list_id == slot("list"))
    & (TaskRow.status == slot("status"))
    & (slot("waits") == WAITS)
    & (TaskRow.priority >= slot("lowest"))
    & (TaskRow.priority <= slot("highest"))
)
_URGENT_FIRST = (TaskRow.priority, TaskRow.id)
_FIRST = Statement(TaskRow.select(*_URGENT_FIRST).where(_PART).order_by(*_URGENT_FIRST).limit(slot("limit")))
_HOW_MANY = Statement(TaskRow.select(fn.COUNT(TaskRow.id)).where(_PART))
_BY_ID = Statement(TaskRow.select(*TASK).where(TaskRow.id == slot("id")))


def tasks(
    db: Database,
    list_id: int,
    *,
    statuses: Iterable[str] = vocab.STATUSES,
    priorities: tuple[int, int] = ANY_PRIORITY,
    tags: Iterable[str] = (),
    domain: str | None = None,
    query: str | None = None,
    limit: int | None = None,
) -> tuple[list[Task], int]:
    """The tasks of a list that match, most urgent first, then oldest, and how many match in all.

    `priorities` is from the lowest number to the highest, both included.
    """
    among = sorted(set(statuses))
    if limit is not None and query is None and domain is None and not tags:
        return _page(db, list_id, among, priorities, limit), _count(db, list_id, among, priorities)
    narrow = None if query is None else search.narrowed(db, [query], MOST_FOUND)
    wanted: Any = LIVE & search.of_list(list_id, narrow) & TaskRow.status.in_(among)
    wanted &= TaskRow.priority.between(*priorities)
    for tag in tags:
        wanted &= fn.has_tag(TaskRow.tags, tag) == 1
    if domain is not None:
        wanted &= TaskRow.domain == domain
    if query is not None:
        folded = query.casefold()
        wanted &= (fn.instr(fn.casefold(TaskRow.name), folded) > 0) | (
            fn.instr(fn.casefold(TaskRow.description), folded) > 0
        )
    total = db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(wanted))[0][0]
    rows = db.query(TaskRow.select(*TASK).where(wanted).order_by(*_URGENT_FIRST).limit(-1 if limit is None else limit))
    return [read_task(row) for row in rows], total


def _page(db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int], limit: int) -> list[Task]:
    """The first of them from `task_urgency`, in a time that does not grow with the list."""
    found: list[tuple[int, int]] = []
    for part in _parts(list_id, statuses, between):
        found += db.all(_FIRST, limit=limit, **part)
    return [read_task(db.one(_BY_ID, id=number)) for _, number in heapq.nsmallest(limit, found)]


def _count(db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> int:
    if between == ANY_PRIORITY:
        home = list_by_id(db, list_id)
        return sum(getattr(home, status) for status in statuses)
    return sum(db.one(_HOW_MANY, **part)[0] for part in _parts(list_id, statuses, between))


def _parts(list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """What `task_urgency` keeps together: the tasks of one status, apart by whether they wait for others."""
    for status in statuses:
        for waits in (0, 1):
            yield {"list": list_id, "status": status, "waits": waits, "lowest": between[0], "highest": between[1]}


def memories(
    db: Database,
    *,
    list_id: int | None = None,
    uid: str | None = None,
    query: str | None = None,
    domain: str | None = None,
    limit: int | None = None,
) -> tuple[list[Memory], int]:
    """The memories that match, last updated first, and how many match in all; `list_id`: of that list's tasks."""
    wanted: Any = MemoryRow.deleted == 0
    if list_id is not None:
        wanted &= MemoryRow.task_uid.in_(TaskRow.select(TaskRow.uid).where(TaskRow.list_id == list_id))
    if uid is not None:
        wanted &= MemoryRow.uid == uid
    if domain is not None:
        wanted &= MemoryRow.domain == domain
    if query is not None:
        folded = query.casefold()
        # The content is kept as JSON: a text stands in it as JSON writes it.
        within = msgspec.json.encode(folded).decode()[1:-1]
        wanted &= (fn.instr(fn.casefold(MemoryRow.title), folded) > 0) | (
            fn.instr(fn.casefold(MemoryRow.content), within) > 0
        )
    found = MemoryRow.select(*models.columns(MemoryRow).values()).where(wanted)
    total = db.query(MemoryRow.select(fn.COUNT(MemoryRow.id)).where(wanted))[0][0]
    latest_first = found.order_by(MemoryRow.updated_at.desc(), MemoryRow.id.desc())
    rows = db.query(latest_first.limit(-1 if limit is None else limit))
    return [read_memory(row) for row in rows], total
