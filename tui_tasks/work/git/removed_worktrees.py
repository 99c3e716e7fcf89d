"""Worktrees are put away without loss, removed, brought back, and cleared of what a killed git has left in them: locks,
and files that were half written.

Each function can be called again after a crash: what is done already is left as it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.runner.git_trees import TreeIndex
from tui_tasks.work.git import reviewing
from tui_tasks.work.git.merging import Merge
from tui_tasks.work.git.worktrees import REFS, KnownWorktree, checked_out_at, commit_of, drop, entries, opened


class Kept(msgspec.Struct, frozen=True):
    """What was put away of a worktree, and what brings it back.

    Attributes:
        path: the folder of the worktree.
        ref: the commit of all files that git does not ignore; its first parent is `head`.
        head: the commit of the worktree's HEAD.
        branch: the branch of the worktree's HEAD; None: detached.
        tree: the tree of its files.
        trash: the folder of the ignored files.
        removed_branch: the branch that was removed with it.
        branch_commit: the commit of that branch.
    """

    path: str
    ref: str
    head: str
    branch: str | None
    tree: str
    trash: str
    removed_branch: str | None = None
    branch_commit: str | None = None


def put_away(files: TreeIndex, uid: str, trash: Path, *, remove_branch: str | None = None) -> Kept:
    """Put all files of a worktree away that its removal would delete: into a commit, and ignored ones into a folder.

    Args:
        files: those of the worktree.
        uid: names the commit's ref.
        trash: the folder for ignored files and for repositories within the worktree.
        remove_branch: the branch that is to be removed with the worktree.

    Raises:
        Conflict: it has submodules with commits of their own, or no commit.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    work_tree = files.work_tree
    folder, head, branch = work_tree.folder, work_tree.head, work_tree.branch
    modules = work_tree.directory / "modules"
    if modules.is_dir() and any(modules.iterdir()):
        raise Conflict(f"{folder} has submodules with commits of their own: push these, then remove it by git")
    if head is None:
        raise Conflict(f"{folder} has no commit")
    parents = ["-p", head]
    if (staged := _staged(work_tree)) is not None and staged not in (files.tree, work_tree.head_tree):
        parents += ["-p", _commit(folder, staged, ["-p", head], "What was staged")]
    removed = None
    if remove_branch is not None:
        removed = head if remove_branch == branch else commit_of(folder, f"refs/heads/{remove_branch}")
    if removed is not None and removed != head:
        parents += ["-p", removed]
    commit = _commit(folder, files.tree, parents, f"The files of {folder.name} when it was removed")
    ref = f"{REFS}/kept/{uid}"
    if (failed := _failed_update(folder, ref, commit)) is not None:
        raise failed
    _move_left_out(files, trash)
    return Kept(str(folder), ref, head, branch, files.tree, str(trash), remove_branch if removed else None, removed)


def remove(root: Path, kept: Kept, files: TreeIndex | None = None) -> None:
    """Remove a worktree that was put away, and its branch if that has not moved since.

    `files`: those that were put away; None: the worktree is gone already.

    Raises:
        Conflict: files have changed since: put it away again.
        GitFailed: git failed.
    """
    folder, known = Path(kept.path), entries(root)
    if files is not None and (_is_at(known, folder) != kept.head or files.has_changed()):
        raise Conflict(f"{folder} changed during the clean-up: end the programs in it, then clean up again")
    drop(root, folder, known)
    branch = kept.removed_branch
    if branch is None or kept.branch_commit is None:
        return
    elsewhere = (one for one in known if os.path.realpath(one.path) != os.path.realpath(folder))
    if not any(one.branch == branch and one.path.is_dir() for one in elsewhere):
        # With the old value: a branch that has moved stays.
        failed = _failed_update(root, ref := f"refs/heads/{branch}", kept.branch_commit, options=("-d",))
        if failed is not None and commit_of(root, ref) == kept.branch_commit:
            raise failed


def _failed_update(folder: Path, ref: str, *values: str, options: tuple[str, ...] = ()) -> GitFailed | None:
    """Change a ref, for which a killed git may have left a lock; return why it could not be changed.

    Raises:
        Conflict: the lock is new.
        GitFailed: git timed out.
    """
    words = ("update-ref", "--no-deref", *options, ref, *values)
    done = git.run(folder, *words, statuses=(0, 1, 128))
    if done.status:
        common = git.run(folder, "rev-parse", "--path-format=absolute", "--git-common-dir").text
        clear_lock(Path(common, f"{ref}.lock"))
        done = git.run(folder, *words, statuses=(0, 1, 128))
    return GitFailed(git.failure(folder, words, done.error)) if done.status else None


def _is_at(known: list[KnownWorktree], folder: Path) -> str | None:
    """Return the commit at which a worktree is."""
    path = os.path.realpath(folder)
    return next((one.head for one in known if os.path.realpath(one.path) == path), None)


def bring_back(root: Path, kept: Kept, *, filters: Collection[str] = ()) -> None:
    """Make a worktree again as it was put away: its branch, its files, uncommitted as they were, and ignored ones.

    Raises:
        Conflict: something else is at its path, or its branch is checked out elsewhere.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    folder, known = Path(kept.path), entries(root)
    paths = {os.path.realpath(one.path) for one in known}
    if os.path.lexists(folder) and os.path.realpath(folder) not in paths:
        raise Conflict(f"{folder} exists already: move it away, then bring the work back", path=kept.path)
    if kept.removed_branch is not None and kept.branch_commit is not None:
        ref = f"refs/heads/{kept.removed_branch}"
        # As a branch that is not there: one that is stays as it is.
        failed = _failed_update(root, ref, kept.branch_commit, "0" * len(kept.branch_commit))
        if failed is not None and commit_of(root, ref) is None:
            raise failed
    if not (folder / ".git").exists():
        _attach(root, folder, kept, known)
    with opened(root, folder, filters) as work_tree:
        work_tree.run("read-tree", kept.tree)
        work_tree.run("checkout-index", "--all", "--force")
        work_tree.run("read-tree", "HEAD")
        work_tree.run("update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))
    _move_back(Path(kept.trash), folder)


def _attach(root: Path, folder: Path, kept: Kept, known: list[KnownWorktree]) -> None:
    drop(root, folder, known)
    where = next((one.path for one in known if one.branch == kept.branch and one.path.is_dir()), None)
    if kept.branch is not None and where is not None:
        raise Conflict(f"branch {kept.branch} is checked out at {where}: switch there, then bring the work back")
    on_branch = kept.branch is not None and commit_of(root, f"refs/heads/{kept.branch}") == kept.head
    at = [kept.branch] if on_branch and kept.branch is not None else ["--detach", kept.head]
    words = ("worktree", "add", "--quiet", *at[:-1], "--", str(folder), at[-1])
    git.run(root, *words)


def _staged(work_tree: WorkTree) -> str | None:
    """Return the tree of the worktree's index; None if it has none, as amid a merge."""
    with git_trees.index() as variables:
        try:
            shutil.copyfile(work_tree.directory / "index", variables["GIT_INDEX_FILE"])
            return work_tree.run("write-tree", variables=variables).text
        except (OSError, GitFailed):
            return None


def _commit(folder: Path, tree: str, parents: list[str], message: str) -> str:
    return git.run(folder, "commit-tree", tree, *parents, "-m", message).text


def _move_left_out(files: TreeIndex, trash: Path) -> None:
    """Move to a folder what no commit can have: ignored files, submodules' files, and repositories within."""
    folder = files.work_tree.folder
    for name in map(os.fsdecode, files.left_out()):
        source, target = folder / name, trash / name
        if not os.path.lexists(source) or (_is_folder(source) and not any(source.iterdir())):
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.path.lexists(target):
            target = target.with_name(f"{target.name}~{os.urandom(4).hex()}")
        shutil.move(source, target)


def _move_back(trash: Path, folder: Path) -> None:
    """Move files back whose places are free; the others stay in the trash."""
    if not trash.is_dir():
        return
    for source in list(trash.iterdir()):
        target = folder / source.name
        if _is_folder(source) and _is_folder(target):
            _move_back(source, target)
        elif not os.path.lexists(target):
            shutil.move(source, target)
    with contextlib.suppress(OSError):
        trash.rmdir()


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


STALE_LOCK_SECONDS: Final = 10.0
"""A lock file that has not changed for so long after a crash belongs to a git that was killed."""


def clear_leftovers(root: Path, merge: Merge, *, undo: bool = False, lock_seconds: float = STALE_LOCK_SECONDS) -> None:
    """Clear away what a killed `carry_out` or `take_back` has left half done.

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
