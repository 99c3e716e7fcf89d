"""Merging without a working tree, in the name of the human: as a commit, to which the base branch is then moved.

A `Merge` is a value. It is written to the journal before `base_branch.carry_out` moves the base branch; until then,
nothing that anybody sees has changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git import GitFailed, Setting
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.text.times import count
from tui_tasks.work.git.reviewing import Review, merge_trees, tree_at
from tui_tasks.work.git.worktrees import check_git, checked_out_at, commit_of, is_ancestor

Method = Literal["squash", "merge", "rebase", "ff"]


class Committer(NamedTuple):
    """Who commits: the human's name and address."""

    name: str
    email: str


def identity(settings: Iterable[Setting]) -> Committer:
    """Return the human's name and address in git's settings: the human's own, as agents share the repository's.

    Raises:
        Conflict: there are none.
    """
    # The last one holds, and the human's own before those of the repository.
    ordered = sorted(settings, key=lambda one: one.is_own)
    values = {one.name: one.value for one in ordered if one.name in ("user.name", "user.email") and one.value}
    if len(values) < 2:
        raise Conflict('git does not know who you are: `git config --global user.name "…"`, and user.email')
    return Committer(values["user.name"], values["user.email"])


def commit_tree(
    root: Path, tree: str, parents: list[str], message: str, who: Committer, more: Mapping[str, str] | None = None
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

    @property
    def is_empty(self) -> bool:
        """Whether the work had nothing new for the base branch, which stays where it is."""
        return self.old == self.new


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


def check_reviewed(work_tree: WorkTree, review: Review) -> None:
    """Refuse work that has moved since it was reviewed.

    Raises:
        GitFailed: git failed.
        Moved: its commit, its files or the base branch have changed.
    """
    now = work_tree.head
    if now != review.head:
        raise Moved(f"{_since(review, now)}: look again", head=now)
    with git_trees.indexed(work_tree) as files:
        if files.tree != review.tree:
            raise Moved("its files have changed since you looked: look again", head=now)
    base = commit_of(review.folder, f"refs/heads/{review.base}")
    if base != review.base_commit:
        raise Moved(f"{review.base} has moved since you looked: look again", base=review.base)


def _since(review: Review, now: str | None) -> str:
    """Return what has become of the commit of a work since it was reviewed."""
    if now is None or not is_ancestor(review.folder, review.head, now):
        return "its commits were rewritten since you looked"
    titles = git.read(review.folder, "log", "--format=%s", "--no-show-signature", f"{review.head}..{now}").splitlines()
    came = "1 commit" if len(titles) == 1 else f"{len(titles):,} commits"
    return f"{came} came since you looked ({titles[0]})"


def check_committed(review: Review) -> None:
    """Refuse work that is not committed.

    Raises:
        Conflict: some of it is not.
    """
    if review.is_dirty:
        files = count(len(review.uncommitted), "changed file is", "changed files are")
        raise Conflict(
            f"{files} not committed: give a message for a commit (--commit), or send the work back",
            files=list(review.uncommitted[:50]),
        )


def commit_rest(work_tree: WorkTree, review: Review, branch: str | None, message: str, who: Committer) -> Review:
    """Commit what is not committed of reviewed work, exactly as it was reviewed; return the review of that commit.

    `check_reviewed` has passed. Files that change now are in no commit that is merged. No branch moves but that of the
    work; None: its HEAD is on none.

    Raises:
        Conflict: HEAD is on another branch.
        GitFailed: git failed, as where its commit has moved since.
    """
    if work_tree.branch != branch:
        where = f"branch {work_tree.branch}" if work_tree.branch else "no branch"
        switch = f"`git switch {branch}`" if branch else "`git switch --detach`"
        raise Conflict(f"{review.folder} is on {where}, not on {branch or 'none'}: {switch} there, then look again")
    commit = commit_tree(review.folder, review.tree, [review.head], message, who)
    ref = f"refs/heads/{branch}" if branch else "HEAD"
    git.run(review.folder, "update-ref", "--no-deref", ref, commit, review.head)
    work_tree.run("read-tree", commit)
    work_tree.run("update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))
    return review._replace(head=commit, head_tree=review.tree, uncommitted=(), ahead=review.ahead + 1)


def nothing_to_merge(root: Path, review: Review, method: Method) -> Merge:
    """Return the merge of work that has nothing new for its base branch, which stays where it is."""
    old = review.base_commit
    return Merge(method, review.base, old, old, review.head, _checkout(root, review.base))


def prepare(
    root: Path, review: Review, method: Method, message: str, who: Committer, *, when: str | None = None
) -> Merge:
    """Make the commit that merges reviewed work, in no working tree; the base branch does not move.

    Args:
        root: the checkout of the repository.
        review: the work; `check_reviewed` and `check_committed` have passed.
        method: how it is merged.
        message: that of the new commit, for `squash` and `merge`.
        who: the human.
        when: the date of the new commits, as git takes it; None: now.

    Raises:
        Conflict: there is nothing to merge, or `ff` cannot be.
        GitFailed: git failed.
        MergeConflicts: it does not merge cleanly.
    """
    old, head = review.base_commit, review.head
    if review.ahead == 0:
        raise Conflict(f"{review.base} has all of its commits already: there is nothing to merge", base=review.base)
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when is not None else {}
    if method == "ff":
        if review.behind:
            raise Conflict(f"{review.base} has moved on: rebase the work, or merge it", base=review.base)
        new = head
    elif method == "rebase" and not review.behind:
        new = head
    elif method == "rebase":
        with _merging(root) as work_tree:
            new = _rebase(work_tree, review, who, dates)
    else:
        tree = _merged_tree(root, review) if review.behind else review.head_tree
        if review.behind and tree == tree_at(root, old):
            raise Conflict(_HAS_ALL.format(base=review.base), base=review.base)
        parents = [old] if method == "squash" else [old, head]
        new = commit_tree(root, tree, parents, message, who, dates)
    return Merge(method, review.base, old, new, head, _checkout(root, review.base))


@contextlib.contextmanager
def _merging(root: Path) -> Iterator[WorkTree]:
    """Yield the checkout, in which trees can be merged.

    Raises:
        Conflict: git is too old for that.
        GitFailed: git failed.
    """
    try:
        with git_isolation.opened(root) as work_tree:
            yield work_tree
    except GitFailed:
        check_git()
        raise


def _merged_tree(root: Path, review: Review) -> str:
    with _merging(root) as work_tree:
        tree, files = merge_trees(work_tree, review.base_commit, review.head)
    if files:
        raise MergeConflicts(review.base, files)
    return tree


def prepare_revert(root: Path, merge: Merge, message: str) -> Merge:
    """Make the commit that takes a merge back on which others have built.

    Raises:
        Conflict: the base branch is gone, has changed the same lines since, or git does not know the human.
        GitFailed: git failed.
    """
    with _merging(root) as work_tree:
        who = identity(work_tree.settings)
        now = commit_of(root, f"refs/heads/{merge.base}")
        if now is None:
            raise Conflict(f"there is no branch {merge.base} any more", base=merge.base)
        # With `new` as the parent of both, git merges what was built with the tree that was before.
        current = commit_tree(root, tree_at(root, now), [merge.new], "current", who)
        before = commit_tree(root, tree_at(root, merge.old), [merge.new], "before", who)
        tree, files = merge_trees(work_tree, current, before)
    if files:
        names, more = ", ".join(files[:5]), f" and {len(files) - 5} more" if len(files) > 5 else ""
        raise Conflict(
            f"it cannot be reverted: {merge.base} has changed the same lines of {names}{more} since", files=list(files)
        )
    new = commit_tree(root, tree, [now], message, who)
    return Merge("revert", merge.base, now, new, merge.new, _checkout(root, merge.base))


_HAS_ALL: Final = "{base} has all of its changes already: there is nothing to merge"


def _checkout(root: Path, base: str) -> str | None:
    where = checked_out_at(root, base)
    return str(where) if where is not None else None


def _rebase(work_tree: WorkTree, review: Review, who: Committer, dates: Mapping[str, str]) -> str:
    """Return the last of the work's commits after each was copied onto the base."""
    root, last = work_tree.folder, review.base_commit
    last_tree = tree_at(root, last)
    for commit, name, email, date, parent, message in _copied(root, review):
        if not parent:
            raise Conflict(f"commit {commit[:10]} has no parent: merge the work instead", base=review.base)
        if " " in parent:
            raise Conflict(
                f"commit {commit[:10]} is a merge, and a rebase drops what it changes: squash the work, or merge it",
                base=review.base,
            )
        # With the commit's own parent as the parent of both, git applies what this commit changes.
        upon = commit_tree(root, last_tree, [parent], "upon", who)
        tree, files = merge_trees(work_tree, upon, commit)
        if files:
            raise MergeConflicts(review.base, files)
        if tree == last_tree:
            continue  # the base has it already
        author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
        committed = {"GIT_COMMITTER_DATE": dates["GIT_COMMITTER_DATE"]} if dates else {}
        last, last_tree = commit_tree(root, tree, [last], message.rstrip("\n"), who, author | committed), tree
    if last == review.base_commit:
        raise Conflict(_HAS_ALL.format(base=review.base), base=review.base)
    return last


def _copied(root: Path, review: Review) -> Iterator[tuple[str, ...]]:
    """Yield id, author, address, date, parents and message of each commit that a rebase copies, the oldest first."""
    words = ("log", "-z", "--reverse", "--topo-order", "--no-show-signature", "--date=raw")
    form = "--format=%H%x00%an%x00%ae%x00%ad%x00%P%x00%B"
    fields = git.run(root, *words, form, f"{review.base_commit}..{review.head}", "--").text.split("\0")
    yield from zip(*[iter(fields)] * 6, strict=False)
