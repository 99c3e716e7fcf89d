"""Worktrees for agents: their repository is found, and refused where no worktree can be made of it; they are planned
from the settings, made by git, and taken away again where a start fails.

Nothing that the repository names runs: no hook, and no filter that the human has not allowed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks import regular_files
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound, Refusal
from tui_tasks.runner import git, git_isolation
from tui_tasks.runner.checks.input_files import LEFTOVERS
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import NoWorkTree, WorkTree
from tui_tasks.settings import work_settings
from tui_tasks.settings.work_settings import WorkSettings
from tui_tasks.text.output_lines import telling_line
from tui_tasks.work.git import merging, worktrees

SETUP_SECONDS: Final = 600.0
_NAMES: Final = 20  # of a branch, of which the first that is free is taken
_FULL_BYTES: Final = 1024 * 1024  # with less, git says no more than that it cannot write a file
_LAST_WORDS: Final = 300
# The end of what a setup command prints that is searched for an error, in lines.
_SEARCHED_LINES: Final = 40


class Place(NamedTuple):
    """Where an agent is to work.

    Attributes:
        path: the folder.
        branch: the branch; None if the checkout's HEAD is detached.
        base: the branch into which the work is to be merged.
        base_commit: the commit on which it begins.
        is_new: whether the worktree and the branch are to be made.
    """

    path: Path
    branch: str | None
    base: str | None
    base_commit: str
    is_new: bool


def plan(
    repository: Repository,
    settings: WorkSettings,
    number: int,
    name: str,
    data: Path,
    *,
    base: str = "",
    branch: str = "",
    nth: int = 1,
) -> Place:
    """Return the new worktree of a task. Nothing is made.

    A branch that exists is passed over, unless its name was given: `task/1-keys`, then `task/1-keys-2`.

    Args:
        repository: the checkout.
        settings: the human's settings.
        number: the number of the task.
        name: the name of the task.
        data: the folder of the database.
        base: the branch on which it begins; empty: that of the settings, else the checkout's.
        branch: the name of the new branch; empty: that of the settings.
        nth: appended to path and branch from 2 on, for a second agent on the task.

    Raises:
        Conflict: HEAD is detached and no base is named, or the branch or the path exists.
        NotFound: there is no such base.
    """
    base = base or settings.base or repository.branch or ""
    if not base:
        raise Conflict(f"{repository.root} is on no branch: switch to one, or name a base (--base, or base:BRANCH)")
    values = {"data": data, "repo": _plain(repository.root.name), "number": number}
    slug, given = work_settings.slug(name), branch
    for at in range(nth, nth + _NAMES):
        values["slug"] = f"{slug}-{at}" if at > 1 else slug
        branch = given or work_settings.expand(settings.branch, **values)
        if given or not _has_branch(repository, branch):
            break
    path = Path(work_settings.expand(settings.worktree, **values)).expanduser()
    if not path.is_absolute():
        path = repository.root / path
    commit = commit_of(repository, base)
    check_branch(repository, branch)
    check_path(path)
    return Place(Path(os.path.normpath(path)), branch, base, commit, is_new=True)


def checkout(repository: Repository, base: str = "") -> Place:
    """Return the checkout itself as the place of work."""
    base = base or repository.branch or ""
    return Place(repository.root, repository.branch, base or None, repository.commit, is_new=False)


def _plain(name: str) -> str:
    """Return the name of a folder as a part of a path and of a branch."""
    return (
        "".join(char if char.isascii() and (char.isalnum() or char in "._") else "-" for char in name).strip(".-")
        or "repo"
    )


def make(repository: Repository, place: Place, settings: WorkSettings, show: Callable[[str], None]) -> None:
    """Make the worktree, copy files into it, and run the setup command. What fails leaves nothing.

    `show` is given each line that the setup command prints.

    Raises:
        Conflict: it cannot be made; the message says why.
    """
    parent = place.path.parent
    is_new = not parent.exists()
    make_folder(str(parent))
    try:
        worktrees.add(repository.root, place.path, place.base_commit, branch=place.branch, filters=settings.filters)
        furnish(repository.root, place.path, settings, show)
    except (GitFailed, OSError, Conflict) as error:
        message = error.message if isinstance(error, Conflict) else str(error)
        if shutil.disk_usage(parent).free < _FULL_BYTES:
            message = f"the disk of {parent} is full: make room, or set [work] worktree to a path elsewhere"
        remove(repository.root, place)
        if is_new:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise Conflict(f"no worktree was made: {message}", path=str(place.path)) from error


def furnish(root: Path, path: Path, settings: WorkSettings, show: Callable[[str], None]) -> None:
    """Copy files of a checkout into a new worktree, and run the setup command there.

    Raises:
        Conflict: the setup failed, or a file leads out of the worktree.
        OSError: a file cannot be copied.
    """
    _copy(root, path, settings)
    if settings.setup:
        _set_up(path, settings, show)


def remove(root: Path, place: Place) -> None:
    """Remove a worktree that a start has made, and its branch if nothing was committed on it."""
    with contextlib.suppress(GitFailed, OSError):
        worktrees.drop(root, place.path)
    with contextlib.suppress(GitFailed):
        git.run(root, "worktree", "remove", "--", str(place.path))
    with contextlib.suppress(OSError):
        shutil.rmtree(place.path)
    with contextlib.suppress(GitFailed):
        git.run(root, "worktree", "prune")
    with contextlib.suppress(GitFailed):
        # With the old value: a branch with commits of its own stays.
        git.run(root, "update-ref", "-d", f"refs/heads/{place.branch}", place.base_commit)


def _copy(root: Path, path: Path, settings: WorkSettings) -> None:
    """Copy the files and folders that are there; links are copied as links."""
    for name in settings.copy:
        source, target = root / name, path / name
        if not os.path.lexists(source) or os.path.lexists(target):
            continue
        if not target.parent.resolve().is_relative_to(path.resolve()):
            raise Conflict(f"[work] copy: {name} leads out of the worktree")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def _set_up(path: Path, settings: WorkSettings, show: Callable[[str], None]) -> None:
    """Run the setup command of the human's settings in the worktree.

    Raises:
        Conflict: it failed.
    """
    words = settings.setup
    last: deque[str] = deque(maxlen=_SEARCHED_LINES)
    try:
        process = subprocess.Popen(
            words,
            cwd=path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise Conflict(f"[work] setup: {words[0]}: {error.strerror}") from error
    import threading

    timer = threading.Timer(SETUP_SECONDS, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line)
            show(line.rstrip("\n"))
        status = process.wait()
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if status:
        why = telling_line("".join(last))[:_LAST_WORDS]
        command = f"`{shlex.join(words)}` in {path}"
        raise Conflict(f"[work] setup: {words[0]} ended with status {status}: {why} ({command})")


_MAX_ATTRIBUTES: Final = 1024 * 1024


class Repository(NamedTuple):
    """A checkout.

    Attributes:
        root: its top folder.
        branch: the branch that is checked out; None: HEAD is detached.
        commit: the commit that is checked out.
        why_no_identity: why the human cannot commit there; empty: git knows who it is.
        has_changes: whether it has changes that are not committed, which a new worktree lacks.
        has_submodules: whether it has submodules, which a new worktree has empty.
        has_lfs: whether files are in Git LFS, which a new worktree has as pointers unless its filter is allowed.
    """

    root: Path
    branch: str | None
    commit: str
    why_no_identity: str
    has_changes: bool
    has_submodules: bool
    has_lfs: bool


def find_repository(folder: Path) -> Repository:
    """Return the repository of a folder.

    Raises:
        Conflict: it cannot be used; the message says why, and what to do.
        NotFound: there is none.
    """
    worktrees.check_git()
    try:
        with git_isolation.opened(folder, is_top=False) as work_tree:
            root, commit = work_tree.top, work_tree.head
            if commit is None:
                raise Conflict(f"{root} has no commit yet: make a first commit", path=str(root))
            return Repository(
                root,
                work_tree.branch,
                commit,
                _why_no_identity(work_tree),
                _has_changes(work_tree),
                (root / ".gitmodules").is_file(),
                _has_lfs(root / ".gitattributes"),
            )
    except GitFailed as error:
        raise _no_checkout(folder, error) from None


def _no_checkout(folder: Path, error: GitFailed) -> Refusal:
    """Return why a folder is in no checkout, and what to do."""
    try:
        is_bare = git.read(folder, "rev-parse", "--is-bare-repository").strip() == "true"
    except GitFailed:
        return NotFound("git repository", f"in {folder}: run `git init` there, or start from a checkout")
    if is_bare:
        return Conflict(f"{folder} is a bare repository: start from a checkout of it", path=str(folder))
    if isinstance(error, NoWorkTree):
        return Conflict(f"{folder} is inside a .git folder: start from the checkout", path=str(folder))
    return Conflict(str(error), path=str(folder))


def _why_no_identity(work_tree: WorkTree) -> str:
    try:
        merging.identity(work_tree.settings)
    except Conflict as unknown:
        return unknown.message
    return ""


def _has_changes(work_tree: WorkTree) -> bool:
    """Return whether a checkout has changes; caches that tools left are none, though git does not ignore them."""
    try:
        printed = work_tree.read("status", "--porcelain", "-z", timeout=30, max_bytes=1024 * 1024)
    except GitFailed:
        return True
    return not all(map(_is_leftover, os.fsdecode(printed).split("\0")[:-1]))


def _is_leftover(entry: str) -> bool:
    """Return whether an entry of `git status` is an untracked cache of a tool."""
    return entry.startswith("?? ") and any(map(LEFTOVERS.fullmatch, entry[3:].split("/")))


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
    if base == repository.branch:
        return repository.commit
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
    if _has_branch(repository, branch):
        raise Conflict(f"branch {branch} exists already: name another one (--branch), or rename it", branch=branch)


def _has_branch(repository: Repository, branch: str) -> bool:
    try:
        git.read(repository.root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    except GitFailed:
        return False
    return True


def check_path(path: Path) -> None:
    """Refuse a path for a worktree that is taken.

    Raises:
        Conflict: something is there.
    """
    if os.path.lexists(path):
        raise Conflict(f"{path} exists already: remove it, or set [work] worktree to another path", path=str(path))
