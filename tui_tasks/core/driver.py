"""The SQLite driver, the same for all: pysqlite3 brings an SQLite of its own, whatever the system's is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_tasks.core.errors import DatabaseRefused

if TYPE_CHECKING:
    sqlite3: Any
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["library_version", "refuse_faulty_library", "sqlite3"]


def library_version() -> str:
    """The version of the SQLite that is used."""
    return str(sqlite3.sqlite_version)


def refuse_faulty_library(version: tuple[int, int, int]) -> None:
    """Refuse an SQLite whose WAL-reset bug can lose commits (fixed in 3.44.6, 3.50.7 and 3.51.3).

    Raises:
        DatabaseRefused: this SQLite has it.
    """
    fixed = version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)
    if not fixed:
        raise DatabaseRefused(
            f"SQLite {'.'.join(map(str, version))} can lose commits when several processes write (the WAL-reset bug): "
            "install the package pysqlite3, or an SQLite of 3.51.3 or newer"
        )
