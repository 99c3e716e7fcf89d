"""Copies the tables as of one moment, in steps, so that no writer waits long (`compaction.Base`).

First they are copied into a separate file while others write; then, some rows at a time, into tables `base_…`, which
the compaction's entry makes the base.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from tui_tasks.core.engine.database import CHECKPOINT, Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.engine.private_files import make_private
from tui_tasks.core.engine.storage_errors import storage_errors
from tui_tasks.core.errors import Conflict, DatabaseRefused, StorageFailed
from tui_tasks.core.journal.compaction import OVERTAKEN, is_there
from tui_tasks.core.schema.state_tables import STATE


@contextlib.contextmanager
def early_checkpoints(db: Database) -> Iterator[None]:
    """Checkpoint more often while the block runs.

    The block writes most of the log; otherwise the commit that fills the log would checkpoint, and its agent would
    wait.
    """
    db.sql(f"PRAGMA wal_autocheckpoint = {CHECKPOINT // 8}")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            db.sql(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")


@contextlib.contextmanager
def aside(db: Database) -> Iterator[None]:
    """Attach an empty database as `aside` while the block runs; writing to it does not lock this one.

    Raises:
        StorageFailed: it cannot be created.
    """
    with db.transaction(write=False):
        pass  # a failed connection is reopened now, as reopening would detach `aside`
    is_file = db.path != ":memory:"
    folder, name = os.path.split(db.path)
    path = f"{folder}/.{name}.{os.getpid()}.{time.monotonic_ns()}" if is_file else ":memory:"
    try:
        if is_file:
            make_private(path)
        with storage_errors(path):
            db.sql("ATTACH ? AS aside", (path,))
    except DatabaseRefused as refused:
        raise StorageFailed(str(refused), retryable=True) from refused
    finally:
        if is_file:
            with contextlib.suppress(OSError):
                Path(path).unlink()  # so that the file disappears with the process
    try:
        with storage_errors(path):
            db.sql("PRAGMA aside.journal_mode = off")
            db.sql("PRAGMA aside.synchronous = off")
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):  # the connection may have been reopened meanwhile
            db.sql("DETACH aside")


def set_aside(db: Database) -> int:
    """Copy the tables into `aside`; return the last entry whose change they have."""
    with db.transaction(write=False):
        last: int = db.scalar("SELECT ifnull(max(seq), 0) FROM journal")
        for table in STATE:
            db.sql(f"CREATE TABLE aside.{table} AS SELECT * FROM main.{table}")
    return last


def copy(db: Database, tables: int, most: int) -> Generator[None, None, str]:
    """Copy the tables back from `aside`, pausing after some rows; return the prefix of the copies' names.

    Raises:
        Conflict: another compaction began, or the database was replaced.
    """
    begin = f"base_{os.urandom(8).hex()}"
    with db.transaction(write=True):
        if is_there(db, "copying") or not _is_attached(db):
            raise Conflict(OVERTAKEN)
        # `tables` is recorded once the copy is complete.
        db.sql("CREATE TABLE copying (copy TEXT NOT NULL, tables INTEGER)")
        db.sql("INSERT INTO copying VALUES (?, NULL)", (begin,))
        for table in STATE:
            db.sql(f"CREATE TABLE {begin}_{table} AS SELECT * FROM main.{table} WHERE 0")
        # Columns are named, as a newer program may have added some meanwhile.
        columns = {table: ", ".join(row[1] for row in db.sql(f"PRAGMA aside.table_info({table})")) for table in STATE}
        rows = {table: int(db.scalar(f"SELECT ifnull(max(rowid), 0) FROM aside.{table}")) for table in STATE}
    yield
    for table, last in rows.items():
        some = f"SELECT {columns[table]} FROM aside.{table} WHERE rowid > ? AND rowid <= ?"
        for row in range(0, last, most):
            with db.transaction(write=True):
                _refuse_overtaken(db, begin)
                db.sql(f"INSERT INTO {begin}_{table} ({columns[table]}) {some}", (row, row + most))
            yield
    with db.transaction(write=True):
        _refuse_overtaken(db, begin)
        db.sql("UPDATE copying SET tables = ?", (tables,))
    return begin


def _is_attached(db: Database) -> bool:
    # It is no longer attached if the database was replaced and reopened.
    return any(name == "aside" for _, name, _ in db.sql("PRAGMA database_list"))


def _refuse_overtaken(db: Database, copy: str) -> None:
    if not _is_attached(db) or not is_there(db, "copying") or db.scalar("SELECT copy FROM copying") != copy:
        raise Conflict(OVERTAKEN)
