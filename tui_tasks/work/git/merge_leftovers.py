"""What a killed merge has left in a repository: locks of git, and files that were half written."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.work.git import reviewing
from tui_tasks.work.git.merging import Merge
from tui_tasks.work.git.worktrees import REFS, checked_out_at, commit_of

STALE_LOCK_SECONDS: Final = 10.0
"""A lock file that has not changed for so long after a crash belongs to a git that was killed."""


def clear_leftovers(root: Path, merge: Merge, *, undo: bool = False, lock_seconds: float = STALE_LOCK_SECONDS) -> bool:
    """Clear away what a killed `carry_out` or `take_back` has left half done; return whether the base has moved.

    To be called when the process that wrote down the merge is gone. Files that were half written are put to how the
    branch has them; what they were is in a commit below `refs/tui-tasks/recovered`.

    Raises:
        Conflict: git still works there.
        GitFailed: git failed.
    """
    source, target = (merge.new, merge.old) if undo else (merge.old, merge.new)
    folder = checked_out_at(root, merge.base)
    with git_isolation.opened(folder or root) as work_tree:
        clear_lock(work_tree.common / f"refs/heads/{merge.base}.lock", lock_seconds)
        now = commit_of(root, f"refs/heads/{merge.base}")
        if folder is not None and now in (source, target):
            for name in ("index.lock", "HEAD.lock", "ORIG_HEAD.lock"):
                clear_lock(work_tree.directory / name, lock_seconds)
            _repair(work_tree, source, target, now)
    return now == target


def clear_lock(path: Path, seconds: float = STALE_LOCK_SECONDS) -> None:
    """Remove a lock file that a killed git has left.

    Raises:
        Conflict: it is new, so that a git may still work there.
    """
    try:
        age = time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return
    if age < seconds:
        raise Conflict(f"{path} exists: git still works there, or was killed just now; try again in {seconds:g} s")
    path.unlink(missing_ok=True)


def _repair(work_tree: WorkTree, source: str, target: str, now: str) -> None:
    """Put the files that a move of the branch has half written to how its commit has them, and the index likewise.

    A file that is neither of the two versions, nor the beginning of one, is somebody's own and stays.
    """
    folder = work_tree.folder
    moved = reviewing.changes(folder, source, target)
    between = {path for one in moved for path in (one.path, one.old_path) if path is not None}
    with git_trees.indexed(work_tree) as files:
        tree = files.tree
    changed = reviewing.changes(folder, now, tree)
    wrong = {path for one in changed for path in (one.path, one.old_path) if path is not None}
    index = work_tree.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", now).printed
    staged = {os.fsdecode(name) for name in index.split(b"\0") if name}
    paths = sorted(
        path
        for path in between & (wrong | staged)
        if _is_half_written(_blob(folder, tree, path), folder, source, target, path)
    )
    if not paths:
        return
    words = ("commit-tree", tree, "-p", now, "-m", f"The files of {folder.name} after a merge was cut off")
    kept = git.run(folder, *words).text
    git.run(folder, "update-ref", "--no-deref", f"{REFS}/recovered/{kept[:16]}", kept)
    there = [path for path in paths if _blob(folder, now, path) is not None]
    work_tree.run("reset", "--quiet", now, "--", *paths, statuses=(0, 1))
    for path in set(paths).difference(there):
        with contextlib.suppress(OSError):
            (folder / path).unlink()
    given = b"".join(os.fsencode(path) + b"\0" for path in there)
    work_tree.run("checkout-index", "--force", "-z", "--stdin", given=given)
    work_tree.run("update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))


def _blob(folder: Path, tree: str, path: str) -> bytes | None:
    """Return the bytes of a file in a tree; None if it has no such file."""
    entry = git.run(folder, "ls-tree", "-z", tree, "--", path).printed.split(None, 3)
    if len(entry) < 4 or entry[1] != b"blob":
        return None
    return git.run(folder, "cat-file", "blob", entry[2].decode()).printed


def _is_half_written(is_now: bytes | None, folder: Path, source: str, target: str, path: str) -> bool:
    """Return whether a file is one of two versions, the beginning of one, or missing."""
    if is_now is None:
        return True
    versions = (_blob(folder, commit, path) for commit in (source, target))
    return any(version is not None and version.startswith(is_now) for version in versions)
