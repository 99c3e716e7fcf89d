"""Who goes first where several wait for the write lock: one that has waited long is let by.

SQLite's own wait asks ever more seldom, so that a writer who has waited long loses to each who comes anew, and starves.
Here a waiter locks one byte of the database's lock file (an open file description lock, held by nothing but this file
handle); the place of the byte tells since when it waits. Nothing is written, nobody but the file's owner can lock it,
and the kernel takes the lock away when its process ends, however it ends. It orders the waiters and guards nothing:
that is SQLite's own lock alone.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Final

from tui_tasks.core.engine.lock_file import open_lock_file

_GRACE: Final = 50_000
"""µs after which others give way; until then whoever is quick goes first, which gets more done."""
_STOPPED: Final = 2_500_000
"""µs after which nobody gives way: it may be stopped (SIGSTOP) and never go."""
_NEXT_SECONDS: Final = 0.0002
_SECONDS: Final = 0.002

# As Linux has it; macOS has the same constants and another `struct flock`.
_FLOCK: Final = struct.Struct("hhqqi")
# What this system cannot do is None: then nobody gives way.
_ASK: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None) if sys.platform == "linux" else None
_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None


def _microseconds() -> int:
    return time.monotonic_ns() // 1000


class WriteQueue:
    """The turns of one connection to a database file.

    Args:
        path: the database's file, which is there.
        limit: seconds after which a wait is given up.
        clock: µs, the same for all processes.
        sleep: waits so many seconds.

    Raises:
        OSError: the lock file cannot be used.
    """

    def __init__(
        self,
        path: str,
        limit: float,
        clock: Callable[[], int] = _microseconds,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._limit = limit * 1_000_000
        self._clock, self._sleep = clock, sleep
        self._since = 0
        self._taking = self._told = False
        # As SQLite does it: its own files stand beside what a link leads to.
        self._file = open_lock_file(os.path.realpath(path), make=True)

    def close(self) -> None:
        """Wait no more."""
        os.close(self._file)

    def take(self, begin: Callable[[str], object], statement: str) -> None:
        """Begin to write, after those who have waited long; `begin(statement)` calls `wait` while others write."""
        self._since = now = self._clock()
        self._taking = True
        try:
            if self._has_waited(now, now - _GRACE):
                self.wait(0)
            begin(statement)
        finally:
            self._taking = False
            if self._told:
                self._tell(fcntl.F_UNLCK)
                self._told = False

    def wait(self, tries: int) -> bool:
        """Wait a while for a lock, and return whether to ask for it again: SQLite calls this with how often it has."""
        if not self._taking and tries == 0:
            self._since = self._clock()
        if self._taking and not self._told:
            self._told = self._tell(fcntl.F_RDLCK)
        while (now := self._clock()) - self._since < self._limit:
            has_older = self._taking and self._has_waited(now, min(self._since, now - _GRACE))
            if now - self._since > _GRACE and not has_older:
                self._sleep(_NEXT_SECONDS)
            else:
                # At random, so that they do not ask in step.
                self._sleep(_SECONDS * (0.5 + os.urandom(1)[0] / 255))
            if not has_older:
                return True
        return False

    def _has_waited(self, now: int, until: int) -> bool:
        """Whether another waits since before that instant."""
        start = max(now - _STOPPED, 0)
        if _ASK is None or until <= start:
            return False
        try:
            told = fcntl.fcntl(self._file, _ASK, self._lock(fcntl.F_WRLCK, start, until - start))
        except OSError:  # a file system without such locks
            return False
        kind: int = _FLOCK.unpack_from(told)[0]
        return kind != fcntl.F_UNLCK

    def _tell(self, kind: int) -> bool:
        """Tell the others since when this one waits, or that it does no more."""
        if _SET is None:
            return False
        try:
            fcntl.fcntl(self._file, _SET, self._lock(kind, self._since, 1))
        except OSError:
            return False
        return True

    def _lock(self, kind: int, start: int, length: int) -> bytes:
        return _FLOCK.pack(kind, os.SEEK_SET, start, length, 0)
