"""The lock file beside a database, and the queue of the processes that wait for the write lock.

SQLite's own busy wait retries ever more seldom, so a writer that has waited long loses to each newcomer, and starves.
Here a waiter locks one byte of the database's lock file (an open file description lock, owned by this descriptor
alone); the offset of the byte is the instant since when it waits. Nothing is written, only the file's owner can lock
it, and the kernel releases it when the process ends, however it ends. The queue orders waiters and guards nothing:
SQLite's lock does that.

The lock file is 0600 and the user's own, so that nobody else can lock it. Opening the database takes a shared lock for
as long as that lasts; replacing its file takes an exclusive one. The lock file stays when the database is closed:
deleted while others have it locked, it would exist twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from tui_tasks.core.engine.driver import BUSY_SECONDS
from tui_tasks.core.errors import Busy, DatabaseRefused

_RETRY_SECONDS: Final = 0.005
_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_lock_file(database: str, *, make: bool) -> int:
    """Return a descriptor of the lock file; `make` creates it where there is none.

    Raises:
        OSError: it cannot be opened, is another user's, or others may open it.
    """
    path = f"{database}-lock"
    if make:
        with contextlib.suppress(FileExistsError):
            return _create(path)
    handle = os.open(path, _FLAGS)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        os.close(handle)
        raise PermissionError(f"{database}-lock can be locked by others")
    return handle


def _create(path: str) -> int:
    handle = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    os.fchmod(handle, 0o600)
    return handle


@contextlib.contextmanager
def opening(database: str) -> Iterator[None]:
    """Hold the shared lock while a block opens the database: its file is not replaced meanwhile.

    Raises:
        DatabaseRefused: for `BUSY_SECONDS` another has been put in its place.
    """
    try:
        handle = open_lock_file(database, make=False)
    except OSError:
        # There is none yet, or it cannot be used; the checks after opening still notice a replaced file.
        yield
        return
    try:
        if not _lock_within_limit(handle, fcntl.LOCK_SH):
            raise DatabaseRefused(f"{database} is being restored by another process: try again")
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def replacing(database: str) -> Iterator[None]:
    """Hold the exclusive lock while a block replaces the database's file: nobody opens it meanwhile.

    Raises:
        Busy: for `BUSY_SECONDS` others have been opening or restoring it.
        OSError: the lock file cannot be used.
    """
    handle = open_lock_file(database, make=True)
    try:
        if not _lock_within_limit(handle, fcntl.LOCK_EX):
            raise Busy(f"another process has been opening or restoring {database} for {BUSY_SECONDS:g} s; try again")
        yield
    finally:
        os.close(handle)


def _lock_within_limit(handle: int, kind: int) -> bool:
    """Return whether the lock was obtained within `BUSY_SECONDS`."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
        except OSError:  # a file system without such locks
            return True
        time.sleep(_RETRY_SECONDS)


_GRACE: Final = 50_000
"""µs of waiting after which others give way; until then the quickest goes first, which gives more throughput."""
_MAX_PATIENCE: Final = 2_500_000
"""µs of waiting after which nobody gives way any more: the waiter may be stopped (SIGSTOP)."""
_SHORT_SLEEP_SECONDS: Final = 0.0002
_SLEEP_SECONDS: Final = 0.002

# The layout of Linux; macOS has the same constants and another `struct flock`.
_FLOCK: Final = struct.Struct("hhqqi")
# None where the system has no such locks: then nobody gives way.
_GET_LOCK: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None) if sys.platform == "linux" else None
_SET_LOCK: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None


def _microseconds() -> int:
    return time.monotonic_ns() // 1000


class WriteQueue:
    """The place of one connection among those that wait to write.

    Args:
        path: the database's file, which exists.
        limit: seconds after which waiting ends.
        clock: µs, the same for all processes.
        sleep: sleeps for seconds.

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
        self._is_beginning = self._is_announced = self._has_waited = False
        # Beside the file that a link leads to, as SQLite's own files are.
        self._file = open_lock_file(os.path.realpath(path), make=True)

    def close(self) -> None:
        """Close the lock file."""
        os.close(self._file)

    def begin_write(self, begin: Callable[[str], object]) -> bool:
        """Begin a write transaction, after those who have waited long; return whether it had to wait.

        `begin` calls `wait` while others write.
        """
        self._since = now = self._clock()
        self._is_beginning, self._has_waited = True, False
        try:
            if self._has_earlier_waiter(now, now - _GRACE):
                self.wait(0)
            begin("BEGIN IMMEDIATE")
        finally:
            self._is_beginning = False
            if self._is_announced:
                self._announce(fcntl.F_UNLCK)
                self._is_announced = False
        return self._has_waited

    def wait(self, tries: int) -> bool:
        """Sleep, and return whether to try the lock again; SQLite's busy handler, called with the number of tries."""
        self._has_waited = True
        if not self._is_beginning and tries == 0:
            self._since = self._clock()
        if self._is_beginning and not self._is_announced:
            self._is_announced = self._announce(fcntl.F_RDLCK)
        while (now := self._clock()) - self._since < self._limit:
            has_older = self._is_beginning and self._has_earlier_waiter(now, min(self._since, now - _GRACE))
            if now - self._since > _GRACE and not has_older:
                self._sleep(_SHORT_SLEEP_SECONDS)
            else:
                # A random time, so that waiters do not retry in step.
                self._sleep(_SLEEP_SECONDS * (0.5 + os.urandom(1)[0] / 255))
            if not has_older:
                return True
        return False

    def _has_earlier_waiter(self, now: int, until: int) -> bool:
        """Return whether another has been waiting since before an instant (µs)."""
        start = max(now - _MAX_PATIENCE, 0)
        if _GET_LOCK is None or until <= start:
            return False
        try:
            lock = fcntl.fcntl(self._file, _GET_LOCK, self._flock(fcntl.F_WRLCK, start, until - start))
        except OSError:  # a file system without such locks
            return False
        kind: int = _FLOCK.unpack_from(lock)[0]
        return kind != fcntl.F_UNLCK

    def _announce(self, kind: int) -> bool:
        """Lock or unlock the byte that shows since when this connection waits; return whether that worked."""
        if _SET_LOCK is None:
            return False
        try:
            fcntl.fcntl(self._file, _SET_LOCK, self._flock(kind, self._since, 1))
        except OSError:
            return False
        return True

    def _flock(self, kind: int, start: int, length: int) -> bytes:
        return _FLOCK.pack(kind, os.SEEK_SET, start, length, 0)


def joined(connection: Any, path: str) -> WriteQueue | None:
    """Give a connection a place in the write queue, where driver and folder allow it; else SQLite's own wait serves."""
    if not hasattr(connection, "set_busy_handler"):
        return None
    try:
        queue = WriteQueue(path, BUSY_SECONDS)
    except OSError:
        return None
    connection.set_busy_handler(queue.wait)
    return queue
