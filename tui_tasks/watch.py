"""Telling soon, and at little cost, that another process has committed.

On Linux the kernel tells when the write-ahead log is written; a commit can be seen a moment later, so the database is
asked again at growing intervals. Elsewhere, and as a safety net, it is asked at a steady pace.
"""

from __future__ import annotations

import contextlib
import sys
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

    Attributes:
        is_lost: whether the database could not be read at the last look.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        # SQLite keeps the log beside the file itself, wherever a link to it stands.
        self._log = Path(f"{Path(db.path).resolve()}-wal")
        self._pending: list[float] = []
        self._next = 0.0
        self._notify: Any = None
        self._has_asked = False
        self.is_lost = False
        self._version = self._look()

    def _asked(self) -> Any:
        """What the kernel tells by, None where it does not; it is asked to the first time."""
        if not self._has_asked:
            self._has_asked, self._notify = True, _ask_kernel(self._log.parent)
        return self._notify

    @property
    def fd(self) -> int | None:
        """Becomes readable when the log may have been written; None where the kernel does not tell."""
        notify = self._asked()
        return notify.fileno() if notify else None

    def arm(self, now: float) -> None:
        """Take the kernel's word in (`fd` is readable); `now` is monotonic seconds."""
        notify = self._asked()
        for event in notify.read(timeout=0) if notify else ():
            if event.name == self._log.name:
                self._pending = [now + step for step in LADDER]

    def wait(self, now: float) -> float:
        """How many seconds until `changed` is worth asking."""
        at = self._pending[0] if self._pending else self._next
        return max(0.0, at - now)

    def changed(self, now: float) -> bool:
        """Whether another connection has committed since the last time this was asked, or it is another file."""
        while self._pending and self._pending[0] <= now:
            self._pending.pop(0)
        # The kernel is asked to tell before the database is read, so that nothing falls between.
        notify, before, version = self._asked(), self._version, self._look()
        self._next = now + (SAFETY_NET if notify or self.is_lost else POLL)
        if version is None:
            # Whoever asks for more is told; here the next look will do.
            return False
        if notify and before is not None and version[0] != before[0]:
            # The folder may be another one, too.
            with contextlib.suppress(OSError):
                _add(notify, self._log.parent)
        self._version = version
        return version != before

    def _look(self) -> tuple[object, int] | None:
        try:
            version = self._db.data_version()
        except StorageFailed:
            self.is_lost = True
            return None
        self.is_lost = False
        return version

    def close(self) -> None:
        """Stop watching."""
        if self._notify is not None:
            self._notify.close()


def _ask_kernel(folder: Path) -> Any:
    if sys.platform != "linux":
        return None
    with contextlib.suppress(ImportError, OSError):
        from inotify_simple import INotify

        notify = INotify(nonblocking=True)
        _add(notify, folder)
        return notify
    return None


def _add(notify: Any, folder: Path) -> None:
    from inotify_simple import flags

    notify.add_watch(folder, flags.MODIFY | flags.CREATE)
