"""The SQLite driver, the same for all: pysqlite3 brings an SQLite of its own, whatever the system's is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    sqlite3: Any
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
