"""Whether the files that a connection has open are still those of its path.

SQLite goes on to write to files that nobody can find any more, and puts a log together with whatever file stands beside
it: a write to these must not be acknowledged.
"""

from __future__ import annotations

import enum
import os
from typing import Final

Identity = tuple[int, int]
"""Device and number of a file: what tells it from any other."""

LEFTOVERS: Final = ("-wal", "-shm")
_HEADER: Final = 20
_AT_REST: Final = b"\1\1"
"""Bytes 18 and 19 of a database that has no log, as a backup (sqlite.org/fileformat2.html, section 1.3)."""


class State(enum.Enum):
    """What has become of the files."""

    SAME = ""
    GONE = "is gone: put it back"
    REPLACED = "was replaced"
    OVERWRITTEN = "was overwritten while it was in use: run tui-tasks restore with the backup"
    LOG_LOST = (
        "has lost its log (-wal), which was removed while it was in use: end each tui-tasks that has it open, "
        "which writes what the log held into it, and start anew"
    )


def identity(path: str) -> Identity | None:
    """What tells a file from any other; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_at_rest(path: str) -> bool:
    """Whether all of a database is in its file, for a process that does not have it open.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        return file.read(_HEADER)[18:20] == _AT_REST


class OpenFiles:
    """A database's file and log as one connection has them; made before the connection is.

    Attributes:
        file: what tells the database's file from any other; None where there is none.
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

    def state(self) -> State:
        """What has become of the files since they were opened."""
        try:
            found = os.stat(self._path)
        except OSError:
            return State.GONE
        if (found.st_dev, found.st_ino) != self.file:
            return State.REPLACED
        if self._log is None:
            return State.SAME
        written = found.st_mtime_ns, found.st_size
        if written != self._written:
            # It was checkpointed, which is seldom, or overwritten.
            if self._is_at_rest():
                return State.OVERWRITTEN
            self._written = written
        return State.SAME if identity(self._log_path) == self._log else State.LOG_LOST

    def _is_at_rest(self) -> bool:
        header = self._header()
        return header is not None and (len(header) < _HEADER or header[18:20] == _AT_REST)

    def _header(self) -> bytes | None:
        """The beginning of the file, read by a handle that is open; None where there is no such handle.

        To open and close the file would drop the locks that SQLite holds on it in this process (POSIX).
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
