"""Check that a file is a whole database of this program before it is opened, since opening changes it.

When the last connection closes, SQLite writes the write-ahead log into the database and removes it. A file that is
refused is left as it is (docs: protocol, section 3), and its log too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.engine.open_files import FileState, OpenFiles
from tui_tasks.core.errors import DatabaseRefused, StorageFailed

APPLICATION_ID: Final = 0x7475_6954  # "tuiT"
SCHEMA: Final = 8
"""The newest version of the schema; the room `schema` has a step to each."""

# The write-ahead log as sqlite.org/fileformat2.html has it, section 4: page size and salts in its head, then frames,
# each with the number of its page, the pages there are after it where it ends a transaction, and the salts again.
_LOG_HEAD: Final = struct.Struct(">8xI4x8s8x")
_FRAME_HEAD: Final = struct.Struct(">II8s8x")
# The same, sections 1.3 and 1.6: user version and application id; how many tables and indexes a leaf of them tells of.
_PAGE: Final = struct.Struct(">60xI4xI28xB2xH")
_LEAF: Final = 13


def uri(path: str, query: str) -> str:
    """The URI of a database, as sqlite.org/uri.html has it (section 3.1). `path` is absolute."""
    for char, escape in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(char, escape)
    return f"file://{path}?{query}"


def read_query(path: str) -> str:
    """Return the query of a URI to read a database with, which may stand in a folder that is read only.

    There it is read as it stands, since a log and its index could not be made (sqlite.org/wal.html, section 5).

    Raises:
        DatabaseRefused: a part of it is in a log whose index is not there and cannot be made.
    """
    if os.access(os.path.dirname(path), os.W_OK):
        return "mode=ro"
    if not os.path.exists(f"{path}-wal"):
        return "mode=ro&immutable=1"
    if not os.path.exists(f"{path}-shm"):
        raise DatabaseRefused(
            f"{path} cannot be read with its log ({path}-wal): the folder is read only. Copy both files to a folder of "
            "your own, and open the copy"
        )
    return "mode=ro"


class Head(NamedTuple):
    """The fields of a database's first page that tell what it is."""

    application: int
    version: int
    is_empty: bool


def head_of(connection: Any) -> Head:
    """Read the head of an open database in one statement: another process may be making it."""
    (application, version, tables) = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    return Head(application, version, not (application or version or tables))


def _head_of_ours(connection: Any) -> Head | None:
    """Read the head of a database of this program, without its schema, which takes longest; None for any other."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return None
    return Head(APPLICATION_ID, connection.execute("PRAGMA user_version").fetchone()[0], is_empty=False)


def refuse_other(head: Head, path: str) -> None:
    """Refuse a database of another program, or of a newer version of this one.

    Raises:
        DatabaseRefused: it is one of these.
    """
    if head.application == APPLICATION_ID and head.version > SCHEMA:
        raise DatabaseRefused(
            f"{path} was made by a newer tui-tasks (schema {head.version}; this one knows {SCHEMA}): update it"
        )
    if not head.is_empty and head.application != APPLICATION_ID:
        raise DatabaseRefused(f"{path} is a database of another program; name another file with --db")


def refuse_upgraded(version: int, path: str) -> None:
    """Refuse a database that a newer version of this program has upgraded since it was opened: what that writes may
    mean something else.

    Raises:
        StorageFailed: it did.
    """
    if version > SCHEMA:
        raise StorageFailed(
            f"{path} was upgraded by a newer tui-tasks (schema {version}; this one knows {SCHEMA}): restart with that",
            retryable=False,
        )


def refuse_unopened(path: str, *, read_only: bool) -> None:
    """Refuse a file of another program without opening it for writing, which would change it or its log.

    `immutable` reads the file alone and changes nothing; where the file is still empty, the log is read. A damaged
    file is refused here only to a reader, which could not remove the log that it makes.

    Raises:
        DatabaseRefused: to open it would change or remove the log of another program, or one whose file is gone, or
            leave one where there was none.
    """
    log = f"{path}-wal"
    has_log, is_there = _size(log) > 0, _size(path) > 0
    if has_log and not is_there:
        raise DatabaseRefused(
            f"{path} is empty or gone, and {log} holds what was written to it: put the file back, or move the log away"
        )
    if not is_there:
        return
    refuse_linked(path)
    if _size(path) == 1:
        # SQLite takes it for an empty file.
        raise DatabaseRefused(f"{path} is not a database; name another file with --db")
    leaves_log, before = read_only and not has_log, _written(path, log)
    try:
        with (
            refusing(path),
            contextlib.closing(connect(uri(path, "immutable=1"), uri=True)) as connection,
        ):
            head = _head_of_ours(connection) or head_of(connection)
            if leaves_log:
                refuse_cut_short(connection, path)
    except DatabaseRefused:
        # While another process writes it, only opening it gives an answer.
        if leaves_log and _written(path, log) == before:
            raise
        return
    with refusing(path):
        refuse_other((has_log and head.is_empty and _head_in_log(log)) or head, path)


def refuse_linked(path: str) -> None:
    """Refuse a file with several hard links: SQLite keeps a log beside each, and they overwrite one another.

    Raises:
        DatabaseRefused: it has several.
    """
    try:
        found = os.stat(path)
    except OSError:
        return
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        raise DatabaseRefused(
            f"{path} has {found.st_nlink} names (hard links), and each could damage it: keep one and remove the "
            f"others (find / -samefile '{path}' names them)"
        )


def refuse_leftovers(files: OpenFiles, path: str) -> None:
    """Refuse a backup that stands beside another database's log, which SQLite would write into it.

    Raises:
        DatabaseRefused: it does.
    """
    if files.has_leftovers():
        raise DatabaseRefused(
            f"{path} replaced another database, whose log is still beside it: "
            f"run tui-tasks restore '{path}', which keeps the log aside"
        )


_SHARED_BYTES: Final = 32 << 10
"""Bytes: the least size of SQLite's `-shm` file."""


@contextlib.contextmanager
def refusing(path: str) -> Iterator[None]:
    """Translate errors of SQLite and the system, raised while a database is opened, into a refusal for people."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        if not os.path.exists(path):
            raise missing(path) from error
        reason = _reason(error, path)
        raise DatabaseRefused(f"cannot use the database {path}: {reason}; it was left as it is") from error


def missing(path: str) -> DatabaseRefused:
    """Return the refusal of a path at which there is no database, or at which nobody may look."""
    try:
        os.stat(path)
    except PermissionError as error:
        return DatabaseRefused(f"cannot look at {path}: {error.strerror}; name another file with --db")
    except OSError:
        pass
    return DatabaseRefused(f"no database at {path}: `tui-tasks add` makes one, or name another with --db")


def _reason(error: Exception, path: str) -> str | None:
    if "readonly" in str(error):
        return "you may not write to it or to its folder, and `--read-only` reads it"
    if "unable to open" in str(error) and not os.access(path, os.R_OK):
        return os.strerror(errno.EACCES)
    if "disk I/O error" in str(error) and _is_full(path):
        return "its disk is full, free some space"
    if isinstance(error, UnicodeDecodeError):
        # SQLite's message quotes a damaged name.
        return error.object.decode(errors="replace")
    return error.strerror if isinstance(error, OSError) else str(error)


def _is_full(path: str) -> bool:
    """Return whether the disk lacks the room for the memory that the processes share beside a database."""
    status = os.statvfs(os.path.dirname(path) or ".")
    return status.f_bavail * status.f_frsize < _SHARED_BYTES


def _written(path: str, log: str) -> tuple[int, int]:
    """Return a value that changes when a database or its log is written."""
    try:
        return _size(log), os.stat(path).st_mtime_ns
    except OSError:
        return 0, 0


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _head_in_log(log: str) -> Head | None:
    """Return the head of a database from its log; None where no transaction there has written it.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with open(log, "rb") as file:
            page = _page_in_log(file)
    except FileNotFoundError:
        # The last connection has closed it: the file holds everything.
        return None
    if page is None:
        return None
    version, application, kind, cells = _PAGE.unpack(page)
    return Head(application, version, not (application or version or cells) and kind == _LEAF)


def _page_in_log(file: BinaryIO) -> bytes | None:
    """Return the beginning of the newest copy of page 1 in a log."""
    begun = file.read(_LOG_HEAD.size)
    if len(begun) < _LOG_HEAD.size:
        return None
    at = _first_page(file, *_LOG_HEAD.unpack(begun))
    file.seek(at or 0)
    page = file.read(_PAGE.size)
    file.seek(0)
    if at is None or len(page) < _PAGE.size or file.read(_LOG_HEAD.size) != begun:
        # The log was restarted meanwhile, which happens only once the file holds all of it.
        return None
    return page


def _first_page(file: BinaryIO, page_size: int, salts: bytes) -> int | None:
    """Return the offset of the newest copy of page 1 in a complete transaction of the log."""
    complete = begun = None
    at = _LOG_HEAD.size
    while len(frame := file.read(_FRAME_HEAD.size)) == _FRAME_HEAD.size:
        page, pages, salted = _FRAME_HEAD.unpack(frame)
        if salted != salts:
            break
        at += _FRAME_HEAD.size
        begun = at if page == 1 else begun
        complete = begun if pages else complete
        at += page_size
        file.seek(at)
    return complete


def refuse_cut_short(connection: Any, path: str) -> None:
    """Refuse a truncated file; pages that the write-ahead log holds need not be in it yet.

    Raises:
        DatabaseRefused: it is truncated.
    """
    (size,) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
    if not _size(f"{path}-wal") and os.stat(path).st_size < size:
        raise DatabaseRefused(f"{path} is damaged (it was cut short); it was left as it is")


@contextlib.contextmanager
def naming_cut_log(files: OpenFiles, path: str) -> Iterator[None]:
    """Refuse a database that cannot be opened because its log was cut while other processes have it open.

    Raises:
        DatabaseRefused: it was.
    """
    try:
        yield
    except (sqlite3.Error, DatabaseRefused) as error:
        files.note_log()
        if files.is_log_cut():
            raise DatabaseRefused(f"{path} {FileState.LOG_CUT.value}") from error
        raise
