"""What SQLite says when it cannot read or write, told as the channel tells it (docs: protocol, section 3)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Busy, StorageFailed

BUSY_SECONDS: Final = 5.0
"""For so long a writer waits for others."""

READ_ERRORS: Final = (StorageFailed, sqlite3.DatabaseError)
"""What is raised where the database cannot be read: by SQLite itself where nothing turns it into a refusal."""

_WORTH_ANOTHER_TRY: Final = ("full", "locked", "busy", "I/O", "readonly", "unable to open")


@contextlib.contextmanager
def storage_errors(path: str, *, reading: bool = False) -> Iterator[None]:
    """Turn what SQLite says at work into refusals; `reading`: nothing was to be written."""
    try:
        yield
    except sqlite3.Error as error:
        if not is_storage_error(error):
            raise
        text = str(error)
        if is_busy(error):
            raise Busy(f"another process has held {path} for {BUSY_SECONDS:g} s; try again") from error
        if "malformed" in text:
            # SQLite takes for damage what cannot be read.
            text = "the database is damaged, or its disk cannot be read: see tui-tasks doctor"
        retryable = any(word in text for word in _WORTH_ANOTHER_TRY)
        # What is copied while the database is read may find its own disk full.
        is_read = reading and "full" not in text
        told = f"{path} cannot be read: {text}" if is_read else f"{path}: {text}; nothing was written"
        raise StorageFailed(told, retryable=retryable) from error


def is_storage_error(error: BaseException) -> bool:
    """Whether SQLite could not read or write: a broken constraint is a defect of ours."""
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection is in the way."""
    return any(word in str(error) for word in ("locked", "busy"))


def needs_opening(error: BaseException) -> bool:
    """Whether only a new connection may do better: one that could not write when it was opened never can.

    What SQLite said may stand behind other errors, as their cause.
    """
    said: BaseException | None = error
    while said is not None and not isinstance(said, sqlite3.Error):
        said = said.__cause__
    return said is not None and not is_busy(said) and "full" not in str(said)
