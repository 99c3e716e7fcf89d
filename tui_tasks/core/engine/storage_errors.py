"""Translate the errors of SQLite into refusals of the channel (docs: protocol, section 3)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Busy, StorageFailed

BUSY_SECONDS: Final = 5.0
"""A writer waits so long for others."""

READ_ERRORS: Final = (StorageFailed, sqlite3.DatabaseError)
"""Raised where the database cannot be read; SQLite's own error where `storage_errors` does not translate it."""

_RETRYABLE: Final = ("full", "locked", "busy", "I/O", "readonly", "unable to open")


@contextlib.contextmanager
def storage_errors(path: str, *, reading: bool = False) -> Iterator[None]:
    """Translate errors of SQLite in a block; `reading`: nothing was to be written.

    Raises:
        Busy: another connection held a lock for 5 s.
        StorageFailed: the database cannot be read or written.
    """
    try:
        yield
    except sqlite3.Error as error:
        if not is_storage_error(error):
            raise
        text = str(error)
        if is_busy(error):
            raise Busy(f"another process has held {path} for {BUSY_SECONDS:g} s; try again") from error
        if "malformed" in text:
            # SQLite reports an unreadable disk as damage as well.
            text = "the database is damaged, or its disk cannot be read: see tui-tasks doctor"
        retryable = any(word in text for word in _RETRYABLE)
        # A copy made while reading may find its own disk full.
        is_read = reading and "full" not in text
        message = f"{path} cannot be read: {text}" if is_read else f"{path}: {text}; nothing was written"
        raise StorageFailed(message, retryable=retryable) from error


def is_storage_error(error: BaseException) -> bool:
    """Return whether SQLite could not read or write; a broken constraint is a defect of this program instead."""
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds a lock that was needed."""
    return any(word in str(error) for word in ("locked", "busy"))


def needs_opening(error: BaseException) -> bool:
    """Return whether only a new connection may work: one that could not write when it was opened never can.

    The error of SQLite may be the cause of the one that is given.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.Error):
        cause = cause.__cause__
    return cause is not None and not is_busy(cause) and "full" not in str(cause)
