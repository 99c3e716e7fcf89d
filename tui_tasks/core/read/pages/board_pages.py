"""Pages of a board: the tasks of a list by status, at a cost that does not grow with the list.

A part of the board is a status, or `needs_you`: the open and the done tasks that an open question is about, and those
of `needing`, the uids of tasks that their agent has left (`LeftTask`), whose check has failed, or whose work is
to be reviewed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import FIRST, LAST, LINE, TaskLine, read_line
from tui_tasks.core.read.pages.task_filter import ALL, Filter, conditions
from tui_tasks.core.read.tasks.task_queries import LIVE
from tui_tasks.core.schema.agent_tables import AskRow
from tui_tasks.core.schema.tables import TaskRow
from tui_tasks.core.vocab import MAY_NEED, OPEN

# With a filter, reading stops early after so many cards: each letter reads every column, and must not block for long.
MAX_PASSED: Final = 2_000

NEEDS_YOU: Final = "needs_you"
PARTS: Final = (*OPEN, NEEDS_YOU, "failed", "done", "skipped", "cancelled")


class Card(TaskLine, frozen=True, gc=False):
    """A task, and its part of the board."""

    part: str


class Cards(list[Card]):
    """Cards in order. `reached`: the rank at which reading was stopped early, to go on from; None if it was not."""

    reached: str | None = None


_ABOUT: Any = (AskRow.state == SQL("'open'")) & AskRow.task_uid.is_null(False)
_ASKED = AskRow.select(AskRow.task_uid).where(_ABOUT)
_IS_ASKED = fn.EXISTS(AskRow.select(SQL("1")).where(_ABOUT & (AskRow.task_uid == TaskRow.uid)))


def _json(needing: Collection[str]) -> str:
    return msgspec.json.encode(sorted(needing)).decode()


def _all_needing(needing: Any) -> Any:
    """Return the query of the uids that questions are about, or that are in the JSON array `needing`."""
    return _ASKED | AskRow.select(SQL("value")).from_(fn.json_each(needing))


def _of_part(part: str, list_id: Any, needing: Any, *columns: Any) -> Any:
    of_list: Any = LIVE & (TaskRow.list_id == list_id)
    if part == NEEDS_YOU:
        # They are few, so the query starts from them: `+ 0` keeps SQLite from the list's indexes.
        may_need = TaskRow.status.in_([SQL(f"'{status}'") for status in MAY_NEED])
        of_list = LIVE & (TaskRow.list_id + SQL("0") == list_id)
        return TaskRow.select(*columns).where(TaskRow.uid.in_(_all_needing(needing)) & of_list & may_need)
    # `unlikely` makes SQLite prefer the index of a list's statuses, also where the ranks are bounded on both sides.
    query = TaskRow.select(*columns).where(of_list & fn.unlikely(TaskRow.status == SQL(f"'{part}'")))
    return query.where(TaskRow.uid.not_in(_all_needing(needing))) if part in MAY_NEED else query


def _is_in(part: str, needing: Collection[str]) -> Any:
    """Return the condition that a task is in a part, for queries that do not start from the part."""
    needs = (_IS_ASKED | TaskRow.uid.in_(list(needing))) & TaskRow.status.in_(list(MAY_NEED))
    return needs if part == NEEDS_YOU else (TaskRow.status == part) & ~needs


def _in_order(part: str, *columns: Any, backwards: bool) -> Any:
    query = _of_part(part, slot("list"), slot("needing"), *columns)
    if backwards:
        return query.where(TaskRow.rank < slot("rank")).order_by(TaskRow.rank.desc())
    return query.where(TaskRow.rank > slot("rank")).order_by(TaskRow.rank)


@cache
def _page(part: str, backwards: bool) -> Statement:
    return Statement(lambda: _in_order(part, *LINE, backwards=backwards).limit(slot("limit")))


@cache
def _step_over(part: str, backwards: bool) -> Statement:
    return Statement(lambda: _in_order(part, TaskRow.rank, backwards=backwards).limit(1).offset(slot("n")))


_BY_UID = Statement(lambda: TaskRow.select(*LINE, _IS_ASKED).where(TaskRow.uid == slot("uid")))
_ASKED_BY_STATUS = Statement(
    lambda: _of_part(NEEDS_YOU, slot("list"), slot("needing"), TaskRow.status, fn.COUNT(TaskRow.id)).group_by(
        TaskRow.status
    )
)


def _card(row: Any, part: str) -> Card:
    return Card(**msgspec.structs.asdict(read_line(row)), part=part)


def page(
    db: Database,
    list_id: int,
    part: str,
    rank: str,
    limit: int,
    only: Filter = ALL,
    *,
    backwards: bool = False,
    needing: Collection[str] = (),
) -> Cards:
    """Return the next `limit` cards of a part after a rank (`list_pages.FIRST`), or the last before it, in order."""
    if only:
        return _pass_over(db, list_id, part, rank, limit, only, needing, backwards=backwards)
    rows = db.all(_page(part, backwards), list=list_id, needing=_json(needing), rank=rank, limit=limit)
    return Cards(_card(row, part) for row in (reversed(rows) if backwards else rows))


def _pass_over(
    db: Database,
    list_id: int,
    part: str,
    rank: str,
    limit: int,
    only: Filter,
    needing: Collection[str],
    *,
    backwards: bool,
) -> Cards:
    """Do as `page` does with a filter; reading stops early when too many cards do not match."""
    if (few := list_pages.found_by_words(db, list_id, only)) is not None:
        beyond = TaskRow.rank < rank if backwards else TaskRow.rank > rank
        in_part = TaskRow.select(*LINE).where(*few, _is_in(part, needing), beyond)
        lines = db.query(in_part.order_by(TaskRow.rank.desc() if backwards else TaskRow.rank).limit(limit))
        return Cards(_card(row, part) for row in (reversed(lines) if backwards else lines))
    end = _step(db, list_id, part, rank, needing, backwards=backwards)
    query = _of_part(part, list_id, _json(needing), *LINE).where(*conditions(only)).limit(limit)
    if backwards:
        query = query.where(TaskRow.rank < rank, TaskRow.rank >= (end or FIRST)).order_by(TaskRow.rank.desc())
    else:
        query = query.where(TaskRow.rank > rank, TaskRow.rank <= (end or LAST)).order_by(TaskRow.rank)
    rows = db.query(query)
    cards = Cards(_card(row, part) for row in (reversed(rows) if backwards else rows))
    cards.reached = end if len(cards) < limit else None
    return cards


def sorted_page(
    db: Database,
    list_id: int,
    part: str,
    start: tuple[Any, ...] | None,
    limit: int,
    only: Filter,
    *,
    backwards: bool,
    needing: Collection[str],
) -> list[Card]:
    """Return the next `limit` cards of a part after a place in the order of `only.sort`, or the last before it."""
    query = _of_part(part, list_id, _json(needing), *LINE).where(*conditions(only))
    rows = db.query(list_pages.page(query, only.sort, start, limit, backwards=backwards))
    return [_card(row, part) for row in (reversed(rows) if backwards else rows)]


def _step(
    db: Database, list_id: int, part: str, rank: str, needing: Collection[str], *, backwards: bool = False
) -> str | None:
    """Return the rank of the last card to look at in one read after a rank; None past the end."""
    row = db.one(_step_over(part, backwards), list=list_id, needing=_json(needing), rank=rank, n=MAX_PASSED - 1)
    return row[0] if row else None


def find(
    db: Database, list_id: int, uids: Iterable[str], only: Filter = ALL, *, needing: Collection[str] = ()
) -> dict[str, Card]:
    """Return those of the tasks that are in the list and match the filter, by uid, each with its part."""
    if only:
        uids = list(list_pages.lines(db, list_id, uids, only))
    cards: dict[str, Card] = {}
    for uid in uids:
        row = db.one(_BY_UID, uid=uid)
        if row is None:
            continue
        *values, asked = row
        task = read_line(values)
        if not task.deleted and task.list_id == list_id:
            needs = (asked or uid in needing) and task.status in MAY_NEED
            part = NEEDS_YOU if needs else task.status
            cards[uid] = Card(**msgspec.structs.asdict(task), part=part)
    return cards


def asked(db: Database, list_id: int, needing: Collection[str]) -> dict[str, int]:
    """Return how many tasks of the list need the human, by status."""
    return dict(db.all(_ASKED_BY_STATUS, list=list_id, needing=_json(needing)))


def count(
    db: Database, list_id: int, part: str, only: Filter, needing: Collection[str] = (), after: str = FIRST
) -> tuple[int, str | None]:
    """Return how many of the next cards of a part after a rank match, and the rank of the last that was looked at; None
    past the end.
    """
    if (few := list_pages.found_by_words(db, list_id, only)) is not None:
        return db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(*few, _is_in(part, needing)))[0][0], None
    end = _step(db, list_id, part, after, needing)
    query = _of_part(part, list_id, _json(needing), fn.COUNT(TaskRow.id)).where(*conditions(only))
    return db.query(query.where(TaskRow.rank > after, TaskRow.rank <= (end or LAST)))[0][0], end
