"""Peewee, as the core uses it: it builds SQL, which `database` runs.

Peewee imports pysqlite3 and Python's own driver where both exist, and needs one. Loading only that one saves 0.8 MB in
each process, and a twentieth of the start of a command.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tui_tasks.core.engine.driver import driver_name


@contextlib.contextmanager
def _without_another_driver() -> Iterator[None]:
    """Hide the driver that is not used, unless it is loaded already."""
    hidden = "sqlite3" if driver_name == "pysqlite3" else "pysqlite3"
    if hidden in sys.modules:
        yield
        return
    # None in sys.modules makes an import fail, which Peewee expects.
    sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[hidden]


with _without_another_driver():
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
    "TextField",
    "Value",
    "fn",
]
