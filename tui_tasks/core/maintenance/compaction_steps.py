"""Runs a compaction in steps: the tables are copied as of one moment, so that no writer waits long.

First they are copied into a separate file while others write; then, some rows at a time, into tables `base_…`, which
the compaction's entry makes the base.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from tui_tasks.core.commit import compaction
from tui_tasks.core.commit.compaction import AT_ONCE, OVERTAKEN, is_there
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import CHECKPOINT, sqlite3, storage_errors
from tui_tasks.core.engine.file_writes import make_private
from tui_tasks.core.errors import Conflict, DatabaseRefused, StorageFailed
from tui_tasks.core.operations import CompactJournal
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN


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


def copy_tables(db: Database, tables: int, most: int) -> Generator[None, None, str]:
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


# Longer than the interval at which processes retry to take the write lock.
_ROOM_SECONDS: Final = 0.003


def compacting(store: Store, before: int, now: int, most: int = AT_ONCE) -> Generator[None, None, int]:
    """Drop the journal's entries from before an instant (microseconds since the epoch), pausing after each step.

    Return how many were dropped, with those that an interrupted compaction left. `most`: entries or rows written in one
    step.

    Raises:
        Refusal: nothing was dropped.
    """
    with early_checkpoints(store.db):
        return (yield from _steps(store, before, now, most))


def _steps(store: Store, before: int, now: int, most: int) -> Generator[None, None, int]:
    db = store.db
    dropped = yield from _drop(db, most)
    try:
        with db.transaction(write=False):
            compaction.old_entries(db, compaction.last_old(db, before, now))
    except Conflict:
        yield from _clear(db, most, breaks_off=False)
        if not dropped:
            raise
        return dropped
    yield from _clear(db, most, breaks_off=True)
    with aside(db):
        tables = set_aside(db)
        yield
        copy = yield from copy_tables(db, tables, most)
    # Verify the copied database: another file may have replaced it since.
    last = compaction.last_old(db, before, now)
    (count,) = store.commit(CompactJournal(before, last, copy), actor=HUMAN, now=now)
    yield
    yield from _drop(db, most)
    yield from _clear(db, most, breaks_off=False)
    return dropped + int(count)


def _drop(db: Database, most: int) -> Generator[None, None, int]:
    """Delete the dropped entries; return how many."""
    total = 0
    while count := compaction.drop_some(db, most):
        total += count
        yield
    return total


def _clear(db: Database, most: int, *, breaks_off: bool) -> Generator[None, None, None]:
    """Delete the copies that no compaction uses."""
    while compaction.clear_some(db, most, breaks_off=breaks_off):
        yield


def compact(store: Store, before: int, now: int) -> int:
    """Run the steps until nothing is left, letting others write in between; return how many entries were dropped.

    Raises:
        Refusal: nothing was dropped.
    """
    steps = compacting(store, before, now)
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            return int(finished.value)
        time.sleep(_ROOM_SECONDS)
