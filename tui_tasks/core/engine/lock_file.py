"""The lock file: `NAME-lock` beside a database, never read or written, only locked.

It is 0600 and the user's own, so that nobody else can lock it. Opening the database takes a shared lock for as long as
that lasts; replacing its file takes an exclusive one. The lock file stays when the database is closed: deleted while
others have it locked, it would exist twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from typing import Final

from tui_tasks.core.engine.storage_errors import BUSY_SECONDS
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
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
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
        DatabaseRefused: for 5 s another has been put in its place.
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
        Busy: for 5 s others have been opening or restoring it.
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
    """Return whether the lock was obtained within 5 s."""
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
