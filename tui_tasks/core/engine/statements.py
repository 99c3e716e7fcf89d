"""Statements: Peewee queries that are compiled once and run often, with a place for each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

from tui_tasks.core.engine.orm import Query, Value


class _Slot(str):
    """Stands for a value that is given when the statement runs."""

    __slots__ = ()


def slot(name: str) -> Any:
    """A place for the value `name`, for use in a Peewee query."""
    return Value(_Slot(name), converter=False)


class Statement:
    """A Peewee query, compiled at its first use and run often: building one costs more than running it does."""

    def __init__(self, query: Query) -> None:
        self._query = query

    @cached_property
    def sql(self) -> str:
        """The query as SQL."""
        return self._compiled[0]

    @cached_property
    def bind(self) -> Callable[[dict[str, Any]], Sequence[Any]]:
        """Returns the parameters in the order of the SQL, from values by name."""
        params = self._compiled[1]
        if len(params) > 1 and all(isinstance(value, _Slot) for value in params):
            return itemgetter(*params)
        return lambda values: [values[value] if isinstance(value, _Slot) else value for value in params]

    @cached_property
    def _compiled(self) -> tuple[str, list[Any]]:
        """The SQL and its parameters. Numbers that are always the same stand in the SQL.

        SQLite plans anew each time a LIMIT is bound, which takes five times as long as running a short statement does.
        """
        sql, params = self._query.sql()
        first, *rest = str(sql).split("?")
        assert len(rest) == len(params), "a question mark in the SQL that is no parameter"
        text, kept = first, []
        for value, following in zip(params, rest, strict=True):
            is_fixed = type(value) is int
            text += (str(value) if is_fixed else "?") + following
            if not is_fixed:
                kept.append(value)
        return text, kept
