"""Translate the errors of SQLite into refusals of the channel (docs: protocol, section 3)."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Busy, StorageFailed

BUSY_SECONDS: Final = 5.0
"""A writer waits so long for others."""

READ_ERRORS: Final = (StorageFailed, sqlite3.DatabaseError)
"""Raised where the database cannot be read; SQLite's own error where `storage_errors` does not translate it."""

_RETRYABLE: Final = ("full", "locked", "busy", "I/O", "readonly", "unable to open")


class storage_errors:
    """Translates errors of SQLite in a block; `reading`: nothing was to be written.

    A class, not a generator: it surrounds each transaction, and enters and leaves a block in half the calls.

    Raises:
        Busy: another connection held a lock for 5 s.
        StorageFailed: the database cannot be read or written.
    """

    __slots__ = ("_path", "_reading")

    def __init__(self, path: str, *, reading: bool = False) -> None:
        self._path, self._reading = path, reading

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and is_storage_error(error):
            raise _refusal(error, self._path, reading=self._reading) from error


def _refusal(error: BaseException, path: str, *, reading: bool) -> StorageFailed:
    """Return the refusal that tells what SQLite's error means for the database at a path."""
    text = str(error)
    if is_busy(error):
        return Busy(f"another process has held {path} for {BUSY_SECONDS:g} s; try again")
    if "malformed" in text:
        # SQLite reports an unreadable disk as damage as well.
        text = "the database is damaged, or its disk cannot be read: see tui-tasks doctor"
    retryable = any(word in text for word in _RETRYABLE)
    # A copy made while reading may find its own disk full.
    is_read = reading and "full" not in text
    message = f"{path} cannot be read: {text}" if is_read else f"{path}: {text}; nothing was written"
    return StorageFailed(message, retryable=retryable)


def is_storage_error(error: BaseException) -> bool:
    """Return whether SQLite could not read or write; a broken constraint is a defect of this program instead."""
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError)


def is_busy(error: BaseException) -> bool:
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
