"""Copies a database that is in use, and replaces one, which may be in use, by a backup that was checked, as a whole or
not at all; the old one is kept.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.core.commit import journal
from tui_tasks.core.engine import open_checks, open_files, write_queue
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import BUSY_SECONDS, connect, is_busy, sqlite3, storage_errors
from tui_tasks.core.engine.file_writes import make_private, sync_folder
from tui_tasks.core.errors import Busy, Conflict, DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.store import Store
from tui_tasks.text.times import SECOND

PAGES_A_STEP: Final = 2_000


def backup(db: Database, target: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy the database as of one moment; return the newest seq in the copy.

    The copy gets its name when it is complete and synced to the disk.

    Raises:
        Conflict: the target exists.
        DatabaseRefused: it cannot be made.
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
    except DatabaseRefused as refused:
        # The copy has another name until it is complete, and no option names it.
        said = str(refused).replace(str(part), str(target)).removesuffix(" with --db")
        raise DatabaseRefused(said) from refused
    except StorageFailed as failed:
        raise StorageFailed(failed.message.replace(str(part), str(target)), **failed.data) from failed
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


# The suffixes of a database's files: SQLite combines a log or journal with any database of the same name.
_KEPT: Final = ("", "-wal", "-journal")
_ASIDE: Final = ".before-restore-"


class Restored(NamedTuple):
    """The result of a restore.

    Attributes:
        newest: the newest seq.
        aside: the path of the old database; None if there was none.
    """

    newest: int
    aside: Path | None


def restore(database: str, file: Path, now: int) -> Restored:
    """Replace a database by a copy of `file`; `now`, in microseconds since the epoch, names the old one.

    The copy is checked before anything is changed. Then writers are locked out while the old file gets another name and
    the copy its name, in one step: processes that have the old one open find the new one before they write again.

    Raises:
        DatabaseRefused: `file` is no sound database of this program.
        StorageFailed: it cannot be copied, or others write for too long (Busy); the database is unchanged.
    """
    path = Path(os.path.realpath(database))
    _refuse_foreign(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        newest = _prepared(file, part)
        return Restored(newest, replace(database, part, now))
    finally:
        remove(part)


def replace(database: str, part: Path, now: int) -> Path | None:
    """Replace a database by a sound file in its folder, which gets its name; return where the old one is, if any.

    Raises:
        StorageFailed: it cannot be renamed, or others write for too long (Busy); the database is unchanged.
    """
    path = Path(os.path.realpath(database))
    with _storage(path), write_queue.replacing(str(path)), _no_writer(path) as is_in_log:
        aside = _keep_aside(path, now, log=is_in_log)
        _put_in_place(part, path)
    return aside


def _refuse_foreign(path: Path) -> None:
    """Refuse to replace another program's database.

    Raises:
        DatabaseRefused: there is one.
    """
    if not path.exists():
        return
    with contextlib.suppress(sqlite3.Error):  # it is damaged
        uri = open_checks.uri(str(path), "immutable=1")
        with contextlib.closing(connect(uri, uri=True)) as connection:
            head = open_checks.head_of(connection)
            if not head.is_empty and head.application != open_checks.APPLICATION_ID:
                raise DatabaseRefused(f"{path} is a database of another program; name another file with --db")


def _prepared(file: Path, part: Path) -> int:
    """Copy a backup, check it, and migrate the copy to the current schema; return its newest seq.

    Raises:
        DatabaseRefused: it is no sound database of this program.
        StorageFailed: it cannot be read, or the copy cannot be written.
    """
    if not os.path.isfile(file):  # noqa: PTH113 - Path.is_file raises if a name is too long
        raise DatabaseRefused(f"there is no file {file}")
    with _storage(file):
        if open_files.is_at_rest(str(file)):
            # A backup is one file; a log beside it belongs to another file.
            make_private(str(part))
            with file.open("rb") as held, part.open("wb") as copy:
                shutil.copyfileobj(held, copy, 1 << 20)
        else:
            with contextlib.closing(Database(str(file), read_only=True)) as used:
                used.copy_to(str(part), PAGES_A_STEP, None)
    try:
        with Store(str(part)) as copied:
            wrong = next(database_findings.findings(copied.db), None)
        if wrong:
            raise DatabaseRefused(f"{file} is damaged, and nothing was restored: {wrong}")
        return finish(part)
    except DatabaseRefused as refused:
        raise DatabaseRefused(str(refused).replace(str(part), str(file))) from refused


@contextlib.contextmanager
def _no_writer(path: Path) -> Iterator[bool]:
    """Lock out all writers of a database while the block runs; yield whether its log has more than the file.

    Raises:
        Busy: another process holds the write lock.
    """
    if not path.exists() or open_files.is_at_rest(str(path)):
        # A log beside it belongs to another file, and opening the file would combine them.
        yield True
        return
    with contextlib.ExitStack() as held:
        uri = open_checks.uri(str(path), "mode=rw")
        both = [held.enter_context(contextlib.closing(connect(uri, timeout=BUSY_SECONDS, uri=True))) for _ in range(2)]
        try:
            both[0].execute("BEGIN IMMEDIATE")
            _, frames, copied = both[1].execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            is_in_log = frames != copied
        except sqlite3.Error as error:
            if is_busy(error):
                raise Busy(f"another process has held {path} for {BUSY_SECONDS:g} s; try again") from error
            is_in_log = True  # the database is damaged, so nobody can write to it
        # Closing these connections neither checkpoints nor removes the log, as the file has moved by then.
        yield is_in_log


def _keep_aside(path: Path, now: int, *, log: bool) -> Path | None:
    """Link a database under a second name, with its log if that has more than the file; return the name."""
    _forget_names(path)
    stamp = datetime.fromtimestamp(now / SECOND, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (_with_suffix(path, f"{_ASIDE}{stamp}{number}") for number in numbers)
    aside = next(name for name in names if not any(os.path.lexists(_with_suffix(name, end)) for end in _KEPT))
    for end in _KEPT if log else _KEPT[:1]:
        with contextlib.suppress(FileNotFoundError):
            _with_suffix(aside, end).hardlink_to(_with_suffix(path, end))
    sync_folder(str(path.parent))
    return aside if aside.exists() else None


def _forget_names(path: Path) -> None:
    """Remove the second names that an interrupted restore left."""
    kept = [identity for end in _KEPT if (identity := open_files.identity(f"{path}{end}"))]
    for other in path.parent.iterdir():
        if other.name.startswith(f"{path.name}{_ASIDE}") and open_files.identity(str(other)) in kept:
            other.unlink()


def _put_in_place(part: Path, path: Path) -> None:
    """Rename the copy to the database. An interruption between the steps leaves a file that is refused with its log."""
    part.rename(path)
    sync_folder(str(path.parent))
    for end in (*open_files.LEFTOVERS, "-journal"):
        _with_suffix(path, end).unlink(missing_ok=True)
    sync_folder(str(path.parent))


def _with_suffix(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


@contextlib.contextmanager
def _storage(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into refusals.

    Raises:
        StorageFailed: the block raised one.
    """
    try:
        with storage_errors(str(path)):
            yield
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}; nothing was restored", retryable=True) from error
