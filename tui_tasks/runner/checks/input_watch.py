"""Makes passed checks stale when one of their input files changes.

On Linux, inotify reports a write before the write returns, so a check read afterwards is already stale. It reports
neither a write through a memory map, nor one through another hard link, nor that a folder above was moved: so the
stats of the files are compared as well, as often as that takes little of the time. On other systems, and when the
kernel has no room for more watches, they are compared at each look.

A write through a memory map can leave even the stats as they were. Where a passed check decides, its inputs are read
again (`read`), and a scheduler reads them now and then.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tui_tasks.core.operations.checks import ChangeInputs
from tui_tasks.core.read import check_queries
from tui_tasks.core.snapshots import CheckDefinition, CheckRun
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.checks.check_profiles import CheckProfile, CheckProfiles
from tui_tasks.runner.checks.inputs import InputHasher, target_to_watch

# Seconds between two looks where the kernel does not report changes.
POLL_SECONDS: Final = 1.0
# Comparing the stats of the files takes at most one part in so many of the time.
_COMPARING_PART: Final = 20
# Reading all contents takes at most one part in so many of the time, and is done no sooner than after so many seconds.
_READING_PART: Final = 100
_READ_SECONDS: Final = 30.0


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

    def look(self, store: Store, profiles: CheckProfiles, now: int, *, reads_contents: bool = False) -> bool:
        """Make passed checks stale whose inputs have changed since; return whether there was one.

        `reads_contents`: also read all of them now and then, whatever their stats.

        The database says what the inputs are, whatever the settings of this process; `profiles` says it for checks that
        were recorded before the database did.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        passed = check_queries.runs_in(store.db, "passed")
        if not passed and not self._trees:
            return False
        known = {each.uid: each for each in check_queries.definitions(store.db)}
        # Two checks may run the same command in the same folder.
        wanted: dict[str, tuple[str, CheckDefinition | CheckProfile]] = {}
        for run in passed:
            if (found := _inputs_of(run, known, profiles)) is not None:
                wanted[run.check_uid] = (run.digest, found)
        for digest in self._trees.keys() - {digest for digest, _ in wanted.values()}:
            self._trees.pop(digest).close()
        changed = False
        for check_uid, (digest, found) in wanted.items():
            inputs = self._tree(digest, found).digest(reads_now_and_then=reads_contents)
            its = [run for run in passed if run.check_uid == check_uid and run.digest == digest]
            if any(run.inputs != inputs for run in its):
                store.commit(ChangeInputs(check_uid, digest, inputs), actor=SYSTEM, now=now)
                changed = True
        return changed

    def read(self, store: Store, profiles: CheckProfiles, run_uids: Iterable[str], now: int) -> dict[str, bool]:
        """Read the inputs of passed runs, whatever their stats; return of each run whether they are as they were.

        A run whose inputs differ becomes stale. Inputs that this process does not know count as changed.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        known = {each.uid: each for each in check_queries.definitions(store.db)}
        unchanged: dict[str, bool] = {}
        for uid in run_uids:
            run = check_queries.run(store.db, uid)
            found = _inputs_of(run, known, profiles) if run is not None and run.state == "passed" else None
            if run is None or found is None:
                unchanged[uid] = False
                continue
            inputs = self._tree(run.digest, found).digest(reads_all=True)
            unchanged[uid] = inputs == run.inputs
            if not unchanged[uid]:
                store.commit(ChangeInputs(run.check_uid, run.digest, inputs), actor=SYSTEM, now=now)
        return unchanged

    def _tree(self, digest: str, found: CheckDefinition | CheckProfile) -> _WatchedInputs:
        tree = self._trees.get(digest)
        if tree is None:
            tree = self._trees[digest] = _WatchedInputs(found.cwd, found.inputs)
        return tree

    def close(self) -> None:
        """Stop watching."""
        while self._trees:
            self._trees.popitem()[1].close()


def _inputs_of(
    run: CheckRun, known: Mapping[str, CheckDefinition], profiles: CheckProfiles
) -> CheckDefinition | CheckProfile | None:
    """Return what says which the inputs of a run are; None if it has none, or if that is not known."""
    definition = known.get(run.check_uid)
    found: CheckDefinition | CheckProfile | None = definition
    if definition is not None and not definition.cwd:
        is_own = definition.source == profiles.source
        found = profiles.find(definition.name, run.digest) if is_own else None
    return found if found is not None and found.digest == run.digest and found.inputs else None


class _WatchedInputs:
    """The watched input files of one check."""

    def __init__(self, cwd: str, patterns: Sequence[str]) -> None:
        self._hasher = InputHasher(cwd, patterns)
        self._digest: str | None = None
        self._compare_at = 0.0
        self._read_at = time.monotonic() + _READ_SECONDS
        self._notify: Any = None
        if sys.platform == "linux":
            with contextlib.suppress(ImportError, OSError):
                from inotify_simple import INotify

                self._notify = INotify(nonblocking=True)

    @property
    def fd(self) -> int | None:
        return None if self._notify is None else int(self._notify.fileno())

    def digest(self, *, reads_all: bool = False, reads_now_and_then: bool = False) -> str:
        """Return a hash of the inputs as they are now; `reads_all`: of their contents, whatever their stats."""
        is_told = self._digest is None or self._is_told_of_changes()
        if is_told:
            # Watch before reading, so that no change in between is missed.
            self._watch()
        began = time.monotonic()
        reads_all = reads_all or (reads_now_and_then and began >= self._read_at)
        if self._digest is None or is_told or reads_all or began >= self._compare_at:
            self._digest = self._hasher.digest(reads_all=reads_all)
            now = time.monotonic()
            self._compare_at = now + (now - began) * _COMPARING_PART
            if reads_all:
                self._read_at = now + max(_READ_SECONDS, (now - began) * _READING_PART)
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
                if (target := target_to_watch(file)) is not None:
                    with contextlib.suppress(FileNotFoundError):
                        self._notify.add_watch(target, mask)
        except OSError:
            # The kernel has no room for more watches: poll instead.
            self.close()

    def close(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None
