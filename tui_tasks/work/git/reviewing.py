"""What the work in a worktree has against its merge base: files, diffs, commits, conflicts.

All is read from the worktree's own HEAD and files, as a tree that is compared with a tree. So attributes and settings
of the repository change nothing that is shown, and no program that they name runs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_trees
from tui_tasks.text.safe import path_text
from tui_tasks.work.git import worktrees

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
    """

    path: str
    old_path: str | None
    status: str
    insertions: int | None
    deletions: int | None
    is_committed: bool
    versions: bytes = b""

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
        del members["versions"]
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


def review(
    folder: Path,
    base: str,
    branch: str | None = None,
    *,
    began_at: str | None = None,
    filters: Collection[str] = (),
) -> Review:
    """Return what the work in a worktree has against a base branch.

    `branch` is the branch on which the work began; another one is noted. `began_at` is the commit on which it began,
    for work on the base branch itself. `filters` are names of filters that may run.

    Raises:
        Conflict: there is no such base, no commit, or nothing in common.
        GitFailed: git failed.
    """
    head, base_commit, merge_base = _ends(folder, base, began_at)
    tree = git_trees.tree_of(folder, filters=filters)
    head_tree = tree_at(folder, head)
    ahead, behind = git.run(folder, "rev-list", "--left-right", "--count", f"{head}...{base_commit}").text.split()
    uncommitted = _paths(folder, head_tree, tree)
    return Review(
        folder=folder,
        head=head,
        tree=tree,
        head_tree=head_tree,
        branch=worktrees.branch_of(folder),
        base=base,
        base_commit=base_commit,
        merge_base=merge_base,
        ahead=int(ahead),
        behind=int(behind),
        files=changes(folder, merge_base, tree, frozenset(uncommitted)),
        uncommitted=uncommitted,
        commits=_commits(folder, base_commit, head),
        conflicts=merge_trees(folder, base_commit, head)[1] if int(ahead) else (),
        notes=tuple(_notes(folder, head, branch)),
    )


def _ends(folder: Path, base: str, began_at: str | None) -> tuple[str, str, str]:
    """Return the commit of a worktree, that of its base branch, and what both have in common."""
    head = worktrees.commit_of(folder, "HEAD")
    if head is None:
        raise Conflict(f"{folder} has no commit")
    base_commit = worktrees.commit_of(folder, began_at or f"refs/heads/{base}")
    if base_commit is None:
        raise Conflict(f"there is no branch {base} any more: merge into another one", base=base)
    merge_base = git.run(folder, "merge-base", head, base_commit, statuses=(0, 1)).text
    if not merge_base:
        raise Conflict(f"HEAD of {folder} and branch {base} have no commit in common", base=base)
    return head, base_commit, merge_base


def tree_at(folder: Path, commit: str) -> str:
    """Return the tree of a commit.

    Raises:
        GitFailed: git failed.
    """
    return git.run(folder, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").text


def merge_trees(folder: Path, ours: str, theirs: str, seconds: float = git.RUN_SECONDS) -> tuple[str, tuple[str, ...]]:
    """Merge two commits without any working tree; return the tree, and the paths in conflict, as text.

    Raises:
        GitFailed: git failed, or took more than so many seconds.
    """
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    tree, *paths = git.run(folder, *words, statuses=(0, 1), timeout=seconds).printed.split(b"\0")
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
            one = one if _has_nul(folder, old, new, one) else _with_lines(folder, old, new, one)
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


def _has_nul(folder: Path, old: str, new: str, change: FileChange) -> bool:
    """Return whether a file is binary by its bytes, whatever the attributes say."""
    for tree, path in ((old, change.old_path or change.path), (new, change.path)):
        entry = git.run(folder, "ls-tree", "-z", tree, "--", path).printed
        match = re.match(rb"(?:100\d{3}|120000) blob ([0-9a-f]+)\t", entry)
        if match and b"\0" in git.run(folder, "cat-file", "blob", match[1].decode()).printed[:_LOOK_FOR_NUL]:
            return True
    return False


def _paths(folder: Path, old: str, new: str) -> tuple[str, ...]:
    printed = git.run(folder, "diff-tree", "-r", "-z", "--name-only", "--no-renames", *_EXACT, old, new).printed
    return tuple(os.fsdecode(path) for path in printed.split(b"\0") if path)


def _commits(folder: Path, base_commit: str, head: str) -> tuple[CommitLine, ...]:
    # A NUL is in no field, so that no name or title can make up another commit.
    words = ("log", "-z", f"--max-count={MAX_COMMITS}", "--no-show-signature", "--format=%H%x00%an%x00%at%x00%s")
    fields = git.run(folder, *words, f"{base_commit}..{head}", "--").printed.decode(errors="replace").split("\0")
    rows = zip(*[iter(fields)] * 4, strict=False)
    return tuple(CommitLine(commit, author, int(at or 0), title) for commit, author, at, title in rows)


def _notes(folder: Path, head: str, branch: str | None) -> list[str]:
    """Return what the one who worked there may have changed beside files."""
    notes = []
    now_on = worktrees.branch_of(folder)
    if branch is not None and now_on != branch:
        notes.append(f"it stands on {f'branch {now_on}' if now_on else 'no branch'}, not on {branch}")
        tip = worktrees.commit_of(folder, f"refs/heads/{branch}")
        if tip is None:
            notes.append(f"branch {branch} is gone")
        elif tip != head:
            notes.append(f"branch {branch} is at another commit: {tip[:10]}")
    stashes = git.run(folder, "log", "-g", "--format=%gs", "refs/stash", "--", statuses=(0, 128)).printed.decode(
        errors="replace"
    )
    branches = "|".join(re.escape(name) for name in (now_on, branch) if name)
    count = sum(bool(re.match(rf"(?:WIP on|On) (?:{branches}):", line)) for line in stashes.splitlines())
    if count:
        notes.append(f"{count} stashed {'change' if count == 1 else 'changes'} of it: `git stash list`")
    if programs := git.programs_named(folder):
        more = f" and {len(programs) - 3} more" if len(programs) > 3 else ""
        notes.append(f"settings name programs, which are not run here: {', '.join(programs[:3])}{more}")
    return notes
