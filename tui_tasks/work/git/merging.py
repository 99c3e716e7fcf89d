"""Merging without a working tree, in the name of the human: as a commit, then the base branch is moved, or moved back.

A `Merge` is a value. It is written to the journal before `carry_out`, which can be called again after a crash; so can
`take_back`. Until the base branch moves, nothing that anybody sees has changed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.times import count
from tui_tasks.work.git import reviewing
from tui_tasks.work.git.reviewing import Review, merge_trees, tree_at
from tui_tasks.work.git.worktrees import check_git, checked_out_at, commit_of

Method = Literal["squash", "merge", "rebase", "ff"]


class Identity(NamedTuple):
    """Who commits: the human's name and address."""

    name: str
    email: str


def identity(root: Path, home: Path | None = None) -> Identity:
    """Return the human's name and address in git's settings: the human's own, as agents share the repository's.

    Raises:
        Conflict: there are none.
    """
    sources = [("--includes", "--file", str(file)) for file in reversed(git_isolation.own_files(home))]
    values = {}
    for key in ("user.name", "user.email"):
        for source in (*sources, ("--local",)):
            with contextlib.suppress(GitFailed):
                if text := git.run(root, "config", *source, "--get", key, statuses=(0, 1)).text:
                    values[key] = text
                    break
    if len(values) < 2:
        raise Conflict('git does not know who you are: `git config --global user.name "…"`, and user.email')
    return Identity(values["user.name"], values["user.email"])


def commit_tree(
    root: Path, tree: str, parents: list[str], message: str, who: Identity, more: Mapping[str, str] | None = None
) -> str:
    """Make a commit of a tree in the name of the human; `more` are variables of git. Return the commit.

    Raises:
        GitFailed: git failed.
    """
    variables = {
        "GIT_AUTHOR_NAME": who.name,
        "GIT_AUTHOR_EMAIL": who.email,
        "GIT_COMMITTER_NAME": who.name,
        "GIT_COMMITTER_EMAIL": who.email,
    } | dict(more or {})
    words = ("commit-tree", tree, *(word for parent in parents for word in ("-p", parent)), "-F", "-")
    return git.run(root, *words, given=message.encode(errors="replace"), variables=variables).text


class Merge(msgspec.Struct, frozen=True):
    """What moves a base branch.

    Attributes:
        method: how it was made; `revert` takes another merge back.
        base: the base branch.
        old: the commit that it is at.
        new: the commit that it is to be at.
        head: the commit that is merged.
        checkout: the worktree in which the base is checked out; None: none.
    """

    method: Literal["squash", "merge", "rebase", "ff", "revert"]
    base: str
    old: str
    new: str
    head: str
    checkout: str | None = None


class MergeConflicts(Conflict):
    """The work does not merge cleanly; nothing has changed.

    Attributes:
        files: the paths in conflict.
    """

    def __init__(self, base: str, files: tuple[str, ...]) -> None:
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        super().__init__(f"it does not merge into {base}: {', '.join(files[:5])}{more}", files=list(files), base=base)
        self.files = files


class Moved(Conflict):
    """What was reviewed is not what is there now: it must be looked at again."""


def check_reviewed(review: Review, *, filters: Collection[str] = ()) -> None:
    """Refuse work that has moved since it was reviewed, and work that is not committed.

    Raises:
        Conflict: some of it is not committed.
        GitFailed: git failed.
        Moved: its commit, its files or the base branch have changed.
    """
    now = commit_of(review.folder, "HEAD")
    if now != review.head:
        raise Moved(f"its commit was {review.head[:10]} and is {(now or 'none')[:10]}: look again", head=now)
    if git_trees.tree_of(review.folder, filters=filters) != review.tree:
        raise Moved("its files have changed since you looked: look again", head=now)
    base = commit_of(review.folder, f"refs/heads/{review.base}")
    if base != review.base_commit:
        raise Moved(f"{review.base} has moved since you looked: look again", base=review.base)
    if review.is_dirty:
        raise Conflict(
            f"{len(review.uncommitted)} changed files are not committed: commit them with a message of yours,"
            " or send the work back",
            files=list(review.uncommitted[:50]),
        )


def commit_rest(review: Review, message: str, who: Identity, *, filters: Collection[str] = ()) -> str:
    """Commit what is not committed of reviewed work, exactly as it was reviewed; return the commit.

    Raises:
        GitFailed: git failed.
        Moved: it has changed since.
    """
    if (
        commit_of(review.folder, "HEAD") != review.head
        or git_trees.tree_of(review.folder, filters=filters) != review.tree
    ):
        raise Moved("its files have changed since you looked: look again", head=review.head)
    commit = commit_tree(review.folder, review.tree, [review.head], message, who)
    git.run(review.folder, "update-ref", "HEAD", commit, review.head)
    git.run(review.folder, "read-tree", commit)
    git.run(review.folder, "update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))
    return commit


def prepare(
    root: Path, review: Review, method: Method, message: str, who: Identity, *, when: str | None = None
) -> Merge:
    """Make the commit that merges reviewed work, in no working tree; the base branch does not move.

    Args:
        root: the checkout of the repository.
        review: the work; `check_reviewed` has passed.
        method: how it is merged.
        message: that of the new commit, for `squash` and `merge`.
        who: the human.
        when: the date of the new commits, as git takes it; None: now.

    Raises:
        Conflict: there is nothing to merge, or `ff` cannot be.
        GitFailed: git failed.
        MergeConflicts: it does not merge cleanly.
    """
    check_git()
    old, head = review.base_commit, review.head
    if review.ahead == 0:
        raise Conflict(f"{review.base} has all of its commits already: there is nothing to merge", base=review.base)
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when is not None else {}
    if method == "ff":
        if review.behind:
            raise Conflict(
                f"{review.base} has moved on: rebase the work, or merge it",
                base=review.base,
            )
        new = head
    elif method == "rebase":
        new = _rebase(root, review, who, dates) if review.behind else head
    else:
        tree, files = merge_trees(root, old, head)
        if files:
            raise MergeConflicts(review.base, files)
        parents = [old] if method == "squash" else [old, head]
        new = commit_tree(root, tree, parents, message, who, dates)
    return Merge(method, review.base, old, new, head, _checkout(root, review.base))


def prepare_revert(root: Path, merge: Merge, message: str, who: Identity) -> Merge:
    """Make the commit that takes a merge back on which others have built.

    Raises:
        Conflict: the base branch is gone.
        GitFailed: git failed.
        MergeConflicts: what was built upon it does not go without it.
    """
    now = commit_of(root, f"refs/heads/{merge.base}")
    if now is None:
        raise Conflict(f"there is no branch {merge.base} any more", base=merge.base)
    # With `new` as the parent of both, git merges what was built with the tree that was before.
    current = commit_tree(root, tree_at(root, now), [merge.new], "current", who)
    before = commit_tree(root, tree_at(root, merge.old), [merge.new], "before", who)
    tree, files = merge_trees(root, current, before)
    if files:
        raise MergeConflicts(merge.base, files)
    new = commit_tree(root, tree, [now], message, who)
    return Merge("revert", merge.base, now, new, merge.new, _checkout(root, merge.base))


def carry_out(root: Path, merge: Merge) -> None:
    """Move the base branch to the merged commit. A second call after a crash carries on.

    Raises:
        Conflict: the base is checked out with changes, amid an operation, or elsewhere than before.
        GitFailed: git failed.
        Moved: the base branch is at another commit.
    """
    ref = f"refs/heads/{merge.base}"
    now = commit_of(root, ref)
    if now == merge.new:
        return
    if now != merge.old:
        raise Moved(f"{merge.base} has moved since the merge was made: look again", base=merge.base)
    where = _checkout(root, merge.base)
    if where is None:
        git.run(root, "update-ref", "--no-deref", "-m", f"tui-tasks: {merge.method}", ref, merge.new, merge.old)
        return
    folder = Path(where)
    check_clean(folder, merge.base)
    words = ("merge", "--ff-only", "--quiet", "--no-squash", "--no-stat", "--no-autostash", "--no-verify-signatures")
    try:
        git.run(folder, *words, merge.new)
    except GitFailed:
        _refuse_untracked(folder, merge)
        raise
    if commit_of(root, ref) != merge.new:
        raise Moved(f"{merge.base} was moved by somebody else meanwhile: look again", base=merge.base)


def _refuse_untracked(folder: Path, merge: Merge) -> None:
    """Refuse a merge that brings files which stand in the checkout without being in git.

    Raises:
        Conflict: there are some.
        GitFailed: git failed.
    """
    brought = [one.path for one in reviewing.changes(folder, merge.old, merge.new) if one.status == "A"]
    if paths := [path for path in brought if os.path.lexists(folder / path)]:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise Conflict(
            f"move {paths[0]}{more} out of {folder} first: it is not in git, and the merge would overwrite it",
            files=paths[:50],
        )


def is_built_upon(root: Path, merge: Merge) -> bool:
    """Return whether the base branch has moved on since a merge, so that only a revert undoes it.

    Raises:
        GitFailed: git failed.
    """
    return commit_of(root, f"refs/heads/{merge.base}") not in (merge.new, merge.old)


def take_back(root: Path, merge: Merge) -> None:
    """Move the base branch back to where it was before a merge. A second call after a crash carries on.

    Raises:
        Conflict: the base is checked out with changes.
        GitFailed: git failed.
        Moved: somebody has built upon the merge: `prepare_revert` undoes it.
    """
    ref = f"refs/heads/{merge.base}"
    now = commit_of(root, ref)
    if now == merge.old:
        return
    if now != merge.new:
        raise Moved(f"{merge.base} has commits since the merge: revert it instead", base=merge.base)
    where = _checkout(root, merge.base)
    if where is None:
        git.run(root, "update-ref", "--no-deref", "-m", "tui-tasks: undo", ref, merge.old, merge.new)
        return
    check_clean(Path(where), merge.base)
    # It keeps what it would otherwise overwrite, and refuses then.
    git.run(Path(where), "reset", "--keep", "--quiet", merge.old)


def check_clean(folder: Path, base: str) -> None:
    """Refuse a checkout in which a branch cannot be moved without touching the human's changes.

    Raises:
        Conflict: it has changes, or is amid an operation; the message says what to do.
        GitFailed: git failed.
    """
    git_trees.check_folder(folder)
    directory = Path(git.run(folder, "rev-parse", "--absolute-git-dir").text)
    for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"):
        if (directory / name).exists():
            raise Conflict(f"git has not ended {name} in {folder}: end it there, then merge again")
    words = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
    changed = [line[3:] for line in git.run(folder, *words).printed.split(b"\0") if line]
    if changed:
        raise Conflict(
            f"commit {count(len(changed), 'change')} in {folder} first, where {base} is checked out; "
            "or switch that to another branch, or open a pull request",
            files=[os.fsdecode(one) for one in changed[:50]],
            path=str(folder),
        )


def _checkout(root: Path, base: str) -> str | None:
    where = checked_out_at(root, base)
    return str(where) if where is not None else None


def _rebase(root: Path, review: Review, who: Identity, dates: Mapping[str, str]) -> str:
    """Return the last of the work's commits after each was copied onto the base."""
    words = ("rev-list", "--reverse", "--topo-order", "--no-merges", f"{review.base_commit}..{review.head}")
    last = review.base_commit
    for commit in git.run(root, *words).text.split():
        name, email, date, parent, message = git.run(
            root,
            "log",
            "-1",
            "--no-show-signature",
            "--format=%an%x00%ae%x00%ad%x00%P%x00%B",
            "--date=raw",
            commit,
            "--",
        ).text.split("\0", 4)
        if not parent:
            raise Conflict(f"commit {commit[:10]} has no parent: merge the work instead", base=review.base)
        # With the commit's own parent as the parent of both, git applies what this commit changes.
        upon = commit_tree(root, tree_at(root, last), [parent], "upon", who)
        tree, files = merge_trees(root, upon, commit)
        if files:
            raise MergeConflicts(review.base, files)
        if tree == tree_at(root, last):
            continue  # the base has it already
        author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
        committed = {"GIT_COMMITTER_DATE": dates["GIT_COMMITTER_DATE"]} if dates else {}
        last = commit_tree(root, tree, [last], message, who, author | committed)
    if last == review.base_commit:
        raise Conflict(f"{review.base} has all of its changes already: there is nothing to merge", base=review.base)
    return last
