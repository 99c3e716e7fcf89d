"""Check that the files which a connection has open are still those at its path.

SQLite goes on writing to files that were deleted or replaced, and combines a log with whatever database stands beside
it: a write to such files must not be acknowledged.
"""

from __future__ import annotations

import enum
import os
from typing import Final

Identity = tuple[int, int]
"""Device and inode of a file."""

LEFTOVERS: Final = ("-wal", "-shm")
_HEADER: Final = 20
_AT_REST: Final = b"\1\1"
"""Bytes 18 and 19 of a database that has no log, as a backup (sqlite.org/fileformat2.html, section 1.3)."""


class FileState(enum.Enum):
    """What has happened to the files since they were opened."""

    SAME = ""
    GONE = "is gone: put it back"
    REPLACED = "was replaced"
    OVERWRITTEN = "was overwritten while it was in use: run tui-tasks restore with the backup"
    LOG_LOST = (
        "has lost its log (-wal), which was removed while it was in use: end each tui-tasks that has it open, "
        "which writes what the log held into it, and start anew"
    )


def identity(path: str) -> Identity | None:
    """Return device and inode of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
        self._path, self._log_path = path, f"{path}-wal"
        self.file = identity(path)
        self._log: Identity | None = None
        self._written: tuple[int, int] | None = None

    def note_log(self) -> None:
        """Note which log the connection writes: it stays the same until the last connection is closed."""
        if self._log is None:
            self._log = identity(self._log_path)

    def has_leftovers(self) -> bool:
        """Whether a file that is at rest has another's log beside it. SQLite would write that into it."""
        # A file that is written ahead from now on says so before it has a log.
        return any(os.path.exists(f"{self._path}{end}") for end in LEFTOVERS) and self._is_at_rest()

    def state(self) -> FileState:
        """Return what has happened to the files since they were opened."""
        try:
            found = os.stat(self._path)
        except OSError:
            return FileState.GONE
        if (found.st_dev, found.st_ino) != self.file:
            return FileState.REPLACED
        if self._log is None:
            return FileState.SAME
        written = found.st_mtime_ns, found.st_size
        if written != self._written:
            # A checkpoint has written to it, which is seldom, or it was overwritten.
            if self._is_at_rest():
                return FileState.OVERWRITTEN
            self._written = written
        return FileState.SAME if identity(self._log_path) == self._log else FileState.LOG_LOST

    def _is_at_rest(self) -> bool:
        header = self._header()
        return header is not None and (len(header) < _HEADER or header[18:20] == _AT_REST)

    def _header(self) -> bytes | None:
        """Return the first bytes of the file, read through a descriptor that is open; None where there is none.

        Opening and closing the file would drop the locks that SQLite holds on it in this process (POSIX).
        """
        try:
            handles = [int(name) for name in os.listdir("/dev/fd")]
        except OSError:
            return None
        for handle in handles:
            try:
                found = os.fstat(handle)
                if (found.st_dev, found.st_ino) == self.file:
                    return os.pread(handle, _HEADER, 0)
            except OSError:  # it was closed meanwhile, or is only written
                continue
        return None
