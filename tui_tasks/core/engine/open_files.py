"""Check that the files which a connection has open are still those at its path.

SQLite goes on writing to files that were deleted or replaced, and combines a log with whatever database stands beside
it: a write to such files must not be acknowledged.
"""

from __future__ import annotations

import contextlib
import enum
import os
import struct
from typing import Final

Identity = tuple[int, int]
"""Device and inode of a file."""

LEFTOVERS: Final = ("-wal", "-shm")
_HEADER: Final = 32
_AT_REST: Final = b"\1\1"
"""Bytes 18 and 19 of a database that has no log, as a backup (sqlite.org/fileformat2.html, section 1.3)."""
# Its page size (1: 65,536) and number of pages, bytes 16 and 28 of it.
_PAGE_AND_PAGES: Final = struct.Struct(">16xH10xI")
# The log, as section 4 there describes it: its first bytes, and the sizes of its head and of a frame's.
_MAGIC: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG_HEAD, _FRAME_HEAD = 32, 24
# The head of the log's index (-shm), as sqlite.org/walformat.html describes it: the size of a page, and the number of
# frames that the log holds.
_INDEX_HEAD: Final = 48
_PAGE_AND_FRAMES: Final = struct.Struct("=14xHI")


class FileState(enum.Enum):
    """What has happened to the files since they were opened."""

    SAME = ""
    GONE = "is gone: put it back"
    REPLACED = "was replaced"
    OVERWRITTEN = "was overwritten while it was in use: run tui-tasks restore with the backup"
    LOG_LOST = (
        "has lost its log (-wal): it was removed while in use. End each tui-tasks that has the database open (this "
        "writes the log into it), then start again"
    )
    INDEX_LOST = (
        "has lost its log's index (-shm): it was removed while in use. End each tui-tasks that has the database open, "
        "then start again"
    )
    LOG_CUT = (
        "has lost its log (-wal): it was cut short while in use. End each tui-tasks that has the database open. "
        "Changes since the last checkpoint are lost; a backup may have them (tui-tasks restore)"
    )


def identity(path: str) -> Identity | None:
    """Return device and inode of a file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_at_rest(path: str) -> bool:
    """Return whether the file holds the whole database, with no log; for a process that does not have it open.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        return file.read(_HEADER)[18:20] == _AT_REST


class OpenFiles:
    """A database's file and log as one connection has them; made before the connection is.

    Attributes:
        file: device and inode of the database's file; None where there is none.
    """

    def __init__(self, path: str) -> None:
        self._path, self._log_path, self._index_path = path, f"{path}-wal", f"{path}-shm"
        self.file = identity(path)
        self._log: Identity | None = None
        self._index: Identity | None = None
        # A descriptor of the log. SQLite puts no lock on that file, so closing it here drops none.
        self._log_fd = -1
        self._log_size = 0
        # The log's path as the system knows it by that descriptor, on Linux.
        self._log_place = ""
        self._is_cut = False
        self._written: tuple[int, int] | None = None
        # SQLite's descriptors of the file and of the log's index, as they were found last.
        self._handles: dict[Identity, int] = {}

    def note_log(self) -> None:
        """Note which log the connection writes: it stays the same until the last connection is closed."""
        if self._log is not None:
            return
        try:
            self._log_fd = _open_to_look(self._log_path)
        except OSError:
            return
        status = os.fstat(self._log_fd)
        self._log, self._log_size = (status.st_dev, status.st_ino), status.st_size
        self._log_place, self._index = self._place(), identity(self._index_path)

    def close(self) -> None:
        """Close what was opened here."""
        if self._log_fd >= 0:
            os.close(self._log_fd)
            self._log_fd, self._log = -1, None

    def has_leftovers(self) -> bool:
        """Whether a file that is at rest has another's log beside it. SQLite would write that into it."""
        # A file that is written ahead from now on says so before it has a log.
        return any(os.path.exists(f"{self._path}{end}") for end in LEFTOVERS) and self._is_at_rest()

    def state(self, *, reads_log: bool = False) -> FileState:
        """Return what has happened to the files since they were opened.

        `reads_log`: read the log's first bytes too. A log that was cut while a transaction was open is as long as
        before once that is written, but begins with a hole.
        """
        try:
            status = os.stat(self._path)
        except OSError:
            return FileState.GONE
        if (status.st_dev, status.st_ino) != self.file:
            return FileState.REPLACED
        if self._log is None:
            return FileState.SAME
        written = status.st_mtime_ns, status.st_size
        if written != self._written:
            # A checkpoint has written to it, which is seldom, or it was overwritten.
            has_shrunk = self._written is not None and status.st_size < self._written[1]
            if self._is_at_rest() or (has_shrunk and self._is_cut_short(status.st_size)):
                return FileState.OVERWRITTEN
            self._written = written
        if (not self._log_place or self._place() != self._log_place) and identity(self._log_path) != self._log:
            return FileState.LOG_LOST
        if self._index is not None and identity(self._index_path) != self._index:
            # Another process makes a new one, and the two do not see each other's writes.
            return FileState.INDEX_LOST
        size = os.lseek(self._log_fd, 0, os.SEEK_END)
        is_shorter = size < self._log_size or not size
        if is_shorter or (reads_log and not self._has_magic()):
            self._is_cut = self._is_cut or self.is_log_cut()
        if self._is_cut:
            return FileState.LOG_CUT
        self._log_size = size
        return FileState.SAME

    def _place(self) -> str:
        """Return where the log lies now; empty where the system does not tell that of a descriptor.

        A look at the file's status reads its times, too, and Linux then has to write finer ones at the next sync.
        """
        try:
            return os.readlink(f"/proc/self/fd/{self._log_fd}")
        except OSError:
            return ""

    def is_log_cut(self) -> bool:
        """Return whether the log holds less than its index says. A checkpoint that empties the log empties both."""
        index = identity(self._index_path)
        for _ in range(10):
            head = self._read_open(index, _INDEX_HEAD)
            if self._log is None or head is None or len(head) < _INDEX_HEAD:
                return False
            page, frames = _PAGE_AND_FRAMES.unpack_from(head)
            size, has_magic = os.fstat(self._log_fd).st_size, self._has_magic()
            # Unless another process writes the log at this moment.
            if self._read_open(index, _INDEX_HEAD) == head:
                expected = _LOG_HEAD + frames * (_FRAME_HEAD + (page if page > 1 else 1 << 16))
                return bool(frames) and (size < expected or not has_magic)
        return False

    def _has_magic(self) -> bool:
        """Whether the log begins as a log does. A disk that cannot be read now says nothing: SQLite has synced it."""
        try:
            return os.pread(self._log_fd, len(_MAGIC[0]), 0) in _MAGIC
        except OSError:
            return True

    def _is_at_rest(self) -> bool:
        header = self._read_open(self.file, _HEADER)
        return header is not None and (len(header) < _HEADER or header[18:20] == _AT_REST)

    def _is_cut_short(self, size: int) -> bool:
        """Whether a file of so many bytes is shorter than its first page says."""
        header = self._read_open(self.file, _HEADER)
        if header is None or len(header) < _HEADER:
            return header is not None
        page, pages = _PAGE_AND_PAGES.unpack(header)
        expected: int = pages * (page if page > 1 else 1 << 16)
        return size < expected

    def _read_open(self, file: Identity | None, size: int) -> bytes | None:
        """Return the first bytes of a file, read through a descriptor that is open; None where there is none.

        Opening and closing the file would drop the locks that SQLite holds on it in this process (POSIX).
        """
        if file is None:
            return None
        if (known := self._handles.get(file)) is not None and (begun := _read_if(known, file, size)) is not None:
            return begun
        for handle in _open_handles():
            if (begun := _read_if(handle, file, size)) is not None:
                self._handles[file] = handle
                return begun
        return None


def _open_handles() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return []


def _read_if(handle: int, file: Identity, size: int) -> bytes | None:
    """Return the first bytes of what a descriptor has open; None unless that is the file, and can be read."""
    # It may have been closed meanwhile, or be open for writing alone.
    with contextlib.suppress(OSError):
        status = os.fstat(handle)
        if (status.st_dev, status.st_ino) == file:
            return os.pread(handle, size, 0)
    return None


def _open_to_look(path: str) -> int:
    """Return a descriptor whose reads do not change the file's time of access, where the system allows that."""
    with contextlib.suppress(PermissionError):
        return os.open(path, os.O_RDONLY | getattr(os, "O_NOATIME", 0))
    return os.open(path, os.O_RDONLY)
