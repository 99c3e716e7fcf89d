"""Filters of a screen: their terms, and the SQL conditions that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_
from typing import Any, Final

import msgspec

from tui_tasks.core import agent_names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Value, fn
from tui_tasks.core.schema.due_dates import LATE, Range
from tui_tasks.core.schema.tables import TaskRow, columns
from tui_tasks.core.schema.task_fields import FIELDS, NONE
from tui_tasks.text.glyphs import look

_COLUMNS: Final = columns(TaskRow)
# Signs of the JSON in which tags are stored: no word with one of them finds a tag.
_JSON: Final = frozenset('"[],\\')
# How many letters begin a word of a status or a date.
_LETTERS: Final = 3
# What rows say of due dates, with the value by which a filter finds them.
_DATES: Final = {" ".join(LATE): LATE[0], "due today": "today", "tomorrow": "tomorrow"}


class Term(msgspec.Struct, frozen=True, gc=False):
    """One word of a filter: `field` is word, number, status, who, tag, domain, prio or one of `task_fields.FIELDS`.

    `value` is in the state's vocabulary, or a word that a field's `ranges` reads. A status may also be open, blocked,
    changed or needs_you. With `prefix` the beginning of a name, tag or domain is enough, as while it is being typed.
    Case is ignored.
    """

    field: str
    value: str
    negated: bool = False
    prefix: bool = False


class Filter(msgspec.Struct, frozen=True, gc=False):
    """Which tasks match; without terms all do. `changed` and `needing` return the uids of those that the statuses
    `changed` and `needs_you` find.

    `shown` is a screen's: with it, a word also finds the agent, status and date that a row shows, and the tasks whose
    uids `shown` returns for it. `now` is local time, from which `due:today` counts. Of several terms on one field any
    may match, but words, tags and comparisons (`due:<3d`) must all match. `sort` is the field by which a list is
    sorted; empty for its own order.
    """

    terms: tuple[Term, ...] = ()
    changed: Callable[[], Sequence[str]] = tuple
    now: datetime = datetime.min.replace(tzinfo=UTC)
    sort: str = ""
    shown: Callable[[str], Sequence[str]] | None = None
    needing: Callable[[], Sequence[str]] = tuple

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def sorts_dated(self) -> bool:
        """Return whether it sorts by due date, and finds only tasks that have one: an index does that."""
        return self.sort == "due" and DATED in self.terms


ALL = Filter()
DATED: Final = Term("due", NONE, negated=True)
"""Finds the tasks that have a due date."""


def words(db: Database, only: Filter) -> list[str]:
    """Return the words that each match has in its name, description or tags, or that `only.shown` finds it by."""
    found = [term.value for term in only.terms if term.field == "word" and not term.negated]
    if only.shown is None or not found:
        return found
    names = [name.casefold() for name in agent_names.agents(db)]
    return [
        word for word in found if not _of_row(word, only.now) and all(word.casefold() not in name for name in names)
    ]


def conditions(only: Filter) -> list[Any]:
    """Return the conditions that a row must meet, as Peewee expressions."""
    return combined(only, lambda term: _condition(term, only), _narrows)


def _narrows(term: Term) -> bool:
    """Return whether a term must match whatever other terms on its field do."""
    return term.field in ("word", "tag") or (term.field in FIELDS and term.value[:1] in ("<", ">"))


def combined(only: Filter, condition_of: Callable[[Term], Any], narrows: Callable[[Term], bool]) -> list[Any]:
    """Return the conditions of a filter: of several terms on one field any may match, unless one `narrows`.

    Negated terms must all hold.
    """
    all_of: list[Any] = []
    any_of: dict[str, Any] = {}
    for term in only.terms:
        condition = condition_of(term)
        if term.negated:
            all_of.append(~condition)
        elif narrows(term):
            all_of.append(condition)
        else:
            any_of[term.field] = any_of[term.field] | condition if term.field in any_of else condition
    return [*all_of, *any_of.values()]


def _condition(term: Term, only: Filter) -> Any:
    if term.field in FIELDS:
        return _field(term.field, term.value, only.now)
    if term.field == "number":
        return TaskRow.id == int(term.value)
    if term.field == "status":
        return _status(term.value, only)
    if term.field == "who":
        return _who(term.value, prefix=term.prefix)
    if term.field == "tag":
        # Searched in a JSON array of strings, in which no quote is unescaped.
        text = _literal(msgspec.json.encode(term.value).decode())
        return _like(TaskRow.tags, f"%{text[:-1]}%" if term.prefix else f"%{text}%")
    if term.field == "domain":
        return _like(fn.COALESCE(TaskRow.domain, ""), f"{_literal(term.value)}{'%' * term.prefix}")
    if term.field == "prio":
        number = vocab.PRIORITY_WORDS[term.value]
        return TaskRow.priority >= number if number == vocab.LOW else TaskRow.priority == number
    found = contains(TaskRow.name, term.value) | contains(TaskRow.description, term.value)
    if not _JSON & set(term.value):
        found |= contains(TaskRow.tags, term.value)
    return found if only.shown is None else found | _in_row(term.value, only.now, only.shown(term.value))


def tags_found(only: Filter, tags: Sequence[str]) -> list[str]:
    """Return those tags by which a word of a filter finds a task."""
    searched = [term.value.casefold() for term in only.terms if term.field == "word" and not term.negated]
    return [tag for tag in tags if any(word in tag.casefold() for word in searched)]


def says(phrase: str, word: str) -> bool:
    """Return whether a phrase on screen has a typed word: whole, or begun with some letters."""
    word = word.casefold()
    return word in phrase.split() or (len(word) >= _LETTERS and f" {word}" in f" {phrase}")


def _of_row(word: str, now: datetime) -> list[Any]:
    """Return the conditions by which a word finds the status, the date and the human's name that rows show."""
    found = [_status(status) for status in (*vocab.STATUSES, "blocked") if says(look(status).word, word)]
    found += [_status("blocked")] if says("after", word) else []
    found += [TaskRow.held == 1] if says(look("held").word, word) else []
    dated = [_field("due", value, now) for phrase, value in _DATES.items() if says(phrase, word)]
    dated += [TaskRow.due.is_null(False)] if says("due", word) else []
    found += [condition & TaskRow.status.in_(list(vocab.OPEN)) for condition in dated]
    return [*found, _who(vocab.HUMAN, prefix=False)] if says("you", word) else found


def _in_row(word: str, now: datetime, uids: Sequence[str]) -> Any:
    """Return the condition that a task's row shows a word beside its name; those of `uids` do."""
    by_agent = _like(shown_agent(""), f"%{_literal(word)}%")
    conditions = [by_agent, *_of_row(word, now)]
    return reduce(or_, [*conditions, *([among(uids)] if uids else [])])


def among(uids: Sequence[str]) -> Any:
    """Return the condition that a task is one of these."""
    return TaskRow.uid.in_(SQL("(SELECT value FROM json_each(?))", (msgspec.json.encode(uids).decode(),)))


def shown_agent(nobody: str) -> Any:
    """Return the expression for the agent that a row shows, as `TaskLine.who` does; `nobody`: where it shows none."""
    setter = fn.COALESCE(TaskRow.status_by, TaskRow.updated_by)
    is_closed_for_human = (TaskRow.agent == vocab.HUMAN) & TaskRow.status.in_(sorted(vocab.CLOSED))
    assigned = fn.IIF(is_closed_for_human, setter, TaskRow.agent)
    return fn.COALESCE(assigned, fn.IIF(TaskRow.status == "pending", nobody, setter))


def _who(name: str, *, prefix: bool) -> Any:
    return _like(shown_agent(""), f"{_literal(name)}{'%' * prefix}")


def _field(name: str, value: str, now: datetime) -> Any:
    column = _COLUMNS[name]
    if value == NONE:
        return column.is_null() if FIELDS[name].none is None else column == "[]"
    # Without a value this is false, not NULL, so that it can be negated.
    condition = column.is_null(False)
    if value in LATE:
        condition &= TaskRow.status.in_(list(vocab.OPEN))
    return condition & reduce(or_, [_range(column, each) for each in FIELDS[name].ranges(value, now)])


def _range(column: Any, bounds: Range) -> Any:
    conditions = [] if bounds.low is None else [column >= bounds.low]
    conditions += [] if bounds.high is None else [column < bounds.high]
    if bounds.is_date is not None:
        length = fn.LENGTH(column)
        conditions.append(length == 10 if bounds.is_date else length > 10)
    return reduce(and_, conditions)


def _status(value: str, only: Filter = ALL) -> Any:
    if value == "open":
        return TaskRow.status.in_(list(vocab.OPEN))
    if value == "blocked":
        return (TaskRow.status == "pending") & (TaskRow.waiting_on > 0)
    if value == "changed":
        return among(only.changed())
    if value == "needs_you":
        return among(only.needing()) & TaskRow.status.in_(list(vocab.MAY_NEED))
    return TaskRow.status == value


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _like(what: Any, pattern: str) -> Any:
    # SQLite's own LIKE is fast, but ignores case only in ASCII.
    if not pattern.isascii():
        what, pattern = fn.casefold(what), pattern.casefold()
    return fn.LIKE(Value(pattern, converter=False), what, "\\") == 1


def contains(what: Any, word: str) -> Any:
    """Return the condition that a text contains a word; case is ignored."""
    return _like(what, f"%{_literal(word)}%")
