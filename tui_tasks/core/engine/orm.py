"""Peewee: whatever the core has of it comes from here. It builds SQL; `database` runs it.

Peewee imports both pysqlite3 and Python's own driver, and needs one of them, whichever is used. Not to load the other
saves 0.8 MB in every process, and a twentieth of the start of a command.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tui_tasks.core.engine.driver import driver_name


@contextlib.contextmanager
def _without_another_driver() -> Iterator[None]:
    """Hide the one that is not used, unless somebody has loaded it."""
    hidden = "sqlite3" if driver_name == "pysqlite3" else "pysqlite3"
    if hidden in sys.modules:
        yield
        return
    # To import what stands as None there fails, which Peewee is prepared for.
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
    "IntegerField",
    "Model",
    "Query",
    "SqliteDatabase",
    "TextField",
    "Value",
    "fn",
]
