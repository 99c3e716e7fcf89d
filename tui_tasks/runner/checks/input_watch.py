"""Makes passed checks stale when one of their input files changes.

On Linux, inotify reports a write before the write returns, so a check read afterwards is already stale. It reports
neither a write through a memory map, nor one through another hard link, nor that a folder above was moved: so the
stats of the files are compared as well, as often as that takes little of the time. On other systems, and when the
kernel has no room for more watches, they are compared at each look.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, Final

from tui_tasks.core.operations.checks import ChangeInputs
from tui_tasks.core.read import checks
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.checks.checks import CheckProfile, CheckProfiles
from tui_tasks.runner.checks.inputs import InputHasher

# Seconds between two looks where the kernel does not report changes.
POLL_SECONDS: Final = 1.0
# Comparing the stats of the files takes at most one part in so many of the time.
_COMPARING_PART: Final = 20


class InputWatch:
    """Watches the inputs of passed checks from one process."""

    def __init__(self) -> None:
        self._trees: dict[str, _WatchedInputs] = {}

    @property
    def fds(self) -> list[int]:
        """The descriptors that become readable when an input file may have changed."""
        return [tree.fd for tree in self._trees.values() if tree.fd is not None]

    @property
    def polls(self) -> bool:
        """Whether `look` must be called periodically: the kernel does not report every change."""
        return bool(self._trees)

    def look(self, store: Store, profiles: CheckProfiles, now: int) -> bool:
        """Make passed checks stale whose inputs have changed since; return whether there was one.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        passed = checks.runs_in(store.db, "passed")
        if not passed and not self._trees:
            return False
        known = {each.uid: each for each in checks.definitions(store.db) if each.source == profiles.source}
        # Two checks may run the same command in the same folder.
        wanted: dict[str, tuple[str, CheckProfile]] = {}
        for run in passed:
            definition = known.get(run.check_uid)
            profile = profiles.find(definition.name, run.digest) if definition is not None else None
            if profile is not None and profile.inputs:
                wanted[run.check_uid] = (run.digest, profile)
        for digest in self._trees.keys() - {digest for digest, _ in wanted.values()}:
            self._trees.pop(digest).close()
        changed = False
        for check_uid, (digest, profile) in wanted.items():
            tree = self._trees.get(digest)
            if tree is None:
                tree = self._trees[digest] = _WatchedInputs(profile)
            inputs = tree.digest()
            its = [run for run in passed if run.check_uid == check_uid and run.digest == digest]
            if any(run.inputs != inputs for run in its):
                store.commit(ChangeInputs(check_uid, digest, inputs), actor=SYSTEM, now=now)
                changed = True
        return changed

    def close(self) -> None:
        """Stop watching."""
        while self._trees:
            self._trees.popitem()[1].close()


class _WatchedInputs:
    """The watched input files of one check."""

    def __init__(self, profile: CheckProfile) -> None:
        self._hasher = InputHasher(profile.cwd, profile.inputs)
        self._digest: str | None = None
        self._compare_at = 0.0
        self._notify: Any = None
        if sys.platform == "linux":
            with contextlib.suppress(ImportError, OSError):
                from inotify_simple import INotify

                self._notify = INotify(nonblocking=True)

    @property
    def fd(self) -> int | None:
        return None if self._notify is None else int(self._notify.fileno())

    def digest(self) -> str:
        """Return a hash of the inputs as they are now."""
        is_told = self._digest is None or self._is_told_of_changes()
        if is_told:
            # Watch before reading, so that no change in between is missed.
            self._watch()
        began = time.monotonic()
        if self._digest is None or is_told or began >= self._compare_at:
            self._digest = self._hasher.digest()
            now = time.monotonic()
            self._compare_at = now + (now - began) * _COMPARING_PART
        return self._digest

    def _is_told_of_changes(self) -> bool:
        return self._notify is None or bool(self._notify.read(timeout=0))

    def _watch(self) -> None:
        if self._notify is None:
            return
        from inotify_simple import flags

        mask = flags.MODIFY | flags.ATTRIB | flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
        mask |= flags.DELETE_SELF | flags.MOVE_SELF
        try:
            for folder in self._hasher.folders():
                # inotify watches inodes, so a folder that has replaced another under its name is added anew.
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._notify.add_watch(folder, mask)
            for file in self._hasher.symlinks():
                with contextlib.suppress(FileNotFoundError):
                    self._notify.add_watch(os.path.realpath(file), mask)
        except OSError:
            # The kernel has no room for more watches: poll instead.
            self.close()

    def close(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None
