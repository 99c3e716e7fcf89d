"""Filters of the log: which actors there are, and the SQL conditions of a filter's terms."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import fn
from tui_tasks.core.read.agents import agents, sessions
from tui_tasks.core.read.log.log_kinds import FAILED_OUTCOMES, FAILURES, KINDS
from tui_tasks.core.read.pages.filter import Filter, Term, combined, contains
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import TaskRow
from tui_tasks.core.snapshots import TaskList

J = JournalRow

_TEXTS: Final = ("message", "question", "answer", "text", "name", "title", "description", "reason", "result", "status")


def actors(db: Database) -> list[str]:
    """Return every actor that has an entry, and those that always may."""
    return [*(name for name, _, _ in agents.speakers(db)), *sorted(vocab.RESERVED_AGENTS)]


def conditions(db: Database, only: Filter) -> list[Any]:
    """Return the conditions of a filter, as Peewee expressions: one term of each field must match, and all words."""
    return combined(only, lambda term: _condition(db, term), lambda term: term.field == "word")


def _condition(db: Database, term: Term) -> Any:
    if term.field == "who":
        return J.actor.in_([name for name in actors(db) if _matches(name, term)])
    if term.field == "kind":
        return _of_kind(term.value)
    if term.field == "list":
        return _of_lists([home for home in queries.lists(db) if _matches(home.name, term)])
    if term.field == "project":
        agents_there = [
            seen.session.uid for seen in sessions.everyone(db) if _matches(seen.session.project or "", term)
        ]
        of_lists = _of_lists([home for home in queries.lists(db) if _matches(home.project or "", term)])
        return of_lists | (J.task.is_null() & J.actor.in_(agents_there))
    return _contains_word(term.value)


def _of_lists(homes: list[TaskList]) -> Any:
    """Return the condition that an entry is about one of these lists, or about a task of one."""
    of_task = fn.COALESCE(TaskRow.list_id, 0).in_([home.id for home in homes])
    return of_task | ((J.entity == "list") & J.uid.in_([home.uid for home in homes]))


def _matches(name: str, term: Term) -> bool:
    name, value = name.casefold(), term.value.casefold()
    return name.startswith(value) if term.prefix else name == value


def _of_kind(word: str) -> Any:
    of_kind = J.kind.in_(KINDS.get(word, ()))
    status = _field(J.new, "status")
    if word == "status":
        return of_kind & (J.entity == "task") & (status != "")
    if word == "fail":
        failed = (status == "failed") | _field(J.new, "outcome").in_(FAILED_OUTCOMES) | J.kind.in_(FAILURES)
        return of_kind & (failed | ((J.kind == "check.finished") & (_field(J.new, "state") == "failed")))
    if word == "edit":
        return of_kind & (status == "")
    return of_kind


def _contains_word(word: str) -> Any:
    """Return the condition that a line, or the name of its task, contains a word."""
    within = msgspec.json.encode(word).decode()[1:-1]
    texts: Any = _field(J.new, _TEXTS[0])
    for name in _TEXTS[1:]:
        texts = texts.concat("\n").concat(_field(J.new, name))
    # Most entries do not contain it anywhere, which is fast to find out.
    said = contains(fn.COALESCE(J.new, ""), within) & contains(texts, word)
    return said | contains(fn.COALESCE(TaskRow.name, ""), word) | contains(J.actor, word)


def _field(column: Any, name: str) -> Any:
    return fn.COALESCE(fn.json_extract(column, f"$.{name}"), "")
