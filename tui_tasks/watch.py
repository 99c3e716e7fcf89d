"""Telling soon, and at little cost, that another process has committed.

On Linux the kernel tells when the write-ahead log is written; a commit can be seen a moment later, so the database is
asked again at growing intervals. Elsewhere, and as a safety net, it is asked at a steady pace.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tui_tasks.core.database import Database
from tui_tasks.core.errors import StorageFailed

# Seconds after the kernel's word at which to look: the log is written before its commit can be seen.
LADDER: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SAFETY_NET: Final = 1.0
POLL: Final = 0.02


class Watch:
    """Watches a database for commits of other connections. Used by the thread that opened the database.

    The kernel is asked to tell once somebody wants to know: its telling makes every write dearer.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._version = db.data_version()
        # SQLite keeps the log beside the file itself, wherever a link to it stands.
        self._log = Path(f"{Path(db.path).resolve()}-wal")
        self._pending: list[float] = []
        self._next = 0.0

    @cached_property
    def _notify(self) -> Any:
        return _notify(self._log.parent)

    @property
    def fd(self) -> int | None:
        """Becomes readable when the log may have been written; None where the kernel does not tell."""
        return self._notify.fileno() if self._notify else None

    def arm(self, now: float) -> None:
        """Take the kernel's word in (`fd` is readable); `now` is monotonic seconds."""
        if self._notify is None:
            return
        for event in self._notify.read(timeout=0):
            if event.name == self._log.name:
                self._pending = [now + step for step in LADDER]

    def wait(self, now: float) -> float:
        """How many seconds until `changed` is worth asking."""
        at = self._pending[0] if self._pending else self._next
        return max(0.0, at - now)

    def changed(self, now: float) -> bool:
        """Whether another connection has committed since the last time this was asked."""
        while self._pending and self._pending[0] <= now:
            self._pending.pop(0)
        # The kernel is asked to tell before the database is read, so that nothing falls between.
        self._next = now + (SAFETY_NET if self._notify else POLL)
        try:
            version = self._db.data_version()
        except StorageFailed:
            # Whoever asks for more is told; here the next look will do.
            return False
        if version == self._version:
            return False
        self._version = version
        return True

    def close(self) -> None:
        """Stop watching."""
        if self.__dict__.get("_notify") is not None:
            self._notify.close()


def _notify(folder: Path) -> Any:
    if sys.platform != "linux":
        return None
    with contextlib.suppress(ImportError, OSError):
        from inotify_simple import INotify, flags

        notify = INotify(nonblocking=True)
        notify.add_watch(folder, flags.MODIFY | flags.CREATE)
        return notify
    return None
