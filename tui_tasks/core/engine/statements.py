"""Prepared statements: Peewee queries that are compiled once and run often, with named parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

from tui_tasks.core.engine.orm import Query, Value


class _Slot(str):
    """The name of a parameter, in the place of its value."""

    __slots__ = ()


def slot(name: str) -> Any:
    """Return the parameter `name`, for use in a Peewee query."""
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
        """A function that puts values by name into the order of the SQL."""
        params = self._compiled[1]
        if len(params) > 1 and all(isinstance(value, _Slot) for value in params):
            return itemgetter(*params)
        return lambda values: [values[value] if isinstance(value, _Slot) else value for value in params]

    @cached_property
    def _compiled(self) -> tuple[str, list[Any]]:
        """The SQL and its parameters; constant numbers are written into the SQL.

        SQLite plans a statement again whenever a LIMIT is bound, which takes five times as long as a short statement.
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
