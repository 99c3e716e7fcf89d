"""Pages of the journal for people, by entry number, and the SQL conditions of their filters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import json

from tui_tasks.core import agent_names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.pages import log_folds, log_words
from tui_tasks.core.read.pages.log_folds import is_followed_by_progress
from tui_tasks.core.read.pages.log_lines import (
    LogLine,
    is_shown_with_previous,
    lines_query,
    numbers_query,
    read_line,
)
from tui_tasks.core.read.pages.task_filter import ALL, Filter, Term, combined
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import JournalRow, TaskRow
from tui_tasks.core.snapshots import TaskList

J = JournalRow


def actors(db: Database) -> list[str]:
    """Return every actor that has an entry, and those that always may."""
    return [*agent_names.agents(db), *sorted(vocab.RESERVED_AGENTS)]


def _actors_of(db: Database, term: Term) -> list[str]:
    return [name for name in actors(db) if _matches(name, term)]


def conditions(db: Database, only: Filter) -> list[Any]:
    """Return the conditions of a filter, as Peewee expressions: one term of each field must match, and all words."""
    return combined(only, lambda term: _condition(db, term), _narrows)


def _narrows(term: Term) -> bool:
    return term.field == "word"


def _condition(db: Database, term: Term) -> Any:
    if term.field == "who":
        return J.actor.in_(_actors_of(db, term))
    if term.field == "list":
        return _of_lists([home for home in task_queries.lists(db) if _matches(home.name, term)])
    if term.field == "project":
        agents_there = [
            seen.session.uid for seen in session_queries.everyone(db) if _matches(seen.session.project or "", term)
        ]
        of_lists = _of_lists([home for home in task_queries.lists(db) if _matches(home.project or "", term)])
        return of_lists | (J.task.is_null() & J.actor.in_(agents_there))
    return _condition_alone(term)


def _stands_alone(term: Term) -> bool:
    """Return whether the condition of a term is the same in every database."""
    return term.field in ("kind", "number", "word")


def _condition_alone(term: Term) -> Any:
    if term.field == "kind":
        return log_words.of_kind(term.value)
    if term.field == "number":
        return log_words.of_number(int(term.value))
    return log_words.contains_word(term.value)


def _of_lists(homes: list[TaskList]) -> Any:
    """Return the condition that an entry is about one of these lists, or about a task of one."""
    of_task = fn.COALESCE(TaskRow.list_id, 0).in_([home.id for home in homes])
    return of_task | ((J.entity == "list") & J.uid.in_([home.uid for home in homes]))


def _matches(name: str, term: Term) -> bool:
    name, value = name.casefold(), term.value.casefold()
    return name.startswith(value) if term.prefix else name == value


# With a filter, reading stops early after this many entries, so that it does not block.
MAX_PASSED: Final = 2_000
FIRST: Final = 0
LAST: Final = 2**62


class LogPage(list[LogLine]):
    """Entries, oldest first. `reached`: the number at which reading was stopped early, to go on from."""

    reached: int | None = None


_EACH = lines_query().where(~is_shown_with_previous())
_AFTER = Statement(lambda: _EACH.where(J.seq > slot("seq")).order_by(J.seq).limit(slot("limit")))
_BEFORE = Statement(lambda: _EACH.where(J.seq < slot("seq")).order_by(J.seq.desc()).limit(slot("limit")))
_ONE = Statement(lambda: _EACH.where(J.seq == slot("seq")))
# As JSON, `followed` are the numbers of entries about runs that have the line of a later one.
_FOLLOWED: Any = fn.json_each(slot("followed")).alias("followed")
_FOLDED = _EACH.where(
    J.seq.not_in(J.select(_FOLLOWED.c.value).from_(_FOLLOWED))
    & (J.kind != vocab.HEARTBEAT)
    & ~is_followed_by_progress(slot("fold"))
)
_FOLDED_AFTER = Statement(
    lambda: _FOLDED.where((J.seq > slot("seq")) & (J.seq <= slot("end"))).order_by(J.seq).limit(slot("limit"))
)
_FOLDED_BEFORE = Statement(
    lambda: _FOLDED.where((J.seq < slot("seq")) & (J.seq >= slot("end"))).order_by(J.seq.desc()).limit(slot("limit"))
)
_FOLDED_ONE = Statement(lambda: _FOLDED.where(J.seq == slot("seq")))
_BY_ACTOR = numbers_query().where((J.actor == slot("actor")) & (J.seq > slot("low")) & (J.seq < slot("high")))
_FIRST_OF_ACTOR = Statement(lambda: _BY_ACTOR.order_by(J.seq).limit(slot("limit")))
_LAST_OF_ACTOR = Statement(lambda: _BY_ACTOR.order_by(J.seq.desc()).limit(slot("limit")))
# Two queries, as SQLite would go through the whole journal for both at once.
_OLDEST = Statement(lambda: J.select(fn.COALESCE(fn.MIN(J.seq), 1)))
_NEWEST = Statement(lambda: J.select(fn.COALESCE(fn.MAX(J.seq), 0)))


def page(
    db: Database, seq: int, limit: int, only: Filter = ALL, *, backwards: bool = False, fold: int | None = None
) -> LogPage:
    """Return the next `limit` entries after a number (`FIRST`: all), or the last before it (`LAST`), oldest first.

    With `fold`, an agent's progress on one task and the runs of a job are represented by the last entry up to that
    number (see `log_folds`), and heartbeats of claims are left out. It cannot be combined with a filter.
    """
    if only or fold is not None:
        return _pass_over(db, seq, limit, only, backwards=backwards, fold=fold)
    rows = db.all(_BEFORE if backwards else _AFTER, seq=seq, limit=limit)
    return LogPage(_read_lines(db, [*reversed(rows)] if backwards else rows, None))


def _pass_over(db: Database, seq: int, limit: int, only: Filter, *, backwards: bool, fold: int | None) -> LogPage:
    oldest, newest = edges(db)
    seq = min(max(seq, oldest - 1), newest + 1)
    end = seq - MAX_PASSED if backwards else seq + MAX_PASSED
    is_of_actors = len(only.terms) == 1 and only.terms[0].field == "who" and not only.terms[0].negated
    if is_of_actors:
        # The index finds an actor's entries fast, however few they are.
        end = FIRST if backwards else LAST
    if is_of_actors and fold is None:
        seqs = _of_actors(db, _actors_of(db, only.terms[0]), seq, limit, backwards=backwards)
        rows = db.query(lines_query().where(J.seq.in_(seqs)).order_by(J.seq))
    elif fold is not None:
        low, high = (end - 1, seq - 1) if backwards else (seq, end)
        followed = json.encode(log_folds.followed_runs(db, low, high, fold)).decode()
        statement = _FOLDED_BEFORE if backwards else _FOLDED_AFTER
        rows = db.all(statement, fold=fold, followed=followed, seq=seq, end=end, limit=limit)
        rows = list(reversed(rows)) if backwards else rows
    else:
        rows = _wanted_rows(db, seq, end, limit, only, backwards=backwards)
    passed = LogPage(_read_lines(db, rows, fold))
    if len(passed) < limit and oldest < end < newest:
        passed.reached = end
    return passed


def _of_actors(db: Database, of: list[str], seq: int, limit: int, *, backwards: bool) -> list[int]:
    """Return the numbers of the next entries of actors. SQLite would sort all that they have ever written."""
    low, high = (FIRST, seq) if backwards else (seq, LAST)
    statement = _LAST_OF_ACTOR if backwards else _FIRST_OF_ACTOR
    numbers: list[int] = []
    for name in of:
        more = db.all(statement, actor=name, low=low, high=high, limit=limit)
        if not more:
            continue
        numbers = sorted([*numbers, *(number for (number,) in more)], reverse=backwards)[:limit]
        if len(numbers) == limit:
            # Of the actors that follow, only what comes before the last of these counts.
            low, high = (numbers[-1], high) if backwards else (low, numbers[-1])
    return numbers


def _wanted_rows(db: Database, seq: int, end: int, limit: int, only: Filter, *, backwards: bool) -> list[Any]:
    statement = _statements(db, only)["before" if backwards else "after"]
    rows = db.all(statement, seq=seq, end=end, limit=limit)
    return list(reversed(rows)) if backwards else rows


def find(db: Database, seqs: Collection[int], only: Filter = ALL, fold: int | None = None) -> dict[int, LogLine]:
    """Return those of the entries that match the filter, by number; `fold` as in `page`."""
    if only:
        rows = db.all(_statements(db, only)["these"], seqs=json.encode(list(seqs)).decode())
    elif fold is None:
        rows = [row for seq in seqs if (row := db.one(_ONE, seq=seq)) is not None]
    else:
        parts = [log_folds.followed_runs(db, low - 1, high, fold) for low, high in log_folds.near(seqs)]
        followed = frozenset(seq for part in parts for seq in part)
        wanted = (seq for seq in seqs if seq not in followed)
        rows = [row for seq in wanted if (row := db.one(_FOLDED_ONE, seq=seq, fold=fold, followed="[]")) is not None]
    return {line.seq: line for line in _read_lines(db, rows, fold)}


def _read_lines(db: Database, rows: Sequence[Any], fold: int | None) -> Iterator[LogLine]:
    ends = [row[0] for row in rows if row[3] == log_folds.ENDS] if fold is not None else []
    runs = log_folds.good_runs(db, ends)
    jobs = log_folds.jobs_of_runs(db, {row[0]: row[5] for row in rows if row[4] == "run"})
    return (read_line(db, row, fold, runs, jobs) for row in rows)


def _statements(db: Database, only: Filter) -> dict[str, Statement]:
    """Return the statements for the entries after and before a number, and for given ones, that match a filter.

    To build and compile one for a word takes 13 ms, and each letter that is typed reads several pages. They are kept
    where the filter alone decides what they are.
    """
    if all(map(_stands_alone, only.terms)):
        return _kept_statements(only.terms)
    return _matching(conditions(db, only))


@lru_cache(maxsize=8)
def _kept_statements(terms: tuple[Term, ...]) -> dict[str, Statement]:
    return _matching(combined(Filter(terms), _condition_alone, _narrows))


def _matching(conditions: list[Any]) -> dict[str, Statement]:
    query = lines_query().where(*conditions)
    these: Any = fn.json_each(slot("seqs")).alias("these")
    after = query.where(J.seq > slot("seq"), J.seq <= slot("end")).order_by(J.seq)
    before = query.where(J.seq < slot("seq"), J.seq >= slot("end")).order_by(J.seq.desc())
    return {
        "after": Statement(lambda: after.limit(slot("limit"))),
        "before": Statement(lambda: before.limit(slot("limit"))),
        "these": Statement(lambda: query.where(J.seq.in_(J.select(these.c.value).from_(these)))),
    }


def edges(db: Database) -> tuple[int, int]:
    """Return the numbers of the oldest stored entry and of the newest; (1, 0) if there is none."""
    return db.one(_OLDEST)[0], db.one(_NEWEST)[0]
