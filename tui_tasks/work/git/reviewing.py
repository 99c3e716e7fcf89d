"""What the work in a worktree has against its merge base: files, diffs, commits, conflicts.

All is read from the worktree's own HEAD and files, as a tree that is compared with a tree. So attributes and settings
of the repository change nothing that is shown, and no program that they name runs.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.text.safe import path_text
from tui_tasks.work.git import worktrees
from tui_tasks.work.git.worktrees import Ends

MAX_COMMITS: Final = 500
MAX_DIFF_BYTES: Final = 1024 * 1024
_LOOK_FOR_NUL: Final = 8000
_EXACT: Final = ("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty", "--no-color")


class FileChange(NamedTuple):
    """A file that the work has changed.

    Attributes:
        path: its path; `old_path`: that before a rename or copy.
        status: A, M, D, R, C or T, as git has them.
        insertions: lines; None of a binary file. The same holds for `deletions`.
        is_committed: whether the worktree has it as HEAD has it; else it is not committed.
        versions: git's modes and ids of the file before and after.
        is_in_head: whether HEAD has a file of that path.
    """

    path: str
    old_path: str | None
    status: str
    insertions: int | None
    deletions: int | None
    is_committed: bool
    versions: bytes = b""
    is_in_head: bool = True

    @property
    def name(self) -> str:
        """The path as text that can be written down."""
        return path_text(self.path)

    @property
    def is_binary(self) -> bool:
        """Whether its lines cannot be counted."""
        return self.insertions is None

    def to_json(self) -> dict[str, Any]:
        """Return it as the shell shows it."""
        members = self._asdict() | {"is_binary": self.is_binary}
        del members["versions"], members["is_in_head"]
        return members


class CommitLine(NamedTuple):
    """A commit of the work: its id, author, time in seconds since the epoch, and first line."""

    id: str
    author: str
    at: int
    title: str


class Review(NamedTuple):
    """The state of a worktree, as it is to be accepted or not.

    Attributes:
        folder: the worktree.
        head: the commit of its HEAD.
        tree: the tree of its files, with untracked ones.
        head_tree: the tree of `head`.
        branch: the branch that HEAD is on; None: none.
        base: the base branch.
        base_commit: the commit of the base branch.
        merge_base: the commit from which both come.
        ahead: commits that the base lacks; `behind`: commits of the base that HEAD lacks.
        files: what differs between `merge_base` and `tree`.
        uncommitted: the paths that differ between `head_tree` and `tree`.
        commits: newest first, at most `MAX_COMMITS`.
        conflicts: the paths that do not merge into the base.
        adds_nothing: the base has all that is committed and not committed, so that a merge would change nothing there.
        notes: what else the human must know, a line each.
    """

    folder: Path
    head: str
    tree: str
    head_tree: str
    branch: str | None
    base: str
    base_commit: str
    merge_base: str
    ahead: int
    behind: int
    files: tuple[FileChange, ...]
    uncommitted: tuple[str, ...]
    commits: tuple[CommitLine, ...]
    conflicts: tuple[str, ...]
    notes: tuple[str, ...]
    adds_nothing: bool = False

    @property
    def is_dirty(self) -> bool:
        """Whether some of the work is not committed."""
        return bool(self.uncommitted)

    @property
    def version(self) -> str:
        """An id of this state of the work: its commit, and the tree if some files are uncommitted."""
        return f"{self.head}+{self.tree}" if self.is_dirty else self.head

    def counts(self) -> dict[str, Any]:
        """Return the counts as `work` has them (docs: protocol, section 12), and `head`."""
        return {
            "head": self.head,
            "ahead": self.ahead,
            "behind": self.behind,
            "files": len(self.files),
            "insertions": sum(one.insertions or 0 for one in self.files),
            "deletions": sum(one.deletions or 0 for one in self.files),
            "dirty": self.is_dirty,
        }


class FileDiff(NamedTuple):
    """The diff of a file: its text, whether it is binary (then the text is empty), and whether the text is cut."""

    text: str
    is_binary: bool
    is_cut: bool


def review(work_tree: WorkTree, base: str, branch: str | None = None, *, began_at: str | None = None) -> Review:
    """Return what the work in a worktree has against a base branch.

    `branch` is the branch on which the work began; another one is noted. `began_at` is the commit on which it began,
    for work on the base branch itself.

    Raises:
        Conflict: there is no such base, no commit, nothing in common, or more than one merge base.
        GitFailed: git failed.
    """
    folder, head, head_tree = work_tree.folder, work_tree.head, work_tree.head_tree
    if head is None or head_tree is None:
        raise Conflict(f"{folder} has no commit")
    ends, merge_base = _ends(folder, base, head, began_at)
    with git_trees.indexed(work_tree) as files:
        tree = files.tree
    uncommitted = _paths(folder, head_tree, tree) if tree != head_tree else ()
    new = frozenset(_paths(folder, head_tree, tree, "--diff-filter=A") if uncommitted else ())
    changed = changes(folder, merge_base, tree, frozenset(uncommitted))
    commits = _commits(folder, ends.base, head)
    ahead, behind = len(commits), 0
    if merge_base != ends.base or ahead == MAX_COMMITS:
        ahead, behind = ahead_and_behind(folder, head, ends.base)
    adds_nothing, conflicts = not ahead or not changed, tuple[str, ...]()
    if ahead and behind:
        merged, conflicts = merge_trees(work_tree, ends.base, head)
        adds_nothing = not conflicts and merged == tree_at(folder, ends.base)
    return Review(
        folder=folder,
        head=head,
        tree=tree,
        head_tree=head_tree,
        branch=work_tree.branch,
        base=base,
        base_commit=ends.base,
        merge_base=merge_base,
        ahead=ahead,
        behind=behind,
        files=tuple(one._replace(is_in_head=one.path not in new) for one in changed),
        uncommitted=uncommitted,
        commits=commits,
        conflicts=conflicts,
        notes=tuple(_notes(work_tree, ends, branch)),
        adds_nothing=adds_nothing and not uncommitted and began_at is None,
    )


def _ends(folder: Path, base: str, head: str, began_at: str | None) -> tuple[Ends, str]:
    """Return what the work lies between, and its only merge base."""
    ends = worktrees.ends(folder, began_at or f"refs/heads/{base}", head)
    if ends is None:
        raise Conflict(f"there is no branch {base}: merge into another one (--base)", base=base)
    if ends.merge_base is None:
        raise Conflict(f"HEAD of {folder} and branch {base} have no commit in common", base=base)
    if len(ends.merge_bases) > 1:
        raise Conflict(
            f"HEAD of {folder} and branch {base} have {len(ends.merge_bases)} merge bases, so that no diff shows what a"
            f" merge changes: rebase the work on {base}",
            base=base,
        )
    return ends, ends.merge_base


def ahead_and_behind(folder: Path, head: str, base: str) -> tuple[int, int]:
    """Return how many commits the base lacks, and how many of the base a commit lacks.

    Raises:
        GitFailed: git failed.
    """
    ahead, behind = git.run(folder, "rev-list", "--left-right", "--count", f"{head}...{base}").text.split()
    return int(ahead), int(behind)


def tree_at(folder: Path, commit: str) -> str:
    """Return the tree of a commit.

    Raises:
        GitFailed: git failed.
    """
    return git.run(folder, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").text


def merge_trees(
    work_tree: WorkTree, ours: str, theirs: str, seconds: float = git.RUN_SECONDS
) -> tuple[str, tuple[str, ...]]:
    """Merge two commits without any working tree; return the tree, and the paths in conflict, as text.

    Raises:
        GitFailed: git failed, or took more than so many seconds.
    """
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    tree, *paths = work_tree.run(*words, statuses=(0, 1), timeout=seconds).printed.split(b"\0")
    return tree.decode().strip(), tuple(dict.fromkeys(path_text(os.fsdecode(path)) for path in paths if path))


def changes(
    folder: Path, old: str, new: str, uncommitted: frozenset[str] = frozenset(), *, most_binary: int = sys.maxsize
) -> tuple[FileChange, ...]:
    """Return the files that differ between two trees or commits, with lines whatever the attributes call binary, of
    which at most so many are looked into.

    Raises:
        GitFailed: git failed.
    """
    words = ("diff-tree", "-r", "-z", "--find-renames", "--raw", "--numstat", *_EXACT, old, new)
    files = []
    for path, one in _counted(git.run(folder, *words).printed).items():
        if one.insertions is None and most_binary:
            most_binary -= 1
            one = one if _has_nul(folder, one) else _with_lines(folder, old, new, one)
        files.append(one._replace(is_committed=path not in uncommitted))
    return tuple(files)


def _with_lines(folder: Path, old: str, new: str, change: FileChange) -> FileChange:
    """Return the change of a text that an attribute calls binary, with its lines counted."""
    text = file_diff(folder, old, new, change._replace(insertions=0, deletions=0), sys.maxsize).text
    lines = text[text.find("\n@@") + 1 :].split("\n") if "\n@@" in text else []
    return change._replace(
        insertions=sum(line.startswith("+") for line in lines), deletions=sum(line.startswith("-") for line in lines)
    )


def file_diff(folder: Path, old: str, new: str, change: FileChange, max_bytes: int = MAX_DIFF_BYTES) -> FileDiff:
    """Return the diff of one file between two trees or commits.

    Raises:
        GitFailed: git failed.
    """
    if change.is_binary:
        return FileDiff("", is_binary=True, is_cut=False)
    paths = [change.path, *([change.old_path] if change.old_path is not None else [])]
    words = ("diff-tree", "-r", "-p", "--text", "--find-renames", *_EXACT, old, new, "--", *paths)
    printed = git.run(folder, *words).printed
    if b"\0" in printed:
        return FileDiff("", is_binary=True, is_cut=False)
    is_cut = len(printed) > max_bytes
    if is_cut:
        printed = printed[: printed.rfind(b"\n", 0, max_bytes) + 1]
    return FileDiff(printed.decode(errors="replace"), is_binary=False, is_cut=is_cut)


def _counted(printed: bytes) -> dict[str, FileChange]:
    """Return the changes in what `diff-tree -z --raw --numstat` prints."""
    fields = printed.split(b"\0")
    files: dict[str, FileChange] = {}
    at = 0
    while at < len(fields) and fields[at]:
        head = fields[at]
        if head.startswith(b":"):
            status = head.rpartition(b" ")[2][:1].decode()
            is_moved = status in "RC"
            path = os.fsdecode(fields[at + 1 + is_moved])
            old_path = os.fsdecode(fields[at + 1]) if is_moved else None
            files[path] = FileChange(path, old_path, status, 0, 0, True, head)
            at += 2 + is_moved
            continue
        added, deleted, name = head.split(b"\t", 2)
        path = os.fsdecode(name or fields[at + 2])
        lines = (int(added), int(deleted)) if added != b"-" else (None, None)
        files[path] = files[path]._replace(insertions=lines[0], deletions=lines[1])
        at += 1 if name else 3
    return files


def _has_nul(folder: Path, change: FileChange) -> bool:
    """Return whether a file is binary by its bytes, whatever the attributes say."""
    old_mode, new_mode, old, new, _ = change.versions[1:].split(b" ")
    ids = [one for mode, one in ((old_mode, old), (new_mode, new)) if mode.startswith((b"100", b"120"))]
    printed = git.run(folder, "cat-file", "--batch", given=b"".join(one + b"\n" for one in ids)).printed
    while printed:
        head, _, rest = printed.partition(b"\n")
        *_, kind, size = head.split()
        if kind != b"blob":
            raise GitFailed(f"git has no object {head.decode(errors='replace')} (in {folder})")
        if b"\0" in rest[: min(int(size), _LOOK_FOR_NUL)]:
            return True
        printed = rest[int(size) + 1 :]
    return False


def _paths(folder: Path, old: str, new: str, *which: str) -> tuple[str, ...]:
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", *which, *_EXACT, old, new)
    printed = git.run(folder, *words).printed
    return tuple(os.fsdecode(path) for path in printed.split(b"\0") if path)


def _commits(folder: Path, base_commit: str, head: str) -> tuple[CommitLine, ...]:
    # A NUL is in no field, so that no name or title can make up another commit.
    words = ("log", "-z", f"--max-count={MAX_COMMITS}", "--no-show-signature", "--format=%H%x00%an%x00%at%x00%s")
    fields = git.run(folder, *words, f"{base_commit}..{head}", "--").printed.decode(errors="replace").split("\0")
    rows = zip(*[iter(fields)] * 4, strict=False)
    return tuple(CommitLine(commit, author, int(at or 0), title) for commit, author, at, title in rows)


def _notes(work_tree: WorkTree, ends: Ends, branch: str | None) -> list[str]:
    """Return what the one who worked there may have changed beside files."""
    folder, now_on, notes = work_tree.folder, work_tree.branch, []
    if branch is not None and now_on != branch:
        notes.append(f"it stands on {f'branch {now_on}' if now_on else 'no branch'}, not on {branch}")
        tip = worktrees.commit_of(folder, f"refs/heads/{branch}")
        if tip is None:
            notes.append(f"branch {branch} is gone")
        elif tip != work_tree.head:
            notes.append(f"branch {branch} is at another commit: {tip[:10]}")
    if ends.has_stash and (count := _stashed(folder, now_on, branch)):
        notes.append(f"{count} stashed {'change' if count == 1 else 'changes'} of it: `git stash list`")
    if programs := work_tree.programs_named():
        more = f" and {len(programs) - 3} more" if len(programs) > 3 else ""
        notes.append(f"settings name programs, which are not run here: {', '.join(programs[:3])}{more}")
    return notes


def _stashed(folder: Path, *branches: str | None) -> int:
    """Return how many changes of these branches are stashed."""
    words = ("log", "-g", "--format=%gs", "refs/stash", "--")
    stashes = git.run(folder, *words, statuses=(0, 128)).printed.decode(errors="replace")
    names = "|".join(re.escape(name) for name in branches if name)
    return sum(bool(re.match(rf"(?:WIP on|On) (?:{names}):", line)) for line in stashes.splitlines())
