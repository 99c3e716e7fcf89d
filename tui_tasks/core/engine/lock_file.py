"""The lock file: `NAME-lock` beside a database, never read or written, only locked.

It is 0600 and the user's own, so that nobody else can hold a lock of it. Those who open the database share a lock while
they do so; who puts another file in its place has it alone. It stays when the database is closed: to delete a file that
others lock would give them two.
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

_ASK_AGAIN_SECONDS: Final = 0.005
_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_lock_file(database: str, *, make: bool) -> int:
    """Return a handle of the lock file; `make` it where there is none.

    Raises:
        OSError: it cannot be opened, is another user's, or others may open it.
    """
    path = f"{database}-lock"
    if make:
        with contextlib.suppress(FileExistsError):
            return _made(path)
    handle = os.open(path, _FLAGS)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        os.close(handle)
        raise PermissionError(f"{database}-lock can be locked by others")
    return handle


def _made(path: str) -> int:
    handle = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    os.fchmod(handle, 0o600)
    return handle


@contextlib.contextmanager
def opening(database: str) -> Iterator[None]:
    """Open a database while a block runs: nothing takes its place meanwhile.

    Raises:
        DatabaseRefused: for 5 s another has been put in its place.
    """
    try:
        handle = open_lock_file(database, make=False)
    except OSError:
        # There is none yet, or it is no use; what is found after the opening still tells of another file.
        yield
        return
    try:
        if not _locked(handle, fcntl.LOCK_SH):
            raise DatabaseRefused(f"{database} is being restored by another process: try again")
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def replacing(database: str) -> Iterator[None]:
    """Put another file in the place of a database while a block runs: nobody opens it meanwhile.

    Raises:
        Busy: for 5 s others have been opening or restoring it.
        OSError: the lock file cannot be used.
    """
    handle = open_lock_file(database, make=True)
    try:
        if not _locked(handle, fcntl.LOCK_EX):
            raise Busy(f"another process has been opening or restoring {database} for {BUSY_SECONDS:g} s; try again")
        yield
    finally:
        os.close(handle)


def _locked(handle: int, kind: int) -> bool:
    """Whether the lock was had within 5 s."""
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
        time.sleep(_ASK_AGAIN_SECONDS)
