"""Pages of a list for screens, in its order, by due date, or sorted otherwise.

A page is found by the rank where it starts, never by counting rows, so its cost does not grow with the list. Rows are
narrow: descriptions, which may be long, are not read for a line on a screen. The order of tasks that all have a due
date is `(due, rank)`, which an index holds. Dates and instants sort as text: a date comes before the instants of its
day.

Each other sorted page looks at all tasks of the list: see `MAX_SORTED`. Its order is a tuple of columns, the rank last;
`sorted_place` returns the same values of a line, for comparison in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Case, Statement, Tuple, fn, slot
from tui_tasks.core.read.pages.task_filter import ALL, Filter, among, conditions, shown_agent, words
from tui_tasks.core.read.tasks.task_queries import IN_LIVE_LIST, LIVE, OF_LIST, aged_from
from tui_tasks.core.schema.tables import TaskRow, columns
from tui_tasks.core.vocab import CLOSED, HUMAN, OPEN

# With a filter, rows are read in stretches; after `MAX_PASSED` rows reading stops early.
STRETCH: Final = 5_000
MAX_PASSED: Final = 20_000
# The longest JSON of a task's tags that a line includes.
MAX_TAGS: Final = 4_000


class TaskLine(msgspec.Struct, frozen=True, gc=False):
    """What one line of a screen shows of a task. Instants are microseconds, UTC."""

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
    due: str | None
    held: bool
    checks: tuple[str, ...] | None
    status_by: str | None
    number: int
    deleted: bool

    @property
    def blocked(self) -> bool:
        """Return whether it is pending and blocked by a dependency."""
        return self.waiting_on > 0 and self.status == "pending"

    @property
    def who(self) -> str:
        """Return its agent, otherwise who set its status if it was taken up, otherwise "".

        Anybody may close a task of the human's: they are named.
        """
        agent = None if self.agent == HUMAN and self.status in CLOSED else self.agent
        return agent or ("" if self.status == "pending" else self.status_by or self.updated_by)


class TaskPage(list[TaskLine]):
    """Tasks in order. `reached`: the rank at which reading was stopped early, to go on from; None if it was not."""

    reached: str | None = None

    @property
    def cut(self) -> bool:
        """Return whether reading was stopped early."""
        return self.reached is not None


_FIELDS = columns(TaskRow)
# Tags are offered for completion; a line of a screen has no room for thousands.
_FEW_TAGS: Final = Case(None, [(fn.LENGTH(_FIELDS["tags"]) <= MAX_TAGS, _FIELDS["tags"])], SQL("'[]'"))
_OWN: Final = {"tags": _FEW_TAGS, "number": _FIELDS["id"]}
LINE: Final = tuple(_OWN.get(name, _FIELDS.get(name)) for name in TaskLine.__struct_fields__)
# Before and after every rank, as ranks are made of hexadecimal digits.
FIRST: Final = ""
LAST: Final = "~"


def _forwards(*columns: Any) -> Any:
    return TaskRow.select(*columns).where(OF_LIST & (TaskRow.rank > slot("rank"))).order_by(TaskRow.rank)


def _backwards(*columns: Any) -> Any:
    return TaskRow.select(*columns).where(OF_LIST & (TaskRow.rank < slot("rank"))).order_by(TaskRow.rank.desc())


_AFTER = Statement(lambda: _forwards(*LINE).limit(slot("limit")))
_BEFORE = Statement(lambda: _backwards(*LINE).limit(slot("limit")))
_STEP_AFTER = Statement(lambda: _forwards(TaskRow.rank).limit(1).offset(slot("steps")))
_STEP_BEFORE = Statement(lambda: _backwards(TaskRow.rank).limit(1).offset(slot("steps")))
# A task of a deleted list counts as deleted.
_GONE: Any = fn.IIF(IN_LIVE_LIST, TaskRow.deleted, 1)
_BY_UID = Statement(lambda: TaskRow.select(*LINE[:-1], _GONE).where(TaskRow.uid == slot("uid")))
_BY_NUMBER = Statement(lambda: TaskRow.select(*LINE).where(LIVE & (TaskRow.id == slot("number")) & IN_LIVE_LIST))
_BETWEEN = Statement(
    lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(
        OF_LIST & (TaskRow.rank > slot("low")) & (TaskRow.rank < slot("high"))
    )
)
_COUNT_FROM = Statement(lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(OF_LIST & (TaskRow.rank >= slot("low"))))
_strings = msgspec.json.Decoder(tuple[str, ...]).decode


def read_line(row: Any) -> TaskLine:
    """Return the snapshot of a row (a tuple of `LINE`)."""
    values = list(row)
    values[6], values[9], values[18], values[22] = _strings(row[6]), _strings(row[9]), bool(row[18]), bool(row[22])
    values[19] = None if row[19] is None else _strings(row[19])
    return TaskLine(*values)


assert [TaskLine.__struct_fields__[at] for at in (6, 9, 18, 19, 22)] == [
    "tags",
    "depends_on",
    "held",
    "checks",
    "deleted",
]


def after(db: Database, list_id: int, rank: str, limit: int, only: Filter = ALL) -> TaskPage:
    """Return the next `limit` tasks of a list after a rank (`FIRST`: from the start), in order."""
    if only:
        return _pass_over(db, list_id, rank, limit, only, backwards=False)
    return TaskPage(map(read_line, db.all(_AFTER, list=list_id, rank=rank, limit=limit)))


def before(db: Database, list_id: int, rank: str, limit: int, only: Filter = ALL) -> TaskPage:
    """Return the last `limit` tasks of a list before a rank (`LAST`: from the end), in order."""
    if only:
        return _pass_over(db, list_id, rank, limit, only, backwards=True)
    return TaskPage(map(read_line, reversed(db.all(_BEFORE, list=list_id, rank=rank, limit=limit))))


def _pass_over(db: Database, list_id: int, rank: str, limit: int, only: Filter, *, backwards: bool) -> TaskPage:
    """Return a page of matching tasks, read in stretches so that a rare word does not block for long."""
    if (few := found_by_words(db, list_id, only)) is not None:
        beyond = TaskRow.rank < rank if backwards else TaskRow.rank > rank
        query = TaskRow.select(*LINE).where(*few, beyond).order_by(TaskRow.rank.desc() if backwards else TaskRow.rank)
        lines = list(map(read_line, db.query(query.limit(limit))))
        return TaskPage(reversed(lines) if backwards else lines)
    wanted = [LIVE, TaskRow.list_id == list_id, *conditions(only)]
    order = TaskRow.rank.desc() if backwards else TaskRow.rank
    rows: list[Any] = []
    passed = 0
    while True:
        end = step(db, list_id, rank, STRETCH, backwards=backwards)
        if backwards:
            stretch = [TaskRow.rank < rank, TaskRow.rank >= (FIRST if end is None else end)]
        else:
            stretch = [TaskRow.rank > rank, TaskRow.rank <= (LAST if end is None else end)]
        query = TaskRow.select(*LINE).where(*wanted, *stretch).order_by(order).limit(limit - len(rows))
        rows += db.query(query)
        passed += STRETCH
        if end is None or len(rows) >= limit or passed >= MAX_PASSED:
            break
        rank = end
    page = TaskPage(map(read_line, reversed(rows) if backwards else rows))
    if end is not None and len(rows) < limit:
        page.reached = end
    return page


def found_by_words(db: Database, list_id: int, only: Filter) -> list[Any] | None:
    """Return conditions that find the matching tasks of a list by the search index; None if it does not help."""
    wanted = words(db, only) if any(term.field == "word" for term in only.terms) else []
    if not wanted:
        return None
    from tui_tasks.core.read.tasks import task_search  # short commands show lists, and seldom search them

    narrow = task_search.narrowed(db, wanted)
    if narrow is None:
        return None
    if only.shown is not None:
        narrow |= among([uid for word in wanted for uid in only.shown(word)])
    return [task_search.in_list(list_id, narrow), LIVE, *conditions(only)]


def step(db: Database, list_id: int, rank: str, steps: int, *, backwards: bool = False) -> str | None:
    """Return the rank of the task `steps` further than a rank; None past the end."""
    row = db.one(_STEP_BEFORE if backwards else _STEP_AFTER, list=list_id, rank=rank, steps=steps - 1)
    return row[0] if row else None


def line(db: Database, uid: str) -> TaskLine | None:
    """Return the task with that uid, also if it was deleted; None if there is none."""
    row = db.one(_BY_UID, uid=uid)
    return read_line(row) if row else None


def line_of_number(db: Database, number: int) -> TaskLine | None:
    """Return the task with that number; None if there is none, or it or its list was deleted."""
    row = db.one(_BY_NUMBER, number=number)
    return read_line(row) if row else None


def lines(db: Database, list_id: int, uids: Iterable[str], only: Filter = ALL) -> dict[str, TaskLine]:
    """Return those of the tasks that are in the list and match the filter, by uid."""
    if not only:
        each = (line(db, uid) for uid in uids)
        return {task.uid: task for task in each if task is not None and not task.deleted and task.list_id == list_id}
    uids = list(uids)
    by_uid: dict[str, TaskLine] = {}
    for at in range(0, len(uids), 500):
        wanted = [LIVE, TaskRow.list_id == list_id, TaskRow.uid.in_(uids[at : at + 500]), *conditions(only)]
        by_uid |= {row[0]: read_line(row) for row in db.query(TaskRow.select(*LINE).where(*wanted))}
    return by_uid


def between(db: Database, list_id: int, low: str = FIRST, high: str = LAST) -> int:
    """Return how many tasks of the list are between two ranks, by counting them."""
    counted: int = db.one(_BETWEEN, list=list_id, low=low, high=high)[0]
    return counted


def count_from(db: Database, list_id: int, rank: str) -> int:
    """Return how many tasks of the list are at a rank or after it, by counting them."""
    counted: int = db.one(_COUNT_FROM, list=list_id, low=rank)[0]
    return counted


def matching_uids(db: Database, list_id: int, only: Filter) -> frozenset[str]:
    """Return the uids of all matching tasks of the list."""
    few = found_by_words(db, list_id, only) or [LIVE, TaskRow.list_id == list_id, *conditions(only)]
    return frozenset(row[0] for row in db.query(TaskRow.select(TaskRow.uid).where(*few)))


def count_on(db: Database, list_id: int, rank: str, only: Filter) -> tuple[int, str | None]:
    """Return how many of the next tasks after a rank match, and the rank to go on from; None at the end."""
    if (few := found_by_words(db, list_id, only)) is not None:
        return db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(*few, TaskRow.rank > rank))[0][0], None
    end = step(db, list_id, rank, MAX_PASSED)
    query = TaskRow.select(fn.COUNT(TaskRow.id)).where(
        LIVE, TaskRow.list_id == list_id, TaskRow.rank > rank, TaskRow.rank <= (end or LAST), *conditions(only)
    )
    return db.query(query)[0][0], end


def uids_on(db: Database, list_id: int, rank: str, only: Filter, limit: int) -> tuple[list[str], str | None]:
    """Return the uids of the next `limit` matching tasks after a rank, and the rank to go on from; None at the end."""
    wanted = found_by_words(db, list_id, only)
    end = step(db, list_id, rank, MAX_PASSED) if only and not wanted else None
    wanted = wanted or [LIVE, TaskRow.list_id == list_id, *conditions(only)]
    query = TaskRow.select(TaskRow.uid).where(TaskRow.rank > rank, TaskRow.rank <= (end or LAST), *wanted)
    uids = [row[0] for row in db.query(query.order_by(TaskRow.rank).limit(limit))]
    return uids, end if len(uids) < limit else None


def _due_after(db: Database, list_id: int, due: str, rank: str, limit: int, only: Filter) -> list[TaskLine]:
    """Return the next `limit` tasks with a due date after a place in the order; `("", "")` is the start."""
    of_list = _of_list(db, list_id, only)
    same = [*of_list, TaskRow.due == due, TaskRow.rank > rank]
    rows = _lines(db, same, (TaskRow.rank,), limit)
    if len(rows) < limit:
        rows += _lines(db, [*of_list, TaskRow.due > due], (TaskRow.due, TaskRow.rank), limit - len(rows))
    return rows


def _due_before(db: Database, list_id: int, due: str, rank: str, limit: int, only: Filter) -> list[TaskLine]:
    """Return the last `limit` tasks with a due date before a place in the order; `("~", "")` is the end."""
    of_list = _of_list(db, list_id, only)
    same = [*of_list, TaskRow.due == due, TaskRow.rank < rank]
    rows = _lines(db, same, (TaskRow.rank.desc(),), limit)
    if len(rows) < limit:
        order = (TaskRow.due.desc(), TaskRow.rank.desc())
        rows += _lines(db, [*of_list, TaskRow.due < due], order, limit - len(rows))
    return rows[::-1]


def _of_list(db: Database, list_id: int, only: Filter) -> list[Any]:
    # Written as the condition of the index `task_due`, so that SQLite uses it.
    has_due = [TaskRow.list_id == list_id, LIVE, TaskRow.due.is_null(False)]
    few = found_by_words(db, list_id, only) if only else None
    return [*has_due, *(few if few is not None else conditions(only))]


def _lines(db: Database, wanted: list[Any], order: tuple[Any, ...], limit: int) -> list[TaskLine]:
    query = TaskRow.select(*LINE).where(*wanted).order_by(*order).limit(limit)
    return [read_line(row) for row in db.query(query)]


MAX_SORTED: Final = 50_000
"""The most tasks of a list that is sorted: a page of so many takes some 50 ms."""

# After every due date and every agent's name.
_LAST: Final = "\U0010ffff"


class _Order(msgspec.Struct, frozen=True):
    columns: tuple[Any, ...]
    place: Callable[[TaskLine], tuple[Any, ...]]


_due: Any = fn.COALESCE(TaskRow.due, _LAST)
_is_blocked: Any = (TaskRow.waiting_on > 0) & (TaskRow.status == "pending")
_aged_from: Any = fn.COALESCE(TaskRow.finished_at, TaskRow.updated_at)
_is_over: Any = fn.IIF(TaskRow.status.in_(list(OPEN)), 0, 1)

ORDERS: Final = {
    # Tasks that can go on, then blocked ones; each by priority and due date.
    "urgency": _Order(
        (fn.IIF(_is_blocked, 1, 0), TaskRow.priority, _due),
        lambda task: (int(task.blocked), task.priority, task.due or _LAST),
    ),
    "due": _Order((_due,), lambda task: (task.due or _LAST,)),
    "age": _Order((_aged_from * -1,), lambda task: (-aged_from(task),)),
    "agent": _Order((shown_agent(_LAST),), lambda task: (task.who or _LAST,)),
}
"""The orders of open tasks, and of closed ones behind them, by the names that a person gives them."""


def sorted_place(by: str, task: TaskLine) -> tuple[Any, ...]:
    """Return the place of a task in an order."""
    return (int(task.status not in OPEN), *ORDERS[by].place(task), task.rank)


def page(query: Any, by: str, start: tuple[Any, ...] | None, limit: int, *, backwards: bool) -> Any:
    """Return a query of the next `limit` rows after a place, or of those before it, nearest first.

    `start`: the place; None for the first rows, or the last.
    """
    columns = (_is_over, *ORDERS[by].columns, TaskRow.rank)
    if start is not None:
        at, reached = Tuple(*columns), Tuple(*start)
        query = query.where(at < reached if backwards else at > reached)
    order = [column.desc() if backwards else column.asc() for column in columns]
    return query.order_by(*order).limit(limit)


def sorted_lines(
    db: Database, list_id: int, start: tuple[Any, ...] | None, limit: int, only: Filter, *, backwards: bool
) -> list[TaskLine]:
    """Return the next `limit` matching tasks of a list after a place in the order of `only.sort`, or those before."""
    if only.sorts_dated:
        read, end = (_due_before, "~") if backwards else (_due_after, "")
        due, rank = start or (end, "")
        return read(db, list_id, due, rank, limit, only)
    query = TaskRow.select(*LINE).where(LIVE, TaskRow.list_id == list_id, *conditions(only))
    rows = db.query(page(query, only.sort, start, limit, backwards=backwards))
    return [read_line(row) for row in (reversed(rows) if backwards else rows)]
