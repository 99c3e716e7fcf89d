"""The inputs of a check while it runs: detects changes, also ones reverted before the end.

Everywhere, the inodes and times of the files are compared, which no process can set back, and all contents at the end.
On Linux, inotify also reports changes that leave them as they were: a folder moved away and back, a file created and
deleted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tui_tasks.runner.checks.input_files import InputHasher, target_to_watch

# The most links in one path, as for the kernel.
_MAX_LINKS: Final = 40


class RunInputs:
    """The inputs of one run of a check.

    Attributes:
        changed: the input that changed during the run, if it is known; None if none changed.
    """

    def __init__(self, cwd: str, patterns: Sequence[str]) -> None:
        self._hasher = InputHasher(cwd, patterns)
        self._has_patterns = bool(patterns)
        self._cwd = cwd
        self._notify: Any = None
        # By watch descriptor: the folders below `cwd` that it watches, and the names in it that lead to an input.
        self._folders: dict[int, set[str]] = {}
        self._names: dict[int, set[str]] = {}
        self._files: dict[int, str] = {}
        self.changed: str | None = None

    def begin(self) -> str:
        """Start watching; return a hash of the inputs now."""
        if self._has_patterns and sys.platform == "linux":
            with contextlib.suppress(ImportError, OSError):
                self._watch()
        self._digest = self._hasher.digest()
        self._stamps = self._hasher.stamps
        return self._digest

    @property
    def first_refused(self) -> str | None:
        """Which input cannot be one, and why; None if all can."""
        return self._hasher.first_refused

    def look(self) -> None:
        """Process what the kernel has reported."""
        if self._notify is None:
            return
        for event in self._notify.read(timeout=0):
            if self.changed is None:
                self.changed = self._input_of(event)

    def end(self) -> str | None:
        """Return a hash of the inputs now; None if one changed since the beginning."""
        self.look()
        digest = self._hasher.digest(reads_all=True)
        if self._notify is not None:
            self._notify.close()
            self._notify = None
        before, now = self._stamps, self._hasher.stamps
        changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
        self.changed = changed[0] if changed else self.changed
        if self.changed is None and digest != self._digest:
            self.changed = "an input, through a memory map"
        return None if self.changed is not None else digest

    def _watch(self) -> None:
        from inotify_simple import INotify, flags

        self._notify = INotify(nonblocking=True)
        self._overflow = int(flags.Q_OVERFLOW)
        self._is_dir = int(flags.ISDIR)
        self._self = int(flags.DELETE_SELF | flags.MOVE_SELF)
        entries = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
        mask = entries | flags.MODIFY | flags.ATTRIB | flags.DELETE_SELF | flags.MOVE_SELF
        ways = [self._cwd]
        for folder in self._hasher.folders():
            relative = os.path.relpath(folder, self._cwd)
            self._add(folder, mask, self._folders, "" if relative == "." else relative)
            if relative != "." and Path(folder).is_symlink():
                ways.append(folder)
        for link in self._hasher.symlinks():
            if (target := target_to_watch(link)) is not None:
                with contextlib.suppress(OSError):
                    self._files[self._notify.add_watch(target, mask)] = os.path.relpath(link, self._cwd)
            ways.append(link)
        for folder, name in dict.fromkeys(step for way in ways for step in _steps(way)):
            # An existing watch keeps its pending events.
            self._add(folder, entries | flags.MASK_ADD, self._names, name)

    def _add(self, folder: str, mask: int, watches: dict[int, set[str]], name: str) -> None:
        # Unreadable files cannot be watched; their stamps are compared nevertheless.
        with contextlib.suppress(PermissionError, FileNotFoundError, NotADirectoryError):
            watches.setdefault(self._notify.add_watch(folder, mask), set()).add(name)

    def _input_of(self, event: Any) -> str | None:
        """Return the input, or the folder of inputs, of an event; None if it is about neither."""
        if event.mask & self._overflow:
            return "too many changes to list"
        if event.wd in self._files:
            return self._files[event.wd]
        if event.name in self._names.get(event.wd, ()):
            return str(event.name)
        for folder in sorted(self._folders.get(event.wd, ())):
            path = f"{folder}/{event.name}" if folder else event.name
            if event.mask & self._self and not event.name:
                return folder or self._cwd
            is_one = self._hasher.can_hold_inputs if event.mask & self._is_dir else self._hasher.is_input
            if event.name and is_one(path):
                return str(path)
        return None


def _steps(path: str) -> Iterator[tuple[str, str]]:
    """Yield each folder on the way to a path, through its symbolic links, with the name that is followed in it."""
    here, names, links = "/", [name for name in path.split("/") if name], 0
    while names:
        name = names.pop(0)
        if name in (".", ".."):
            here = os.path.dirname(here) if name == ".." else here  # noqa: PTH120 - of a path without links
            continue
        yield here, name
        there = here.rstrip("/") + "/" + name
        try:
            target = os.readlink(there)  # noqa: PTH115 - Path would leave out what is to be followed
        except OSError:
            here = there
            continue
        links += 1
        if links > _MAX_LINKS:
            return
        here = "/" if target.startswith("/") else here
        names = [part for part in target.split("/") if part] + names
