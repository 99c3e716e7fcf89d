"""Notice soon, and at little cost, that another process has committed.

The kernel reports writes to the write-ahead log (inotify on Linux, kqueue on macOS and the BSDs). A commit becomes
visible a moment after its write, so `PRAGMA data_version` is read again at growing intervals. Where the kernel reports
nothing, and as a safety net, it is read at a steady pace.
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

# Seconds after an event of the kernel at which to look: the log is written before its commit can be seen.
LADDER: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_SOON: Final = 0.003
SAFETY_NET: Final = 1.0
POLL: Final = 0.02


class FileEvents(Protocol):
    """A source of events of the kernel: the log may have been written."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there are events."""
        ...

    def take_events(self) -> bool:
        """Read the events; return whether one is about the log."""
        ...

    def follow(self) -> None:
        """Watch the file that is at the log's path now: its folder may have been replaced.

        Raises:
            OSError: it cannot be watched.
        """
        ...

    def close(self) -> None:
        """Stop watching."""
        ...


class Watch:
    """Watches a database for commits of other connections. Used by the thread that opened the database.

    Events of the kernel make every write dearer, so they are subscribed to at the first use.

    Attributes:
        is_lost: whether the database could not be read at the last look.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        # SQLite keeps the log beside the file itself, wherever a link to it stands.
        self._log = Path(f"{Path(db.path).resolve()}-wal")
        self._looks_due: list[float] = []
        self._next = 0.0
        self._notify: FileEvents | None = None
        self._has_notifier_started = False
        self.is_lost = False
        self._version = self._look()

    def _notifier(self) -> FileEvents | None:
        """Return the source of events, started at the first call; None where the kernel has none."""
        if not self._has_notifier_started:
            self._has_notifier_started, self._notify = True, _start_notifier(self._log)
            # What was written before the events began may be committed a moment later.
            self._looks_due = [time.monotonic() + step for step in LADDER] if self._notify else []
        return self._notify

    @property
    def fd(self) -> int | None:
        """A descriptor, readable when the log may have been written; None where the kernel reports nothing."""
        notify = self._notifier()
        return notify.fileno() if notify else None

    def arm(self, now: float) -> None:
        """Read the events of `fd`, which is readable; `now` is monotonic seconds."""
        notify = self._notifier()
        if notify and notify.take_events():
            # Who writes without a break must not put off the look that is due.
            soon, *later = (now + step for step in LADDER)
            self._looks_due = [min([soon, *self._looks_due[:1]]), *later]

    def is_due(self, now: float) -> bool:
        """Return whether `changed` is worth calling: the write of a commit is seen before the commit is."""
        return self.wait(now) == 0

    def looks_soon(self, now: float) -> bool:
        """Return whether the next look comes so soon that further events need not wake the thread."""
        return bool(self._looks_due) and self._looks_due[0] - now < _SOON

    def wait(self, now: float) -> float:
        """Return the seconds until `changed` is worth calling."""
        at = self._looks_due[0] if self._looks_due else self._next
        return max(0.0, at - now)

    def sleep(self, seconds: float = float("inf"), *fds: int) -> set[int]:
        """Sleep until `changed` is worth calling, `seconds` have passed, or one of `fds` is readable; return those."""
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
        """Return whether another connection has committed since the last call, or the file was replaced."""
        while self._looks_due and self._looks_due[0] <= now:
            self._looks_due.pop(0)
        # The events begin before the version is read, so that no commit falls between.
        notify, before, version = self._notifier(), self._version, self._look()
        self._next = now + (SAFETY_NET if notify or self.is_lost else POLL)
        if version is None:
            # The next read of the caller raises what is wrong.
            return False
        if notify and before is not None and version[0] != before[0]:
            # The folder may have been replaced, too.
            with contextlib.suppress(OSError):
                notify.follow()
        self._version = version
        if version != before:
            # The commit that was written is seen; of another, whose write came with it, the last looks find it.
            del self._looks_due[:-2]
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


def _start_notifier(log: Path) -> FileEvents | None:
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

    def take_events(self) -> bool:
        return any(event.name == self._log.name for event in self._inotify.read(timeout=0))

    def follow(self) -> None:
        from inotify_simple import flags

        self._inotify.add_watch(self._log.parent, flags.MODIFY | flags.CREATE)

    def close(self) -> None:
        self._inotify.close()


class _Kqueue:
    """Watches the log, and its folder for a log that is made or deleted.

    A kqueue watches open files. SQLite puts no lock on the log, so closing a descriptor of it here takes none away.
    """

    def __init__(self, log: Path) -> None:
        # mypy does not know kqueue on Linux.
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

    def take_events(self) -> bool:
        has_some = bool(self._queue.control(None, 8, 0))
        if has_some and not self._has_log():
            with contextlib.suppress(OSError):
                self.follow()
        return has_some

    def follow(self) -> None:
        self._close_files()
        self._watch(self._log.parent)
        with contextlib.suppress(FileNotFoundError):
            self._watch(self._log)

    def close(self) -> None:
        self._close_files()
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
        """Return whether the log that is watched is the one at the path."""
        try:
            there = self._log.stat()
        except OSError:
            return len(self._files) == 1
        return len(self._files) == 2 and os.path.samestat(os.fstat(self._files[1]), there)

    def _close_files(self) -> None:
        while self._files:
            os.close(self._files.pop())
