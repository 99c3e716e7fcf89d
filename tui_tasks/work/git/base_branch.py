"""Moving a base branch to a merged commit, and back, also where it is checked out.

Each function can be called again after a crash.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.text.safe import path_text
from tui_tasks.work.git import worktrees
from tui_tasks.work.git.merging import Merge, Moved

_FAST_FORWARD: Final = (
    *("merge", "--ff-only", "--quiet", "--no-squash", "--no-stat", "--no-autostash", "--no-verify-signatures"),
    "--no-overwrite-ignore",
)


WayBack = Literal["move", "revert", "none"]
"""How a merge is taken back: its base branch moves back, gets a commit that reverts it, or has moved by no merge."""


def carry_out(root: Path, merge: Merge) -> None:
    """Move the base branch to the merged commit. A second call after a crash carries on.

    Raises:
        Conflict: the base is checked out with changes, amid an operation, or elsewhere than before.
        GitFailed: git failed.
        Moved: the base branch is at another commit.
    """
    with _base_of(root, merge) as base:
        if base.commit != merge.old or merge.is_empty:
            if stands(root, merge):
                return
            raise Moved(f"{merge.base} has moved since the merge was made: look again", base=merge.base)
        if base.work_tree is None:
            words = ("update-ref", "--no-deref", "-m", f"tui-tasks: {merge.method}", base.ref, merge.new, merge.old)
            git.run(root, *words)
            return
        check_clean(base.work_tree, merge.base, merge.old, merge.new, is_undo=merge.method == "revert")
        try:
            base.work_tree.run(*_FAST_FORWARD, merge.new)
        except GitFailed:
            worktrees.refuse_untracked(base.work_tree, merge.old, merge.new)
            worktrees.refuse_hidden(base.work_tree, merge.old, merge.new)
            raise
    if not stands(root, merge):
        raise Moved(f"{merge.base} was moved by somebody else meanwhile: look again", base=merge.base)


class _Base(NamedTuple):
    """A base branch: its ref, its commit, and where it is checked out; None: nowhere."""

    ref: str
    commit: str | None
    work_tree: WorkTree | None


@contextlib.contextmanager
def _base_of(root: Path, merge: Merge) -> Iterator[_Base]:
    """Yield the base branch of a merge as it is now.

    Raises:
        Conflict: its checkout is none.
        GitFailed: git failed.
    """
    ref = f"refs/heads/{merge.base}"
    with contextlib.ExitStack() as stack:
        work_tree = None
        if merge.checkout is not None:
            with contextlib.suppress(Conflict, GitFailed):  # it is no worktree of the repository any more
                work_tree = stack.enter_context(worktrees.opened(root, Path(merge.checkout)))
        if work_tree is None or work_tree.branch != merge.base:
            where = worktrees.checked_out_at(root, merge.base)
            work_tree = stack.enter_context(git_isolation.opened(where)) if where is not None else None
        yield _Base(ref, work_tree.head if work_tree is not None else worktrees.commit_of(root, ref), work_tree)


def check_movable(root: Path, merge: Merge) -> None:
    """Refuse early what `carry_out` would refuse because of the human's changes where the base is checked out.

    Raises:
        Conflict: it has such changes, or is amid an operation.
        GitFailed: git failed.
    """
    with _base_of(root, merge) as base:
        if base.work_tree is not None and base.commit == merge.old:
            check_clean(base.work_tree, merge.base, merge.old, merge.new)


def stands(root: Path, merge: Merge) -> bool:
    """Return whether the base branch was moved to the merged commit and still has it, at its end or below others.

    Only this merge can have moved it to a commit that it made. Commits of the agent's own may have come in by a merge
    of somebody else: they count where the branch itself was at the last of them.

    Raises:
        GitFailed: git failed.
    """
    now = worktrees.commit_of(root, f"refs/heads/{merge.base}")
    if now == merge.new:
        return True
    if now is None or merge.is_empty or worktrees.commit_of(root, merge.new) is None:
        return False
    if merge.new != merge.head:
        return worktrees.is_ancestor(root, merge.new, now)
    return merge.new in git.run(root, "rev-list", "--first-parent", now, f"^{merge.old}", "--").text.split()


def is_built_upon(root: Path, merge: Merge) -> bool:
    """Return whether the base branch has commits since a merge, so that only a revert undoes it.

    Raises:
        GitFailed: git failed.
    """
    return worktrees.commit_of(root, f"refs/heads/{merge.base}") != merge.new and stands(root, merge)


def way_back(root: Path, merge: Merge | None) -> WayBack:
    """Return how a merge would be taken back now.

    Raises:
        GitFailed: git failed.
    """
    if merge is None:
        return "none"
    return "revert" if is_built_upon(root, merge) else "move"


def take_back(root: Path, merge: Merge) -> None:
    """Move the base branch back to where it was before a merge; one that lacks the merge stays where it is. A second
    call after a crash carries on.

    Raises:
        Conflict: the base is checked out with changes.
        GitFailed: git failed.
        Moved: somebody has built upon the merge: `prepare_revert` undoes it.
    """
    with _base_of(root, merge) as base:
        if base.commit != merge.new:
            if is_built_upon(root, merge):
                raise Moved(f"{merge.base} has commits since the merge: revert it instead", base=merge.base)
            return
        if base.work_tree is None:
            git.run(root, "update-ref", "--no-deref", "-m", "tui-tasks: undo", base.ref, merge.old, merge.new)
            return
        check_clean(base.work_tree, merge.base, merge.new, merge.old, is_undo=True)
        # It keeps what it would otherwise overwrite, and refuses then; but it overwrites ignored files.
        worktrees.refuse_untracked(base.work_tree, merge.new, merge.old)
        try:
            base.work_tree.run("reset", "--keep", "--quiet", merge.old)
        except GitFailed:
            worktrees.refuse_hidden(base.work_tree, merge.new, merge.old)
            raise


def check_clean(work_tree: WorkTree, base: str, now: str, then: str, *, is_undo: bool = False) -> None:
    """Refuse a checkout in which a branch cannot be moved from one commit to another without touching the human's
    changes: they are staged, or in files that differ. `is_undo`: a merge is taken back.

    Raises:
        Conflict: it has such changes, or is amid an operation; the message says what to do.
        GitFailed: git failed.
    """
    folder = work_tree.folder
    for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"):
        if (work_tree.directory / name).exists():
            raise Conflict(f"git has not ended {name} in {folder}: end it there, then try again")
    words = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
    lines = [os.fsdecode(line) for line in work_tree.run(*words).printed.split(b"\0") if line]
    differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", now, then)
    moved = [os.fsdecode(path) for path in git.run(folder, *differ).printed.split(b"\0") if path] if lines else []
    changed = [path_text(line[3:]) for line in lines if line[0] != " " or _is_among(line[3:], moved)]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Conflict(
            f"commit {changed[0]}{more} in {folder} first, where {base} is checked out; "
            f"or switch that to another branch{'' if is_undo else ', or open a pull request'}",
            files=changed[:50],
            path=str(folder),
        )


def _is_among(path: str, moved: Iterable[str]) -> bool:
    """Return whether a path is one of those that move, or a folder of one, or below one."""
    return any(path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in moved)
