"""Git worktrees: listed, made, opened for an operation, and dropped; and what their commits have in common.

Each function can be called again after a crash: what is done already is left as it is. Nothing that the repository
names runs, and refs are named in full, as whoever works in a worktree can change settings and refs of them all.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import NoWorkTree, WorkTree
from tui_tasks.text.safe import path_text

REFS: Final = "refs/tui-tasks"
"""Below this are the commits of what was put away."""
_HIDES: Final = re.compile(rb"[Sa-z]")
"""How `ls-files -v` marks files of which git shows no changes: S for `skip-worktree`, small for `assume-unchanged`."""
MIN_GIT: Final = (2, 38)
"""The version of git that merges without a working tree."""


class KnownWorktree(NamedTuple):
    """A worktree that a repository knows.

    Attributes:
        path: its folder.
        branch: the branch that is checked out; None: none.
        head: its commit; None: none yet.
    """

    path: Path
    branch: str | None
    head: str | None


def entries(root: Path) -> list[KnownWorktree]:
    """Return the worktrees of a repository, the main one first.

    Raises:
        GitFailed: git failed.
    """
    worktrees = []
    words = ("worktree", "list", "--porcelain", "-z")
    try:
        listed = git.run(root, *words)
    except GitFailed:
        _mend(root)
        listed = git.run(root, *words)
    for block in listed.printed.split(b"\0\0"):
        lines = dict(line.partition(b" ")[::2] for line in block.split(b"\0") if line)
        if (path := lines.get(b"worktree")) is not None:
            branch = os.fsdecode(lines[b"branch"]).removeprefix("refs/heads/") if b"branch" in lines else None
            head = lines[b"HEAD"].decode() if b"HEAD" in lines else None
            worktrees.append(KnownWorktree(Path(os.fsdecode(path)), branch, head))
    return worktrees


def _mend(root: Path) -> None:
    """Complete the file of a worktree whose making was cut off: git would list no worktree because of it."""
    common = Path(git.run(root, "rev-parse", "--path-format=absolute", "--git-common-dir").text)
    for file in common.glob("worktrees/*/commondir"):
        if file.stat().st_size == 0:
            file.write_text("../..\n")


def checked_out_at(root: Path, branch: str) -> Path | None:
    """Return the worktree in which a branch is checked out; None if there is none.

    Raises:
        GitFailed: git failed.
    """
    return next((one.path for one in entries(root) if one.branch == branch and one.path.is_dir()), None)


def commit_of(folder: Path, ref: str) -> str | None:
    """Return the commit of a ref that is named in full, or of HEAD; None if there is none.

    Raises:
        GitFailed: git failed.
    """
    done = git.run(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", statuses=(0, 1, 128)
    )
    return done.text or None if done.status == 0 else None


def is_ancestor(folder: Path, commit: str, descendant: str) -> bool:
    """Return whether a commit is among those of another one.

    Raises:
        GitFailed: git failed.
    """
    return not git.run(folder, "rev-list", "--max-count=1", commit, f"^{descendant}", "--").text


class Ends(NamedTuple):
    """A commit against a base.

    Attributes:
        base: the commit of the base.
        merge_bases: the commits from which both come; none: they have nothing in common.
        has_stash: whether something is stashed in the repository.
    """

    base: str
    merge_bases: tuple[str, ...]
    has_stash: bool

    @property
    def merge_base(self) -> str | None:
        """The first commit from which both come; None: they have nothing in common."""
        return self.merge_bases[0] if self.merge_bases else None


def ends(folder: Path, base: str, head: str) -> Ends | None:
    """Return what a commit has in common with a base, which is a commit or a branch named in full; None: there is no
    such base.

    Raises:
        GitFailed: git failed.
    """
    # The first that does not exist ends the list, and what stands for it is no id.
    words = ("rev-parse", f"{base}...{head}", "refs/stash^{commit}")
    ids = git.run(folder, *words, statuses=(0, 128)).text.split("\n")
    if not _ID.fullmatch(ids[0]):
        return None
    bases = tuple(one[1:] for one in ids if one.startswith("^"))
    return Ends(ids[1], bases, bool(_ID.fullmatch(ids[-1])))


_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@contextlib.contextmanager
def opened(root: Path, folder: Path, filters: Collection[str] = ()) -> Iterator[WorkTree]:
    """Yield a worktree of a repository, for one operation.

    Raises:
        Conflict: it is no longer one of its worktrees, as where an agent has replaced its `.git`.
        GitFailed: git failed.
    """
    with contextlib.ExitStack() as stack:
        try:
            work_tree = stack.enter_context(git_isolation.opened(folder, filters))
            is_there = _is_common(root, work_tree.common) and _is_own(root, work_tree)
        except NoWorkTree:
            is_there = False
        if not is_there:
            raise Conflict(
                f"{folder} is no longer a worktree of {root}: take what you need from it, then move it away",
                path=str(folder),
            )
        yield work_tree


def put_on(work_tree: WorkTree, branch: str | None, commit: str) -> None:
    """Put a worktree and its own branch, or its HEAD where it is on none, on another commit; changes that are not
    committed stay. No other branch moves, wherever an agent has led HEAD or the branch.

    Raises:
        Conflict: HEAD is on another branch.
        GitFailed: git failed, as where a file with changes is in the way.
    """
    if work_tree.head is None or work_tree.branch != branch:
        raise Conflict(f"{work_tree.folder} is not on {branch or 'a commit without a branch'}")
    work_tree.run("read-tree", "-m", "-u", work_tree.head, commit)
    ref = f"refs/heads/{branch}" if branch else "HEAD"
    git.run(work_tree.folder, "update-ref", "--no-deref", ref, commit, work_tree.head)


def _is_common(root: Path, common: Path) -> bool:
    """Return whether a folder is the one that all worktrees of a repository share."""
    if os.path.realpath(root / ".git") == os.path.realpath(common):
        return True
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    found = git.run(root, *words, statuses=(0, 128)).text
    return bool(found) and os.path.realpath(found) == os.path.realpath(common)


def _is_own(root: Path, work_tree: WorkTree) -> bool:
    """Return whether a work tree is a linked one, or the main one by more than a `.git` that leads there."""
    directory, folder = os.path.realpath(work_tree.directory), work_tree.folder
    if directory != os.path.realpath(work_tree.common) or os.path.realpath(folder) == os.path.realpath(root):
        return True
    return not (folder / ".git").is_symlink() and os.path.realpath(folder / ".git") == directory


# A longer command is refused by the system.
_MAX_TAKEN: Final = 1000


def refuse_untracked(work_tree: WorkTree, now: str, then: str) -> None:
    """Refuse a move of a checkout to another commit that brings files which stand there without being in git.

    Raises:
        Conflict: there are some.
        GitFailed: git failed.
    """
    folder = work_tree.folder
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", now, then)
    brought = [os.fsdecode(path) for path in git.run(folder, *words).printed.split(b"\0") if path]
    taken = list(dict.fromkeys(there for path in brought if (there := _in_the_way(folder, path)) is not None))
    if not taken:
        return
    # Files within a folder in the way are listed one by one, and tracked files are not.
    others = work_tree.run("ls-files", "-z", "--others", "--", *taken[:_MAX_TAKEN]).printed
    if paths := [path_text(os.fsdecode(path)) for path in others.split(b"\0") if path]:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise Conflict(
            f"move {paths[0]}{more} out of {folder} first: it is not in git, and the merge would overwrite it",
            files=paths[:50],
        )


def refuse_hidden(work_tree: WorkTree, now: str, then: str) -> None:
    """Refuse a move of a checkout to another commit that git refuses for files whose changes it hides from `status`:
    they are marked with `update-index --skip-worktree` or `--assume-unchanged`.

    Raises:
        Conflict: there are some.
        GitFailed: git failed.
    """
    folder = work_tree.folder
    differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", now, then)
    moved = {path for path in git.run(folder, *differ).printed.split(b"\0") if path}
    lines = [line.partition(b" ") for line in work_tree.run("ls-files", "-v", "-z").printed.split(b"\0")]
    hidden = [(mark, os.fsdecode(path)) for mark, _, path in lines if path in moved and _HIDES.match(mark)]
    there = [(mark, path_text(path)) for mark, path in hidden if os.path.lexists(folder / path)]
    if there:
        mark, path = there[0]
        option = "--no-skip-worktree" if mark in b"Ss" else "--no-assume-unchanged"
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise Conflict(
            f"git hides your changes of {path}{more} in {folder}, which this would overwrite: "
            f"`git update-index {option} {shlex.quote(path)}` there shows them, then commit them",
            files=[path for _, path in there[:50]],
        )


def _in_the_way(folder: Path, path: str) -> str | None:
    """Return the path of what stands where a file is to be written; None: nothing."""
    parts = path.split("/")
    for at in range(1, len(parts)):
        parent = folder.joinpath(*parts[:at])
        if not os.path.lexists(parent):
            return None
        if parent.is_symlink() or not parent.is_dir():
            return "/".join(parts[:at])
    return path if os.path.lexists(folder / path) else None


def add(root: Path, path: Path, commit: str, *, branch: str | None = None, filters: Collection[str] = ()) -> None:
    """Add a worktree at a commit, on a new branch or on none. Uncommitted changes of the checkout stay there.

    Files are written in a second step, by the settings that hold in the new worktree: `includeIf` can name filters
    there that the checkout's settings do not have.

    Raises:
        Conflict: as `write_files`.
        GitFailed: git failed; a worktree may be there without its files.
    """
    new = ("-b", branch, "--no-track") if branch is not None else ("--detach",)
    git.run(root, "worktree", "add", "--quiet", *new, "--", str(path), commit)
    write_files(root, path, filters)


def write_files(root: Path, path: Path, filters: Collection[str] = ()) -> None:
    """Write the files of a new worktree.

    Raises:
        Conflict: it is none.
        GitFailed: git failed, or it would write the files of another worktree.
    """
    with opened(root, path, filters) as work_tree:
        work_tree.run("reset", "--quiet", "--hard")


def drop(root: Path, path: Path, known: list[KnownWorktree] | None = None) -> None:
    """Remove a worktree with all its files, whether it is whole, half made or gone.

    `known` are the worktrees of its repository, as `entries` has them.

    Raises:
        GitFailed: git failed.
    """
    known = known if known is not None else entries(root)
    if os.path.realpath(path) in {os.path.realpath(one.path) for one in known[1:]}:
        done = git.run(root, "worktree", "remove", "--force", "--force", "--", str(path), statuses=(0, 128, 255))
        if done.status and os.path.lexists(path):
            # Its .git file is not there yet, or no longer.
            shutil.rmtree(path)
            git.run(root, "worktree", "remove", "--force", "--force", "--", str(path))
    elif os.path.lexists(path):
        shutil.rmtree(path)


def materialise(root: Path, commit: str, path: Path, *, filters: Collection[str] = ()) -> None:
    """Put a commit into a worktree of its own, on no branch, in which checks can run; `drop` removes it.

    Raises:
        Conflict: the path is taken.
        GitFailed: git failed.
    """
    known = entries(root)
    if os.path.realpath(path) in {os.path.realpath(one.path) for one in known} or (path / ".git").is_file():
        drop(root, path, known)
    if os.path.lexists(path):
        raise Conflict(f"{path} exists already: remove it", path=str(path))
    add(root, path, commit, filters=filters)


def check_git() -> None:
    """Refuse a git that cannot merge without a working tree.

    Raises:
        Conflict: git is missing or too old.
    """
    try:
        version = git.version()
    except GitFailed as error:
        raise Conflict(f"{error}: install git {MIN_GIT[0]}.{MIN_GIT[1]} or newer") from None
    if version < MIN_GIT:
        raise Conflict(f"git {version[0]}.{version[1]} is too old: install git {MIN_GIT[0]}.{MIN_GIT[1]} or newer")
