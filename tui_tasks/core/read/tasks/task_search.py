"""Reads of matching tasks and memories, for `task`, `memory` and `control:find` (docs: protocol, sections 6 and 7)."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.pages import search_index
from tui_tasks.core.read.tasks.task_queries import IN_LIVE_LIST, LIVE, TASK, list_by_id, read_task
from tui_tasks.core.read.tasks.task_records import read_memory
from tui_tasks.core.schema.record_tables import MemoryRow
from tui_tasks.core.schema.tables import WAITS, TaskRow, columns
from tui_tasks.core.snapshots import Memory, Task, TaskList

# All matches are counted, so reading each of this many costs less than going through a long list.
MAX_FOUND: Final = 100_000
ANY_PRIORITY: Final = (vocab.URGENT, 2**63 - 1)
"""The lowest and the highest number."""

_PART: Any = (
    LIVE
    & (TaskRow.list_id == slot("list"))
    & (TaskRow.status == slot("status"))
    & (slot("waits") == WAITS)
    & (TaskRow.priority >= slot("lowest"))
    & (TaskRow.priority <= slot("highest"))
    & ((TaskRow.priority > slot("lowest")) | (TaskRow.id > slot("behind")))
)
_URGENT_FIRST = (TaskRow.priority, TaskRow.id)
_FIRST = Statement(lambda: TaskRow.select(*_URGENT_FIRST).where(_PART).order_by(*_URGENT_FIRST).limit(slot("limit")))
_HOW_MANY = Statement(lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(_PART))
_BY_ID = Statement(lambda: TaskRow.select(*TASK).where(TaskRow.id == slot("id")))
_MEMORY = Statement(lambda: MemoryRow.select(*columns(MemoryRow).values()).where(MemoryRow.id == slot("id")))
# Row numbers begin with 1.
_FIRST_OF_ALL: Final = (vocab.URGENT, 0)


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
    after: str | None = None,
) -> tuple[Generator[Task, None, None], int]:
    """Return the matching tasks of a list one by one, most urgent first, then oldest, and how many match in all.

    `priorities` are the lowest and the highest number, both included; `after`: only tasks after the one of that uid.

    Raises:
        NotFound: that task is not, or no longer, among them.
    """
    among = sorted(set(statuses))
    if limit is not None and query is None and domain is None and not tags:
        begin = _FIRST_OF_ALL
        if after is not None:
            of_list: Any = LIVE & (TaskRow.list_id == list_id)
            begin = _place_of(db, after, of_list & TaskRow.status.in_(among) & TaskRow.priority.between(*priorities))
        page = _page(db, list_id, among, priorities, begin, limit)
        return _read_one_by_one(db, iter(page)), _count(db, list_id, among, priorities)
    narrow = None if query is None else search_index.narrowed(db, [query], MAX_FOUND)
    wanted: Any = LIVE & search_index.of_list(list_id, narrow) & TaskRow.status.in_(among)
    wanted &= TaskRow.priority.between(*priorities)
    wanted = _with(wanted, tags, domain, query)
    total = db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(wanted))[0][0]
    if after is not None:
        priority, number = _place_of(db, after, wanted)
        wanted &= (TaskRow.priority > priority) | ((TaskRow.priority == priority) & (TaskRow.id > number))
    # Only the columns of the sort order are read at once.
    places = db.each_of(TaskRow.select(*_URGENT_FIRST).where(wanted).order_by(*_URGENT_FIRST))
    return _read_one_by_one(db, islice(places, limit)), total


def _with(wanted: Any, tags: Iterable[str], domain: str | None, query: str | None) -> Any:
    """Return a condition with those that a task has these tags, this domain and this text."""
    for tag in tags:
        wanted &= fn.has_tag(TaskRow.tags, tag) == 1
    if domain is not None:
        wanted &= TaskRow.domain == domain
    return wanted if query is None else wanted & _has_text(query)


def of_all_lists(
    db: Database,
    *,
    text: str | None,
    list_id: int | None,
    statuses: Iterable[str],
    tag: str | None,
    agent: str | None,
    behind: int,
) -> Generator[tuple[Task, TaskList], None, None]:
    """Yield the matching tasks with their lists, oldest first; `behind`: only those with a higher row id."""
    narrow = None if text is None else search_index.narrowed(db, [text], MAX_FOUND)
    wanted: Any = LIVE & IN_LIVE_LIST & (TaskRow.id > behind) & TaskRow.status.in_(sorted(set(statuses)))
    if list_id is not None:
        wanted &= search_index.of_list(list_id, narrow)
    elif narrow is not None:
        wanted &= narrow
    if tag is not None:
        wanted &= fn.has_tag(TaskRow.tags, tag) == 1
    if agent is not None:
        wanted &= TaskRow.agent == agent
    if text is not None:
        wanted &= _has_text(text)
    homes: dict[int, TaskList] = {}
    for (number,) in db.each_of(TaskRow.select(TaskRow.id).where(wanted).order_by(TaskRow.id)):
        task = read_task(db.one(_BY_ID, id=number))
        if task.list_id not in homes:
            homes[task.list_id] = list_by_id(db, task.list_id)
        yield task, homes[task.list_id]


def _has_text(text: str) -> Any:
    """Return the condition that a text is in the name or the description, without regard to case."""
    folded = text.casefold()
    return (fn.instr(fn.casefold(TaskRow.name), folded) > 0) | (fn.instr(fn.casefold(TaskRow.description), folded) > 0)


def _read_one_by_one(db: Database, places: Iterator[tuple[int, int]]) -> Generator[Task, None, None]:
    for _, number in places:
        yield read_task(db.one(_BY_ID, id=number))


def _place_of(db: Database, uid: str, wanted: Any) -> tuple[int, int]:
    """Return the priority and number of the task with that uid.

    Raises:
        NotFound: it is not among the matching tasks.
    """
    rows = db.query(TaskRow.select(*_URGENT_FIRST).where(wanted & (TaskRow.uid == uid)))
    if not rows:
        raise NotFound("task", uid)
    return rows[0][0], rows[0][1]


def _page(
    db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int], begin: tuple[int, int], limit: int
) -> list[tuple[int, int]]:
    """Return the first matching tasks after `begin` in `task_urgency`, at a cost that does not grow with the list."""
    places: list[tuple[int, int]] = []
    lowest, behind = max(begin, (between[0], 0))
    for part in _parts(list_id, statuses, (lowest, between[1])):
        places += db.all(_FIRST, limit=limit, behind=behind, **part)
    return heapq.nsmallest(limit, places)


def _count(db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> int:
    if between == ANY_PRIORITY:
        home = list_by_id(db, list_id)
        return sum(getattr(home, status) for status in statuses)
    return sum(db.one(_HOW_MANY, behind=0, **part)[0] for part in _parts(list_id, statuses, between))


def _parts(list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Return the contiguous parts of `task_urgency`: one status each, with and without tasks that wait for others."""
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
) -> tuple[Generator[Memory, None, None], int]:
    """Return the matching memories one by one, last updated first, and how many match in all.

    `list_id`: only memories of that list's tasks.
    """
    wanted: Any = MemoryRow.deleted == 0
    if list_id is not None:
        wanted &= MemoryRow.task_uid.in_(TaskRow.select(TaskRow.uid).where(TaskRow.list_id == list_id))
    if uid is not None:
        wanted &= MemoryRow.uid == uid
    if domain is not None:
        wanted &= MemoryRow.domain == domain
    if query is not None:
        folded = query.casefold()
        # The content is stored as JSON, so it contains a text in JSON's spelling.
        within = msgspec.json.encode(folded).decode()[1:-1]
        wanted &= (fn.instr(fn.casefold(MemoryRow.title), folded) > 0) | (
            fn.instr(fn.casefold(MemoryRow.content), within) > 0
        )
    total = db.query(MemoryRow.select(fn.COUNT(MemoryRow.id)).where(wanted))[0][0]
    latest_first = (MemoryRow.updated_at.desc(), MemoryRow.id.desc())
    rows = db.each_of(MemoryRow.select(MemoryRow.id).where(wanted).order_by(*latest_first))
    return (read_memory(db.one(_MEMORY, id=number)) for (number,) in islice(rows, limit)), total
