"""The tree that a run of a check is about: that of its worktree, if its inputs are files of that tree.

Files that git ignores, those of submodules and nested repositories, and those that git stores in another form are in no
commit as they are in the worktree. A run that has them among its inputs proves no tree.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from tui_tasks.default_paths import data_folder
from tui_tasks.regular_files import open_regular
from tui_tasks.runner.checks.inputs import MAX_FILE_BYTES, InputHasher
from tui_tasks.runner.process import git_trees

PROOFS: Final = "proofs"
"""The folder beside the database with the worktrees that are made for a proof, from the tree and the human's settings.
"""
_UNLIKE: Final = "+others"
_CHUNK: Final = 1024 * 1024


def checked_tree(
    worktree: Path, cwd: str, patterns: Sequence[str], *, database: str, filters: Collection[str] = ()
) -> str:
    """Return the hash of a worktree's tree for a check with these inputs; if they are not all files of it, a text that
    is the hash of no tree.

    Raises:
        Conflict: the folder is no worktree of its own, or its untracked files are too large.
        GitFailed: git failed.
    """
    tree = git_trees.tree_of(worktree, filters=filters)
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
    blobs = git_trees.blobs(worktree, tree)
    top = os.path.realpath(worktree)
    for path in InputHasher(cwd, patterns).paths():
        place = os.fsencode(os.path.relpath(os.path.realpath(Path(cwd, path)), top))
        if place not in blobs or _blob(Path(cwd, path), len(blobs[place])) != blobs[place]:
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
