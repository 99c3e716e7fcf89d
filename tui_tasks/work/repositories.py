"""The git repository in which an agent is to work: found, and refused where no worktree can be made of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks import regular_files
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound
from tui_tasks.runner.process import git
from tui_tasks.runner.process.git import GitFailed

_MAX_ATTRIBUTES: Final = 1024 * 1024
MIN_GIT: Final = (2, 38)


class Repository(NamedTuple):
    """A checkout.

    Attributes:
        root: its top folder.
        branch: the branch that is checked out; None: HEAD is detached.
        commit: the commit that is checked out.
        has_changes: whether it has changes that are not committed, which a new worktree lacks.
        has_submodules: whether it has submodules, which a new worktree has empty.
        has_lfs: whether files are in Git LFS, which a new worktree has as pointers unless its filter is allowed.
    """

    root: Path
    branch: str | None
    commit: str
    has_changes: bool
    has_submodules: bool
    has_lfs: bool


def find(folder: Path) -> Repository:
    """Return the repository of a folder.

    Raises:
        Conflict: it cannot be used; the message says why, and what to do.
        NotFound: there is none.
    """
    _check_git()
    try:
        is_bare = git.read(folder, "rev-parse", "--is-bare-repository").strip() == "true"
    except GitFailed:
        raise NotFound("git repository", f"in {folder}: run `git init` there, or start from a checkout") from None
    if is_bare:
        raise Conflict(f"{folder} is a bare repository: start from a checkout of it", path=str(folder))
    try:
        root = Path(git.read(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    except GitFailed:
        raise Conflict(f"{folder} is inside a .git folder: start from the checkout", path=str(folder)) from None
    try:
        commit = git.read(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
    except GitFailed:
        raise Conflict(f"{root} has no commit yet: make a first commit", path=str(root)) from None
    try:
        branch = git.read(root, "symbolic-ref", "--quiet", "--short", "HEAD").strip() or None
    except GitFailed:
        branch = None
    return Repository(
        root, branch, commit, _has_changes(root), (root / ".gitmodules").is_file(), _has_lfs(root / ".gitattributes")
    )


def _check_git() -> None:
    try:
        found = git.version()
    except GitFailed as error:
        raise Conflict(f"{error}: install git {MIN_GIT[0]}.{MIN_GIT[1]} or newer") from None
    if found < MIN_GIT:
        raise Conflict(f"git {found[0]}.{found[1]} is too old: install git {MIN_GIT[0]}.{MIN_GIT[1]} or newer")


def _has_changes(root: Path) -> bool:
    try:
        return bool(git.read_work_tree(root, "status", "--porcelain", "-z", timeout=30, max_bytes=1024 * 1024))
    except GitFailed:
        return True


def _has_lfs(attributes: Path) -> bool:
    try:
        return b"filter=lfs" in regular_files.read_regular(attributes, _MAX_ATTRIBUTES)
    except OSError:
        return False


def commit_of(repository: Repository, base: str) -> str:
    """Return the commit of a branch.

    Raises:
        NotFound: there is no such branch.
    """
    try:
        return git.read(repository.root, "rev-parse", "--verify", "--quiet", f"refs/heads/{base}^{{commit}}").strip()
    except GitFailed:
        raise NotFound("branch", f"{base}: `git branch` lists them") from None


def check_branch(repository: Repository, branch: str) -> None:
    """Refuse the name of a new branch that is invalid or exists.

    Raises:
        Conflict: it exists.
        InvalidArgument: git takes no such name.
    """
    try:
        git.read(repository.root, "check-ref-format", "--branch", branch)
    except GitFailed:
        raise InvalidArgument("branch", f"branch: git takes no branch called {branch[:80]!r}") from None
    try:
        git.read(repository.root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    except GitFailed:
        return
    raise Conflict(f"branch {branch} exists already: delete it, or name another with --branch", branch=branch)


def check_path(path: Path) -> None:
    """Refuse a path for a worktree that is taken.

    Raises:
        Conflict: something is there.
    """
    if os.path.lexists(path):
        raise Conflict(f"{path} exists already: remove it, or set [work] worktree to another path", path=str(path))
