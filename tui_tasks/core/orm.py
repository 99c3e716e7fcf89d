"""Peewee: whatever the core has of it comes from here. It builds SQL; `database` runs it.

Peewee looks at Python's own SQLite even where it goes on with pysqlite3. Not to load that one saves 0.8 MB in every
process, and a twentieth of the start of a command.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec


@contextlib.contextmanager
def _without_another_driver() -> Iterator[None]:
    """Hide Python's own driver, unless it is the only one, or somebody uses it."""
    if "sqlite3" in sys.modules or find_spec("pysqlite3") is None:
        yield
        return
    # To import what stands as None there fails, which Peewee is prepared for.
    sys.modules["sqlite3"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["sqlite3"]


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
