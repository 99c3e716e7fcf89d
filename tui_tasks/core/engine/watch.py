"""Telling soon, and at little cost, that another process has committed.

The kernel tells when the write-ahead log is written (inotify on Linux, kqueue on macOS and the BSDs); a commit can be
seen a moment later, so the database is asked again at growing intervals. As a safety net, and where the kernel cannot
be asked, it is asked at a steady pace.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from pathlib import Path
from typing import Any, Final, Protocol

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed

# Seconds after the kernel's word at which to look: the log is written before its commit can be seen.
LADDER: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SAFETY_NET: Final = 1.0
POLL: Final = 0.02


class Notifier(Protocol):
    """The kernel's word that a log may have been written."""

    def fileno(self) -> int:
        """Becomes readable when there is word."""
        ...

    def has_word(self) -> bool:
        """Whether there is word; takes it in."""
        ...

    def follow(self) -> None:
        """Watch what stands at the log's path now: the folder may be another one.

        Raises:
            OSError: it cannot be watched.
        """
        ...

    def close(self) -> None:
        """Stop."""
        ...


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
        self._notify: Notifier | None = None
        self._has_asked = False
        self.is_lost = False
        self._version = self._look()

    def _asked(self) -> Notifier | None:
        """What the kernel tells by, None where it does not; it is asked to the first time."""
        if not self._has_asked:
            self._has_asked, self._notify = True, _ask_kernel(self._log)
        return self._notify

    @property
    def fd(self) -> int | None:
        """Becomes readable when the log may have been written; None where the kernel does not tell."""
        notify = self._asked()
        return notify.fileno() if notify else None

    def arm(self, now: float) -> None:
        """Take the kernel's word in (`fd` is readable); `now` is monotonic seconds."""
        notify = self._asked()
        if notify and notify.has_word():
            self._pending = [now + step for step in LADDER]

    def wait(self, now: float) -> float:
        """How many seconds until `changed` is worth asking."""
        at = self._pending[0] if self._pending else self._next
        return max(0.0, at - now)

    def sleep(self, seconds: float = float("inf"), *fds: int) -> set[int]:
        """Sleep until `changed` is worth asking, `seconds` have passed, or one of `fds` is readable; return those."""
        poll = select.poll()
        for fd in fds:
            poll.register(fd, select.POLLIN)
        if self.fd is not None:
            poll.register(self.fd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(max(0.0, min(seconds, self.wait(time.monotonic()))) * 1000)}
        if self.fd in ready:
            self.arm(time.monotonic())
        return ready.intersection(fds)

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
                notify.follow()
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


def _ask_kernel(log: Path) -> Notifier | None:
    with contextlib.suppress(ImportError, OSError):
        if sys.platform == "linux":
            return _Inotify(log)
        if hasattr(select, "kqueue"):
            return _Kqueue(log)
    return None


class _Inotify:
    """Watches the log's folder; each event names its file."""

    def __init__(self, log: Path) -> None:
        from inotify_simple import INotify

        self._log = log
        self._inotify: Any = INotify(nonblocking=True)
        self.follow()

    def fileno(self) -> int:
        number: int = self._inotify.fileno()
        return number

    def has_word(self) -> bool:
        return any(event.name == self._log.name for event in self._inotify.read(timeout=0))

    def follow(self) -> None:
        from inotify_simple import flags

        self._inotify.add_watch(self._log.parent, flags.MODIFY | flags.CREATE)

    def close(self) -> None:
        self._inotify.close()


class _Kqueue:
    """Watches the log, and its folder, which tells of a log that is made or deleted.

    A kqueue watches open files. SQLite puts no lock on the log, so closing a descriptor of it here takes none away.
    """

    def __init__(self, log: Path) -> None:
        # What Linux has not, mypy does not know there.
        self._system: Any = select
        self._log = log
        self._queue: Any = self._system.kqueue()
        self._files: list[int] = []
        try:
            self.follow()
        except OSError:
            self.close()
            raise

    def fileno(self) -> int:
        number: int = self._queue.fileno()
        return number

    def has_word(self) -> bool:
        word = bool(self._queue.control(None, 8, 0))
        if word and not self._has_log():
            with contextlib.suppress(OSError):
                self.follow()
        return word

    def follow(self) -> None:
        self._let_go()
        self._watch(self._log.parent)
        with contextlib.suppress(FileNotFoundError):
            self._watch(self._log)

    def close(self) -> None:
        self._let_go()
        self._queue.close()

    def _watch(self, path: Path) -> None:
        # O_EVTONLY keeps no volume from being unmounted.
        file = os.open(path, getattr(os, "O_EVTONLY", os.O_RDONLY))
        self._files.append(file)
        system = self._system
        wanted = system.KQ_NOTE_WRITE | system.KQ_NOTE_EXTEND | system.KQ_NOTE_DELETE | system.KQ_NOTE_RENAME
        event = system.kevent(file, system.KQ_FILTER_VNODE, system.KQ_EV_ADD | system.KQ_EV_CLEAR, wanted)
        self._queue.control([event], 0, 0)

    def _has_log(self) -> bool:
        """Whether the log that is watched is the one that stands there."""
        try:
            there = self._log.stat()
        except OSError:
            return len(self._files) == 1
        return len(self._files) == 2 and os.path.samestat(os.fstat(self._files[1]), there)

    def _let_go(self) -> None:
        while self._files:
            os.close(self._files.pop())
