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
from typing import Final

from tui_tasks.core.errors import Conflict
from tui_tasks.default_paths import data_folder
from tui_tasks.regular_files import open_regular
from tui_tasks.runner import git, git_isolation
from tui_tasks.runner.checks.input_files import MAX_FILE_BYTES, InputHasher

MAX_UNTRACKED_BYTES: Final = 256 * 1024 * 1024
_GITLINK: Final = b"160000"
PROOFS: Final = "proofs"
"""The folder beside the database with the worktrees that are made for a proof, from the tree and the human's settings.
"""
_UNLIKE: Final = "+others"
_CHUNK: Final = 1024 * 1024


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not the top of its own worktree, as where a setting leads git elsewhere.

    Raises:
        Conflict: it is not.
        GitFailed: it is in no worktree.
    """
    top = git.run(folder, "rev-parse", "--show-toplevel").text
    if os.path.realpath(top) != os.path.realpath(folder):
        raise Conflict(f"{folder} is not a worktree of its own: git uses {top} for it; check its core.worktree")


def tree_of(folder: Path, *, filters: Collection[str] = ()) -> str:
    """Return the hash of the tree of a worktree's files, with untracked ones and without ignored ones.

    Each file is read: marks in the index by which git would skip one count for nothing. The index is left as it is.

    Raises:
        Conflict: the folder is no worktree of its own, or its untracked files are too large.
        GitFailed: git failed.
    """
    check_folder(folder)
    with index(folder) as own, git.without_programs(folder, filters) as settings:
        variables = settings | own
        git.run(folder, "read-tree", "HEAD", variables=variables)
        others = names(folder, variables, "--others", "--exclude-standard")
        _check_size(folder, others)
        modules = links(folder, variables)
        tracked = names(folder, variables, "--cached")
        # A submodule is taken at the commit of its HEAD, without a look into it.
        files = [name for name in (*tracked, *others) if not name.endswith(b"/") and name not in modules]
        given = b"".join(name + b"\0" for name in files)
        git.run(
            folder,
            *("update-index", "-z", "--add", "--remove", "--stdin"),
            given=given,
            variables=variables,
        )
        return git.run(folder, "write-tree", variables=variables).text


def names(folder: Path, variables: dict[str, str], *words: str) -> list[bytes]:
    """Return the paths that `ls-files` prints.

    Raises:
        GitFailed: git failed.
    """
    printed = git.run(folder, "ls-files", "-z", *words, variables=variables).printed
    return [name for name in printed.split(b"\0") if name]


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


def links(folder: Path, variables: dict[str, str] | None = None) -> set[bytes]:
    """Return the paths of submodules in an index, by default that of the worktree.

    Raises:
        GitFailed: git failed.
    """
    staged = names(folder, variables or {}, "--stage")
    return {line.partition(b"\t")[2] for line in staged if line.startswith(_GITLINK)}


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
def index(folder: Path) -> Iterator[dict[str, str]]:
    """Yield variables by which git uses an index of its own, which is removed afterwards."""
    with git_isolation.temporary_folder("index") as made:
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
    """Return the name that git would give the bytes of a file, in as many digits as its repository's names have; empty
    for what is no file of a sensible size.
    """
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
