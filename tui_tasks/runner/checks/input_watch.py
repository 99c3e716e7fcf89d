"""Watches the inputs of checks: detects changes while a check runs, also ones reverted before the end, and makes a
passed check stale when one of its input files changes.

While a check runs, the inodes and times of the files are compared, which no process can set back, and all contents at
the end. On Linux, inotify also reports changes that leave them as they were: a folder moved away and back, a file
created and deleted.

Once it has passed: on Linux, inotify reports a write before the write returns, so a check read afterwards is already
stale. It reports neither a write through a memory map, nor one through another hard link, nor that a folder above was
moved: so the stats of the files are compared as well, as often as that takes little of the time. On other systems,
and when the kernel has no room for more watches, they are compared at each look.

A write through a memory map can leave even the stats as they were. Where a passed check decides, its inputs are read
again (`read`), and a scheduler reads them now and then.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tui_tasks.core.agent_snapshots import CheckDefinition, CheckRun, Work
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.jobs import ChangeInputs
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import git_trees
from tui_tasks.runner.checks.input_files import InputHasher, target_to_watch
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.runner_settings import CheckProfiles

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
        self._trees: dict[tuple[str, str], _WatchedInputs] = {}

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
        # The files of other machines' runs are theirs.
        machine = store.db.machine
        passed = [run for run in check_queries.runs_in(store.db, "passed") if run.machine == machine]
        if not passed and not self._trees:
            return False
        lookup = _InputLookup(store, profiles)
        # Two checks may run the same command in the same folder.
        wanted: dict[tuple[str, str, str], list[CheckRun]] = {}
        patterns: dict[tuple[str, str], Sequence[str]] = {}
        for run in passed:
            folder, globs = lookup.find(run) or ("", ())
            if globs:
                wanted.setdefault((run.check_uid, run.digest, folder), []).append(run)
                patterns[run.digest, folder] = globs
        for key in self._trees.keys() - patterns.keys():
            self._trees.pop(key).close()
        changed = False
        for (check_uid, digest, folder), runs in wanted.items():
            tree = self._tree(digest, folder, patterns[digest, folder])
            inputs = tree.digest(reads_now_and_then=reads_contents)
            if any(run.inputs != inputs for run in runs):
                uids = tuple(run.uid for run in runs)
                store.commit(ChangeInputs(check_uid, digest, inputs, uids), actor=SYSTEM, now=now)
                changed = True
        return changed

    def read(self, store: Store, profiles: CheckProfiles, run_uids: Iterable[str], now: int) -> dict[str, bool]:
        """Read the inputs of passed runs, whatever their stats; return of each run whether they are as they were.

        A run whose inputs differ becomes stale. Inputs that this process does not know count as changed.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        lookup = _InputLookup(store, profiles)
        unchanged: dict[str, bool] = {}
        for uid in run_uids:
            run = check_queries.run(store.db, uid)
            if run is not None and run.state == "passed" and run.machine != store.db.machine:
                unchanged[uid] = self._is_same_here(run, lookup.known.get(run.check_uid), store.db.machine)
                continue
            found = lookup.find(run) if run is not None and run.state == "passed" else None
            if run is None or found is None or not (found[1] or run.worktree):
                unchanged[uid] = False
                continue
            folder, globs = found
            unchanged[uid] = run.worktree is None or lookup.is_same_tree(run, folder)
            if globs:
                inputs = self._tree(run.digest, folder, globs).digest(reads_all=True)
                if inputs != run.inputs:
                    store.commit(ChangeInputs(run.check_uid, run.digest, inputs, (uid,)), actor=SYSTEM, now=now)
                    unchanged[uid] = False
        return unchanged

    def _is_same_here(self, run: CheckRun, definition: CheckDefinition | None, machine: str) -> bool:
        """Return whether a run of another machine counts on this one: its inputs are those that this machine has, or
        this machine has no folder of the check.
        """
        if definition is None or run.worktree is not None:
            return False
        place = definition.place(machine)
        if place is None or not definition.inputs:
            return True
        return self._tree(place.digest, place.cwd, definition.inputs).digest(reads_all=True) == run.inputs

    def _tree(self, digest: str, folder: str, patterns: Sequence[str]) -> _WatchedInputs:
        tree = self._trees.get((digest, folder))
        if tree is None:
            tree = self._trees[digest, folder] = _WatchedInputs(folder, patterns)
        return tree

    def close(self) -> None:
        """Stop watching."""
        while self._trees:
            self._trees.popitem()[1].close()


class _InputLookup:
    """What the inputs of runs are, and where: in the check's own folder, or in a worktree while somebody works there.

    Attributes:
        known: the checks that are defined, by uid.
    """

    def __init__(self, store: Store, profiles: CheckProfiles) -> None:
        self._store = store
        self._profiles = profiles
        self.known = {each.uid: each for each in check_queries.definitions(store.db)}

    def find(self, run: CheckRun) -> tuple[str, Sequence[str]] | None:
        """Return the folder and the globs of a run's inputs; None: they are not known, or have changed, or the run is
        about a merge that is not over, whose files are no longer there.
        """
        definition = self.known.get(run.check_uid)
        place = definition.place(run.machine) if definition is not None else None
        if definition is None or place is None or place.digest != run.digest:
            return None
        cwd, globs = place.cwd, definition.inputs
        if not cwd:
            profile = self._profiles.find(definition, run.machine)
            if profile is None:
                return None
            cwd, globs = profile.cwd, profile.inputs
        folder = self._folder_of(run, cwd)
        return (folder, globs) if folder is not None else None

    @cached_property
    def _live(self) -> list[Work]:
        return work_queries.live(self._store.db)

    def _folder_of(self, run: CheckRun, cwd: str) -> str | None:
        if run.worktree is None or not self._live:
            return cwd
        if any(work.worktree == run.worktree for work in self._live):
            return run.cwd
        tasks = set(check_queries.tasks_of(self._store.db, run.uid))
        return None if any(work.task_uid in tasks for work in self._live) else cwd

    def is_same_tree(self, run: CheckRun, cwd: str) -> bool:
        """Return whether the worktree of a run has the files that the run was about."""
        definition = self.known.get(run.check_uid)
        profile = self._profiles.find(definition, self._store.db.machine) if definition is not None else None
        try:
            tree = git_trees.checked_tree(
                Path(run.worktree or ""),
                cwd,
                definition.inputs if definition is not None else (),
                database=self._store.path,
                filters=profile.filters if profile is not None else (),
            )
        except (GitFailed, Conflict, OSError):
            return False
        return tree == run.tree


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
        has_changes = self._digest is None or self._take_changes()
        if has_changes:
            # Watch before reading, so that no change in between is missed.
            self._watch()
        began = time.monotonic()
        reads_all = reads_all or (reads_now_and_then and began >= self._read_at)
        if self._digest is None or has_changes or reads_all or began >= self._compare_at:
            self._digest = self._hasher.digest(reads_all=reads_all)
            now = time.monotonic()
            self._compare_at = now + (now - began) * _COMPARING_PART
            if reads_all:
                self._read_at = now + max(_READ_SECONDS, (now - began) * _READING_PART)
        return self._digest

    def _take_changes(self) -> bool:
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
