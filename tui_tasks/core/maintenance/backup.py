"""Copies a database that is in use, and checks that one is sound, with the hash chain of its journal."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Final, cast

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS, sqlite3, storage_errors
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.engine.private_files import sync_folder
from tui_tasks.core.errors import Conflict
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.journal.compaction import Base
from tui_tasks.core.schema.tables.journal import JournalRow as J
from tui_tasks.core.store import Store

_encode = msgspec.json.Encoder().encode
_TYPES: Final = {int, str, NoneType}
_COMPACTION_ENTRY = Statement(J.select(J.kind, J.new).where(J.seq == slot("seq")))


def broken_link(db: Database) -> int | None:
    """Return the seq of the first entry that does not follow from the one before it; None if all do.

    In a compacted journal, the compaction's record has the hash that the oldest entry follows from. While the old
    entries are still being deleted, the oldest is not verified; the last of them must have the recorded hash.
    """
    base = compaction.base(db)
    first, cut = journal.oldest(db), base.last if base else 0
    if first > cut + 1:
        return first
    previous = (base.hash if base else b"") if first == cut + 1 else None
    expected = first
    rows = db.sql(f"SELECT {', '.join(c.column_name for c in journal.COLUMNS)} FROM journal ORDER BY seq")
    try:
        if base and not _tells_of(db, base):
            return base.seq
        for row in rows:
            seq, hashed = row[0], row[-1]
            is_cut = base is not None and seq == cut
            # An altered value may have any type.
            if seq != expected or not isinstance(hashed, bytes) or (is_cut and hashed != cast(Base, base).hash):
                return int(seq)
            # JSON cannot tell a blob from the text that is its Base64, so a blob is refused before hashing.
            if not _TYPES.issuperset(map(type, row[:-1])):
                return int(seq)
            if previous is not None and journal.link(previous, row[:-1]) != hashed:
                return int(seq)
            previous, expected = hashed, seq + 1
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        # A text was altered so that it is not UTF-8.
        return int(expected)
    return None


def _tells_of(db: Database, base: Base) -> bool:
    """Return whether the entry that should record the compaction does so."""
    row = db.one(_COMPACTION_ENTRY, seq=base.seq)
    expected_json = _encode({"last": base.last, "hash": base.hash.hex()}).decode()[:-1]
    return row is not None and row[0] == "journal.compacted" and str(row[1]).startswith(expected_json)


PAGES_A_STEP: Final = 2_000


def backup(db: Database, target: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy the database as of one moment; return the newest seq in the copy.

    The copy gets its name when it is complete and synced to the disk.

    Raises:
        Conflict: the target exists.
        StorageFailed: it cannot be written.
    """
    if os.path.exists(target):  # noqa: PTH110 - Path.exists raises if a name is too long
        raise Conflict(f"{target} exists already: name another file", path=str(target))
    part = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        with storage_errors(str(target)):
            db.copy_to(str(part), PAGES_A_STEP, progress)
        newest = finish(part)
        part.rename(target)
        sync_folder(str(target.absolute().parent))
        return newest
    finally:
        remove(part)


def finish(part: Path) -> int:
    """Turn a copy into one complete file with the current schema, synced to the disk; return its newest seq.

    Raises:
        DatabaseRefused: it is no database of this program.
    """
    with Store(str(part)) as copy:
        newest = journal.newest(copy.db)
        # SQLite syncs the file when it leaves WAL mode.
        copy.db.sql("PRAGMA journal_mode = delete")
    return newest


def remove(part: Path) -> None:
    """Remove a copy with its log and shared memory."""
    for end in ("", "-wal", "-shm", "-journal", "-lock"):
        with contextlib.suppress(OSError):
            part.with_name(f"{part.name}{end}").unlink()


def findings(db: Database) -> Iterator[str]:
    """Yield a sentence for each defect of a database."""
    yield from readable(_findings(db))


def readable(found: Iterator[str]) -> Iterator[str]:
    """Yield findings; a failed read is the last of them, as altered values may have any type, or not be UTF-8."""
    try:
        yield from found
    except (*READ_ERRORS, TypeError, ValueError) as error:
        yield f"not all of it can be read: {error.__cause__ or error}. Restore a backup"


def _findings(db: Database) -> Iterator[str]:
    for (said,) in db.sql("PRAGMA integrity_check(20)"):
        if said != "ok":
            yield f"SQLite finds it damaged: {said}. Restore a backup"
    broken = broken_link(db)
    if broken is not None:
        yield f"the journal was altered at or before entry {broken}. Compare it with a backup"
    yield from _orphans(db)
    yield from _miscounts(db)


_ORPHANS: Final = {
    "task": "list_id NOT IN (SELECT id FROM list)",
    "log": "task_uid NOT IN (SELECT uid FROM task)",
    "state": "uid NOT IN (SELECT uid FROM task)",
    "claim": "task_uid NOT IN (SELECT uid FROM task)",
    "edge": "task_uid NOT IN (SELECT uid FROM task)",
    "run": "job_uid NOT IN (SELECT uid FROM job)",
}


def _orphans(db: Database) -> Iterator[str]:
    for table, condition in _ORPHANS.items():
        found = db.scalar(f"SELECT count(*) FROM {table} WHERE {condition}")
        if found:
            yield f"{found} rows of {table} belong to nothing. Restore a backup"


def _miscounts(db: Database) -> Iterator[str]:
    for status in vocab.STATUSES:
        wrong = db.scalar(
            f"SELECT count(*) FROM list WHERE {status} <> "
            f"(SELECT count(*) FROM task WHERE list_id = list.id AND status = '{status}' AND deleted = 0)"
        )
        if wrong:
            yield f"{wrong} lists miscount what is {status}. Restore a backup"
