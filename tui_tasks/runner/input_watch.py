"""Noticing that an input of what has passed was changed: what was proven is stale from then on.

Linux tells of each write before the write returns, so that who asks after it is told. Elsewhere, and where the kernel
has no room for more watches, the files are looked at whenever somebody asks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Final

from tui_tasks.core.operations_checks import ChangeInputs
from tui_tasks.core.read import checks
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.checks import CheckProfile, CheckProfiles
from tui_tasks.runner.inputs import InputHasher

# Seconds after which to look again, where the kernel does not tell.
POLL: Final = 1.0


class InputWatch:
    """Watches the inputs of what has passed, in one process."""

    def __init__(self) -> None:
        self._trees: dict[str, _Tree] = {}

    @property
    def fds(self) -> list[int]:
        """What becomes readable when an input may have been changed."""
        return [tree.fd for tree in self._trees.values() if tree.fd is not None]

    @property
    def polls(self) -> bool:
        """Whether the kernel does not tell of everything that is watched."""
        return any(tree.fd is None for tree in self._trees.values())

    def look(self, store: Store, profiles: CheckProfiles, now: int) -> bool:
        """Make stale what has passed with other inputs than there are now; return whether there was any.

        Raises:
            StorageFailed: it could not be written.
        """
        passed = checks.runs_in(store.db, "passed")
        if not passed and not self._trees:
            return False
        known = {each.uid: each for each in checks.definitions(store.db) if each.source == profiles.source}
        wanted: dict[str, tuple[str, CheckProfile]] = {}
        for run in passed:
            definition = known.get(run.check_uid)
            profile = profiles.find(definition.name, run.digest) if definition is not None else None
            if profile is not None and profile.inputs:
                wanted[run.digest] = (run.check_uid, profile)
        for digest in self._trees.keys() - wanted.keys():
            self._trees.pop(digest).close()
        changed = False
        for digest, (check_uid, profile) in wanted.items():
            tree = self._trees.get(digest)
            if tree is None:
                tree = self._trees[digest] = _Tree(profile)
            inputs = tree.digest()
            if any(run.digest == digest and run.inputs != inputs for run in passed):
                store.commit(ChangeInputs(check_uid, digest, inputs), actor=SYSTEM, now=now)
                changed = True
        return changed

    def close(self) -> None:
        """Watch nothing any more."""
        while self._trees:
            self._trees.popitem()[1].close()


class _Tree:
    """The inputs of one check."""

    def __init__(self, profile: CheckProfile) -> None:
        self._hasher = InputHasher(profile.cwd, profile.inputs)
        self._known: str | None = None
        self._notify: Any = None
        if sys.platform == "linux":
            with contextlib.suppress(ImportError, OSError):
                from inotify_simple import INotify

                self._notify = INotify(nonblocking=True)

    @property
    def fd(self) -> int | None:
        return None if self._notify is None else int(self._notify.fileno())

    def digest(self) -> str:
        """A hash of the inputs as they are now."""
        if self._known is None or self._has_word():
            # Watched before they are read, so that nothing falls between.
            self._watch()
            self._known = self._hasher.digest()
        return self._known

    def _has_word(self) -> bool:
        return self._notify is None or bool(self._notify.read(timeout=0))

    def _watch(self) -> None:
        if self._notify is None:
            return
        from inotify_simple import flags

        told = flags.MODIFY | flags.ATTRIB | flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
        told |= flags.DELETE_SELF | flags.MOVE_SELF
        try:
            for folder in self._hasher.folders():
                # A folder that has taken another's name is another to the kernel; to name it again costs little.
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._notify.add_watch(folder, told)
            for file in self._hasher.linked():
                with contextlib.suppress(FileNotFoundError):
                    self._notify.add_watch(os.path.realpath(file), told)
        except OSError:
            # No room for more watches.
            self.close()

    def close(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None
