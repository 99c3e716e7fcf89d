"""Changes made in steps, and what happens if their process dies between two steps.

Each step commits, so a killed process leaves a part of its change behind. The first step records the change in the
table `unfinished_change`, and the last one deletes the record. Meanwhile the process holds a file lock, which the
kernel releases however the process ends. A recorded change without that lock is interrupted: the next process that
writes, or a screen or server that runs, undoes it. The table is not part of the state and not in the journal.

Machines that share a server know each other's records. Each undoes its own alone; another takes over the records of a
machine that is lost (`core.unjournaled.heartbeats`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, StorageFailed


class UnfinishedChange(msgspec.Struct, frozen=True):
    """A change of which some steps are committed.

    Attributes:
        change: the seq of its first entry.
        actor: who makes it.
        lock: the digits at the end of the lock file that its process holds; in a replica with `@` and its machine.
    """

    change: int
    actor: str
    lock: str

    def is_of(self, machine: str) -> bool:
        """Return whether a machine undoes it if it is interrupted. The only machine of a file undoes all."""
        return not machine or self.lock.partition("@")[2] in ("", machine)


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
        self._recorded: list[UnfinishedChange] = []
        self._name = ""
        self._lock: StepLock | None = None

    def record(self, parts: Mapping[str, int]) -> None:
        """Record a change before its step is committed; `parts` has the seq of the first entry of each agent's part.

        Raises:
            StorageFailed: the lock file cannot be created.
        """
        known = {each.change for each in self._recorded}
        for actor, change in parts.items():
            if change not in known:
                if self._lock is None:
                    self._name = _lock_name(change, self._db.machine)
                    self._lock = take_lock(self._db, self._name)
                unfinished = UnfinishedChange(change, actor, self._name)
                _record(self._db, unfinished)
                self._recorded.append(unfinished)

    def refuse_if_undone(self) -> None:
        """Check in a step that the steps before it stand.

        Raises:
            Conflict: another machine has taken them over.
        """
        if len(self.committed()) < len(self._recorded):
            raise Conflict("another machine has undone this change, because this machine was silent: do it again")

    def committed(self) -> list[UnfinishedChange]:
        """Return the parts of which steps are committed, and which this process may undo, newest first."""
        return [each for each in recorded(self._db) if each in self._recorded]

    def forget(self) -> None:
        """Delete the record, in the transaction of the last step."""
        for unfinished in self._recorded:
            forget(self._db, unfinished)

    def release(self) -> None:
        """Release the lock: from now on, a change that is still recorded counts as interrupted."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def recorded(db: Database) -> list[UnfinishedChange]:
    """Return the unfinished changes, newest first, whether or not their processes live."""
    rows = db.sql("SELECT change, actor, lock FROM unfinished_change ORDER BY change DESC")
    return [UnfinishedChange(*row) for row in rows.fetchall()]


def take_over(db: Database, lost: str) -> int:
    """Make the records of a lost machine this machine's, within the open write transaction; return how many."""
    taken = [each for each in recorded(db) if each.lock.partition("@")[2] == lost]
    for each in taken:
        forget(db, each)
        _record(db, UnfinishedChange(each.change, each.actor, _lock_name(each.change, db.machine)))
    return len(taken)


def _lock_name(change: int, machine: str) -> str:
    return f"{change}@{machine}" if machine else str(change)


def take_lock(db: Database, name: str) -> StepLock | None:
    """Lock the file of a change by the name in its record; return None if a living process has it locked.

    Raises:
        StorageFailed: the file cannot be created.
    """
    # Digits alone, as other machines write names too.
    path = f"{db.path}-step{re.split('[^0-9]', name)[0]}"
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


def _record(db: Database, unfinished: UnfinishedChange) -> None:
    values = unfinished.change, unfinished.actor, unfinished.lock
    db.sql("INSERT INTO unfinished_change (change, actor, lock) VALUES (?, ?, ?)", values)


def forget(db: Database, unfinished: UnfinishedChange) -> None:
    """Delete the record of an interrupted change, in the transaction that undid it, unless it was taken over."""
    db.sql("DELETE FROM unfinished_change WHERE change = ? AND lock = ?", (unfinished.change, unfinished.lock))
