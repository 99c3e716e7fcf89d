"""A kqueue for systems that have none, made of inotify: what the manual of kqueue says of files and folders."""

import os
import select
import stat
from types import SimpleNamespace

import pytest
from inotify_simple import INotify, flags

_ON_FILE = flags.MODIFY | flags.ATTRIB | flags.MOVE_SELF
_ON_FOLDER = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO  # writing to its files tells nothing


class _Kqueue:
    def __init__(self) -> None:
        self._inotify = INotify(nonblocking=True)
        self._watched: dict[int, tuple[int, os.stat_result]] = {}

    def fileno(self) -> int:
        return self._inotify.fileno()

    def control(self, changes, most, timeout):
        assert timeout == 0
        for change in changes or ():
            now = os.fstat(change.ident)
            wanted = _ON_FOLDER if stat.S_ISDIR(now.st_mode) else _ON_FILE
            self._watched[self._inotify.add_watch(f"/proc/self/fd/{change.ident}", wanted)] = (change.ident, now)
        if not most:
            return []
        told = {self._watched[event.wd][0]: None for event in self._inotify.read(timeout=0) if self._is_open(event.wd)}
        return [SimpleNamespace(ident=ident) for ident in told][:most]

    def _is_open(self, watch: int) -> bool:
        """A file that is closed is no longer watched."""
        file, then = self._watched.get(watch, (-1, None))
        try:
            return then is not None and os.path.samestat(os.fstat(file), then)
        except OSError:
            return False

    def close(self) -> None:
        self._inotify.close()


def _kevent(ident, filter, flags, fflags):
    assert (filter, flags) == (select.KQ_FILTER_VNODE, select.KQ_EV_ADD | select.KQ_EV_CLEAR)
    assert fflags & select.KQ_NOTE_WRITE
    return SimpleNamespace(ident=ident)


def provide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `select` a kqueue, with the numbers it has on macOS."""
    numbers = {
        "KQ_FILTER_VNODE": -4,
        "KQ_EV_ADD": 1,
        "KQ_EV_CLEAR": 32,
        "KQ_NOTE_DELETE": 1,
        "KQ_NOTE_WRITE": 2,
        "KQ_NOTE_EXTEND": 4,
        "KQ_NOTE_RENAME": 32,
    }
    for name, value in {**numbers, "kqueue": _Kqueue, "kevent": _kevent}.items():
        monkeypatch.setattr(select, name, value, raising=False)
