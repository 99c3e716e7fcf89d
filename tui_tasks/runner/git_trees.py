"""The hash of the tree of a worktree's files, with untracked ones: what a review and a proof are about.

Files that git ignores, those of submodules and nested repositories, and those that git stores in another form are in no
commit as they are in the worktree. A run of a check that has them among its inputs proves no tree.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.installation import data_folder
from tui_tasks.regular_files import open_regular
from tui_tasks.runner import git, git_isolation
from tui_tasks.runner.checks.input_files import MAX_FILE_BYTES, InputHasher
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import WorkTree
from tui_tasks.runner.processes import temporary_folder

MAX_UNTRACKED_BYTES: Final = 256 * 1024 * 1024
_GITLINK: Final = b"160000"
# How `ls-files -t` marks a file that is in no index, and one that is; it has other marks for files that differ or that
# it does not look at.
_OTHER: Final = b"?"
_TRACKED: Final = b"H"
PROOFS: Final = "proofs"
"""The folder beside the database with the worktrees that are made for a proof, from the tree and the human's settings.
"""
_UNLIKE: Final = "+others"
_CHUNK: Final = 1024 * 1024


class TreeIndex(NamedTuple):
    """All files of a worktree, in an index of its own.

    Attributes:
        work_tree: the worktree.
        variables: lead git to the index.
        tree: the hash of the tree.
        nested: the folders of repositories within, which are in no tree of it.
        links: the paths of submodules, which are in the tree as HEAD has them.
        folders: the folders of the files that HEAD has.
    """

    work_tree: WorkTree
    variables: dict[str, str]
    tree: str
    nested: list[bytes]
    links: set[bytes]
    folders: set[bytes]

    def left_out(self) -> list[bytes]:
        """Return the paths of what no commit can have: ignored files, files of submodules, repositories within.

        Raises:
            GitFailed: git failed.
        """
        words = ("--others", "--ignored", "--exclude-standard", "--directory")
        # git does not say of a folder with files of its own that it is a repository, too.
        within = [one + b"/.git" for one in sorted(self.folders) if self._is_repository(os.fsdecode(one))]
        return [*self._names(*words), *self.nested, *self.links, *within]

    def _is_repository(self, folder: str) -> bool:
        """Return whether a folder has a repository of its own; one that a link leads to has none."""
        top = os.path.realpath(self.work_tree.folder)
        there = f"{top}/{folder}"
        return os.path.lexists(f"{there}/.git") and os.path.realpath(there) == there

    def has_changed(self) -> bool:
        """Return whether a file is another one than in the index, or in none of both.

        Raises:
            GitFailed: git failed.
        """
        names = self._names("--modified", "--others", "--exclude-standard")
        return bool(set(names).difference(self.links, self.nested))

    def _names(self, *words: str) -> list[bytes]:
        printed = self.work_tree.run("ls-files", "-z", *words, variables=self.variables).printed
        return [name for name in printed.split(b"\0") if name]


@contextlib.contextmanager
def indexed(work_tree: WorkTree) -> Iterator[TreeIndex]:
    """Yield an index of all files of a worktree, with untracked ones and without ignored ones.

    Each file is read: marks in the worktree's index by which git would skip one count for nothing. That index is left
    as it is. A submodule is taken at the commit that HEAD has of it, without a look into it.

    Raises:
        Conflict: the folder is no worktree of its own, or its untracked files are too large.
        GitFailed: git failed.
    """
    with index() as variables:
        work_tree.run("read-tree", work_tree.head or "HEAD", variables=variables)
        listed = _listed(work_tree, variables)
        _check_size(work_tree.folder, listed.others)
        folders = _folders(listed.tracked)
        gone = _beyond_links(work_tree.folder, listed.tracked, folders)
        # What is gone comes first: a file may stand where its folder was.
        changed = [*listed.changed.difference(gone), *(one for one in listed.others if not one.endswith(b"/"))]
        for paths, words in ((gone, ("--force-remove",)), (changed, ("--add", "--remove"))):
            if paths:
                given = b"".join(path + b"\0" for path in paths)
                work_tree.run("update-index", "-z", *words, "--stdin", given=given, variables=variables)
        tree = work_tree.head_tree or ""
        if gone or changed:
            tree = work_tree.run("write-tree", variables=variables).text
        nested = [one for one in listed.others if one.endswith(b"/")]
        yield TreeIndex(work_tree, variables, tree, nested, listed.links, folders)


class _Listed(NamedTuple):
    """The paths of an index of HEAD and its worktree.

    Attributes:
        tracked: those in the index.
        changed: of these, those whose file differs, is gone, or is not looked at.
        links: submodules.
        others: files that are in no index and not ignored, and the folders of repositories within.
    """

    tracked: list[bytes]
    changed: set[bytes]
    links: set[bytes]
    others: list[bytes]


def _listed(work_tree: WorkTree, variables: dict[str, str]) -> _Listed:
    words = ("ls-files", "-z", "-t", "--stage", "--modified", "--others", "--exclude-standard")
    listed = _Listed([], set(), set(), [])
    for line in work_tree.run(*words, variables=variables).printed.split(b"\0"):
        tag, _, rest = line.partition(b" ")
        entry, _, path = rest.partition(b"\t")
        if tag == _OTHER:
            listed.others.append(rest)
        elif entry.startswith(_GITLINK):
            listed.links.add(path)
        elif tag == _TRACKED:
            listed.tracked.append(path)
        elif tag:
            listed.changed.add(path)
    return listed


def tree_of(folder: Path, *, filters: Collection[str] = ()) -> str:
    """Return the hash of the tree of a worktree's files, as `indexed` has them.

    Raises:
        Conflict: the folder is no worktree of its own, or its untracked files are too large.
        GitFailed: git failed.
    """
    with git_isolation.opened(folder, filters) as work_tree, indexed(work_tree) as files:
        return files.tree


def blobs(folder: Path, tree: str) -> dict[bytes, bytes]:
    """Return the name of each file's blob in a tree, by its path.

    Raises:
        GitFailed: git failed.
    """
    by_path = {}
    for line in git.run(folder, "ls-tree", "-r", "-z", "--full-tree", tree).printed.split(b"\0"):
        entry, _, path = line.partition(b"\t")
        if entry:
            by_path[path] = entry.split()[2]
    return by_path


def _folders(paths: Sequence[bytes]) -> set[bytes]:
    """Return the folders in which files are, without the top one."""
    folders: set[bytes] = set()
    for path in paths:
        while (path := path.rpartition(b"/")[0]) and path not in folders:
            folders.add(path)
    return folders


def _beyond_links(folder: Path, paths: Sequence[bytes], folders: Collection[bytes]) -> list[bytes]:
    """Return the paths that lead through a symbolic link: git reads what that leads to, but their files are gone."""
    links = tuple(one + b"/" for one in folders if (folder / os.fsdecode(one)).is_symlink())
    return [path for path in paths if path.startswith(links)] if links else []


def _check_size(folder: Path, others: list[bytes]) -> None:
    size = 0
    for name in others:
        with contextlib.suppress(OSError):
            size += (folder / os.fsdecode(name)).lstat().st_size
    if size > MAX_UNTRACKED_BYTES:
        raise Conflict(
            f"{folder} has {size >> 20:,} MB of untracked files, and at most {MAX_UNTRACKED_BYTES >> 20} are read:"
            " commit them, or name them in .gitignore"
        )


@contextlib.contextmanager
def index() -> Iterator[dict[str, str]]:
    """Yield variables by which git uses an index of its own, which is removed afterwards."""
    with temporary_folder("index") as made:
        yield {"GIT_INDEX_FILE": str(made / "index")}


def checked_tree(
    worktree: Path, cwd: str, patterns: Sequence[str], *, database: str, filters: Collection[str] = ()
) -> str:
    """Return the hash of a worktree's tree for a check with these inputs; if they are not all files of it, a text that
    is the hash of no tree.

    Raises:
        Conflict: the folder is no worktree of its own, or its untracked files are too large.
        GitFailed: git failed.
    """
    tree = tree_of(worktree, filters=filters)
    if worktree.resolve().parent == Path(data_folder(database), PROOFS):
        return tree
    return tree if other_file(worktree, cwd, patterns, tree) is None else tree + _UNLIKE


def other_file(worktree: Path, cwd: str, patterns: Sequence[str], tree: str) -> str | None:
    """Return the first input that a checkout of a tree lacks or has otherwise; None if there is none.

    Raises:
        GitFailed: git failed.
    """
    if not patterns:
        return None
    expected = blobs(worktree, tree)
    top = os.path.realpath(worktree)
    for path in InputHasher(cwd, patterns).paths():
        place = os.fsencode(os.path.relpath(os.path.realpath(Path(cwd, path)), top))
        if place not in expected or _blob(Path(cwd, path), len(expected[place])) != expected[place]:
            return path
    return None


def _blob(file: Path, digits: int) -> bytes:
    """Return the name that git would give a file's bytes, as long as its repository's; empty if they are too many."""
    try:
        with os.fdopen(open_regular(file, MAX_FILE_BYTES), "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            made = hashlib.sha1(usedforsecurity=False) if digits == 40 else hashlib.sha256()
            made.update(b"blob %d\0" % size)
            while chunk := opened.read(_CHUNK):
                made.update(chunk)
    except OSError:
        return b""
    return made.hexdigest().encode()


_TIMEOUT_SECONDS: Final = 30.0
_MAX_DIFF: Final = 256 * 1024 * 1024
_DIFF_OPTIONS: Final = ("--no-ext-diff", "--no-textconv", "--binary", "--submodule=short")


class GitState(NamedTuple):
    """The git state of a folder; both None without a work tree or a commit.

    Attributes:
        commit: the commit.
        diff: the SHA-256 of the uncommitted changes, in hexadecimal.
    """

    commit: str | None = None
    diff: str | None = None


def look(folder: Path) -> GitState:
    """Return the git state of a folder."""
    words = ("diff", *_DIFF_OPTIONS, "HEAD")
    try:
        with git_isolation.opened(folder, is_top=False) as work_tree:
            diff = work_tree.read(*words, timeout=_TIMEOUT_SECONDS, max_bytes=_MAX_DIFF)
    except GitFailed:
        return GitState()
    return GitState(work_tree.head, hashlib.sha256(diff).hexdigest())
