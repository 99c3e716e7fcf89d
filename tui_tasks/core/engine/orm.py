"""Peewee, as the core uses it: it builds SQL, which is compiled once and run by `database`.

Peewee imports every driver that there is, those of other databases too, and needs one of SQLite. Loading only that one
saves 0.8 MB in each process, and a twentieth of the start of a command. It also imports modules of the standard library
that hardly any command uses; importing them at their first use saves a tenth.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from operator import itemgetter
from types import ModuleType
from typing import Any, Final

from tui_tasks.core.engine.driver import driver_name, without_modules

_OTHERS: Final = ("psycopg", "psycopg2", "psycopg2cffi", "pymysql", "MySQLdb")


class _Deferred(ModuleType):
    """Stands for a module that is imported when an attribute of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # the import itself asks for some
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextlib.contextmanager
def _deferring(**modules: dict[str, Any]) -> Iterator[None]:
    """Defer the import of modules by what is imported meanwhile. Each is given with the attributes that it has at
    once.
    """
    deferred = {name: _Deferred(name) for name in modules if name not in sys.modules}
    for name, module in deferred.items():
        vars(module).update(modules[name])
    sys.modules.update(deferred)
    try:
        yield
    finally:
        for name, module in deferred.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


with (
    without_modules("sqlite3" if driver_name == "pysqlite3" else "pysqlite3", *_OTHERS),
    _deferring(calendar={}, inspect={"isclass": lambda value: isinstance(value, type)}, json={}, socket={}),
):
    from peewee import (
        JOIN,
        SQL,
        BigIntegerField,
        BlobField,
        Case,
        CompositeKey,
        Field,
        FloatField,
        IntegerField,
        Model,
        Query,
        SqliteDatabase,
        TextField,
        Tuple,
        Value,
        fn,
    )

__all__ = [
    "JOIN",
    "SQL",
    "BigIntegerField",
    "BlobField",
    "Case",
    "CompositeKey",
    "Field",
    "FloatField",
    "IntegerField",
    "Model",
    "Query",
    "SqliteDatabase",
    "Statement",
    "TextField",
    "Tuple",
    "Value",
    "fn",
    "slot",
]


class _Slot(str):
    """The name of a parameter, in the place of its value."""

    __slots__ = ()


def slot(name: str) -> Any:
    """Return the parameter `name`, for use in a Peewee query."""
    return Value(_Slot(name), converter=False)


class Statement:
    """A Peewee query, built and compiled at its first use and run often: building one costs more than running it
    does.
    """

    def __init__(
        self,
        build: Callable[[], Query],
        writers: Mapping[str, Callable[[Any], Any]] | None = None,
        *,
        row: Sequence[str] = (),
    ) -> None:
        """`writers` convert values, by the names of their parameters, for the driver; None stays as it is.

        `row`: the values are a tuple with these names, in place of a dictionary.
        """
        self._build = build
        self._writers = writers or {}
        self._row = row

    @cached_property
    def sql(self) -> str:
        """The query as SQL."""
        return self._compiled[0]

    @cached_property
    def bind(self) -> Callable[[Any], Sequence[Any]]:
        """A function that puts values by name into the order of the SQL, and converts them."""
        writers = [
            (at, self._writers[name])
            for at, name in enumerate(self._compiled[1])
            if isinstance(name, _Slot) and name in self._writers
        ]
        arrange = self._arrange
        if not writers:
            return arrange

        def bind(values: Any) -> Sequence[Any]:
            row = list(arrange(values))
            for at, write in writers:
                if row[at] is not None:
                    row[at] = write(row[at])
            return row

        return bind

    @cached_property
    def _arrange(self) -> Callable[[Any], Sequence[Any]]:
        """A function that puts values by name into the order of the SQL."""
        params = self._compiled[1]
        if self._row:
            params = [self._row.index(name) for name in params]
        elif not all(isinstance(value, _Slot) for value in params):
            return lambda values: [values[value] if isinstance(value, _Slot) else value for value in params]
        if len(params) > 1:
            return itemgetter(*params)
        # `itemgetter` of one name gives no sequence, and it takes one at least.
        return (lambda values: (values[params[0]],)) if params else lambda values: ()

    @cached_property
    def _compiled(self) -> tuple[str, list[Any]]:
        """The SQL and its parameters; constant numbers are written into the SQL.

        SQLite plans a statement again whenever a LIMIT is bound, which takes five times as long as a short statement.
        """
        sql, params = self._build().sql()
        first, *rest = str(sql).split("?")
        assert len(rest) == len(params), "a question mark in the SQL that is no parameter"
        text, kept = first, []
        for value, following in zip(params, rest, strict=True):
            is_fixed = type(value) is int
            text += (str(value) if is_fixed else "?") + following
            if not is_fixed:
                kept.append(value)
        return text, kept
