"""Changes made in steps, and what happens if their process dies between two steps.

Each step commits, so a killed process leaves a part of its change behind. The first step records the change in the
table `unfinished_change`, and the last one deletes the record. Meanwhile the process holds a file lock, which the
kernel releases however the process ends. A recorded change without that lock is interrupted: the next process that
writes undoes it. The table is not part of the state and not in the journal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Mapping
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.schema.tables import UnfinishedChangeRow as Row


class UnfinishedChange(msgspec.Struct, frozen=True):
    """A change of which some steps are committed.

    Attributes:
        change: the seq of its first entry.
        actor: who makes it.
        lock: the suffix of the lock file that its process holds.
    """

    change: int
    actor: str
    lock: str


_FIELDS: Final = (Row.change, Row.actor, Row.lock)
_ALL: Final = Statement(lambda: Row.select(*_FIELDS).order_by(Row.change.desc()))
_RECORD: Final = Statement(lambda: Row.insert({field: slot(field.name) for field in _FIELDS}))
_FORGET: Final = Statement(lambda: Row.delete().where(Row.change == slot("change")))
_FLAGS: Final = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class StepLock:
    """A process's lock on an unfinished change, held until `release`."""

    def __init__(self, handle: int, path: str) -> None:
        self._handle, self._path = handle, path

    def release(self) -> None:
        """Release the lock, and remove its file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        os.close(self._handle)


class StepRecord:
    """The record of one change in steps, valid while its process lives."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._recorded: list[int] = []
        self._suffix = ""
        self._lock: StepLock | None = None

    def record(self, parts: Mapping[str, int]) -> None:
        """Record a change before its step is committed; `parts` has the seq of the first entry of each agent's part.

        Raises:
            StorageFailed: the lock file cannot be created.
        """
        for actor, change in parts.items():
            if change not in self._recorded:
                if self._lock is None:
                    self._suffix = str(change)
                    self._lock = take_lock(self._db, self._suffix)
                self._db.run(_RECORD, {"change": change, "actor": actor, "lock": self._suffix})
                self._recorded.append(change)

    def forget(self) -> None:
        """Delete the record, in the transaction of the last step."""
        for change in self._recorded:
            self._db.run(_FORGET, {"change": change})

    def release(self) -> None:
        """Release the lock: from now on, a change that is still recorded counts as interrupted."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def recorded(db: Database) -> list[UnfinishedChange]:
    """Return the unfinished changes, newest first, whether or not their processes live."""
    return [UnfinishedChange(*row) for row in db.all(_ALL)]


def take_lock(db: Database, suffix: str) -> StepLock | None:
    """Lock the file of a change; return None if a living process has it locked.

    Raises:
        StorageFailed: the file cannot be created.
    """
    path = f"{db.path}-step{suffix}"
    try:
        handle = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be made: {error.strerror}", retryable=True) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # the file system has no such locks
        pass
    return StepLock(handle, path)


def forget(db: Database, unfinished: UnfinishedChange) -> None:
    """Delete the record of an interrupted change, in the transaction that undid it."""
    db.run(_FORGET, {"change": unfinished.change})
