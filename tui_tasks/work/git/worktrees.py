"""Git worktrees: made, read as a tree, removed without loss, and restored.

Each function can be called again after a crash: what is done already is left as it is. Nothing that the repository
names runs, and refs are named in full, as whoever works in a worktree can change settings and refs of them all.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_isolation, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_isolation import NoWorkTree, WorkTree
from tui_tasks.runner.git_trees import TreeIndex

REFS: Final = "refs/tui-tasks"
"""Below this are the commits of what was put away."""
NOBODY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "tui-tasks"), ("EMAIL", "tui-tasks@localhost"))
}
MIN_GIT: Final = (2, 38)
"""The version of git that merges without a working tree."""


class Kept(msgspec.Struct, frozen=True):
    """What was put away of a worktree, and what brings it back.

    Attributes:
        path: the folder of the worktree.
        ref: the commit of all files that git does not ignore; its first parent is `head`.
        head: the commit of the worktree's HEAD.
        branch: the branch of the worktree's HEAD; None: detached.
        tree: the tree of its files.
        trash: the folder of the ignored files.
        removed_branch: the branch that was removed with it.
        branch_commit: the commit of that branch.
    """

    path: str
    ref: str
    head: str
    branch: str | None
    tree: str
    trash: str
    removed_branch: str | None = None
    branch_commit: str | None = None


class Entry(NamedTuple):
    """A worktree that a repository knows.

    Attributes:
        path: its folder.
        branch: the branch that is checked out; None: none.
        head: its commit; None: none yet.
    """

    path: Path
    branch: str | None
    head: str | None


def entries(root: Path) -> list[Entry]:
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
            worktrees.append(Entry(Path(os.fsdecode(path)), branch, head))
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


class Ends(NamedTuple):
    """A commit against a base.

    Attributes:
        base: the commit of the base.
        merge_base: the commit from which both come; None: they have nothing in common.
        has_stash: whether something is stashed in the repository.
    """

    base: str
    merge_base: str | None
    has_stash: bool


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
    bases = [one[1:] for one in ids if one.startswith("^")]
    return Ends(ids[1], bases[0] if bases else None, bool(_ID.fullmatch(ids[-1])))


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
            is_there = _is_common(root, work_tree.common)
        except NoWorkTree:
            is_there = False
        if not is_there:
            raise Conflict(
                f"{folder} is no longer a worktree of {root}: take what you need from it, then move it away",
                path=str(folder),
            )
        yield work_tree


def _is_common(root: Path, common: Path) -> bool:
    """Return whether a folder is the one that all worktrees of a repository share."""
    if os.path.realpath(root / ".git") == os.path.realpath(common):
        return True
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    found = git.run(root, *words, statuses=(0, 128)).text
    return bool(found) and os.path.realpath(found) == os.path.realpath(common)


def add(root: Path, path: Path, commit: str, *, branch: str | None = None, filters: Collection[str] = ()) -> None:
    """Add a worktree at a commit, on a new branch or on none. Uncommitted changes of the checkout stay there.

    Files are written in a second step, by the settings that hold in the new worktree: `includeIf` can name filters
    there that the checkout's settings do not have.

    Raises:
        GitFailed: git failed; a worktree may be there without its files.
    """
    new = ("-b", branch, "--no-track") if branch is not None else ("--detach",)
    git.run(root, "worktree", "add", "--quiet", *new, "--", str(path), commit)
    write_files(path, filters)


def write_files(path: Path, filters: Collection[str] = ()) -> None:
    """Write the files of a new worktree.

    Raises:
        GitFailed: git failed.
    """
    with git_isolation.opened(path, filters) as work_tree:
        work_tree.run("reset", "--quiet", "--hard")


def drop(root: Path, path: Path, known: list[Entry] | None = None) -> None:
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


def put_away(files: TreeIndex, uid: str, trash: Path, *, remove_branch: str | None = None) -> Kept:
    """Put all files of a worktree away that its removal would delete: into a commit, and ignored ones into a folder.

    Args:
        files: those of the worktree.
        uid: names the commit's ref.
        trash: the folder for ignored files and for repositories within the worktree.
        remove_branch: the branch that is to be removed with the worktree.

    Raises:
        Conflict: it has submodules with commits of their own, or no commit.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    work_tree = files.work_tree
    folder, head, branch = work_tree.folder, work_tree.head, work_tree.branch
    modules = work_tree.directory / "modules"
    if modules.is_dir() and any(modules.iterdir()):
        raise Conflict(f"{folder} has submodules with commits of their own: push these, then remove it by git")
    if head is None:
        raise Conflict(f"{folder} has no commit")
    parents = ["-p", head]
    if (staged := _staged(work_tree)) is not None and staged not in (files.tree, work_tree.head_tree):
        parents += ["-p", _commit(folder, staged, ["-p", head], "What was staged")]
    removed = None
    if remove_branch is not None:
        removed = head if remove_branch == branch else commit_of(folder, f"refs/heads/{remove_branch}")
    if removed is not None and removed != head:
        parents += ["-p", removed]
    commit = _commit(folder, files.tree, parents, f"The files of {folder.name} when it was removed")
    ref = f"{REFS}/kept/{uid}"
    git.run(folder, "update-ref", "--no-deref", ref, commit)
    _move_left_out(files, trash)
    return Kept(str(folder), ref, head, branch, files.tree, str(trash), remove_branch if removed else None, removed)


def remove(root: Path, kept: Kept, files: TreeIndex | None = None) -> None:
    """Remove a worktree that was put away, and its branch if that has not moved since.

    `files`: those that were put away; None: the worktree is gone already.

    Raises:
        Conflict: files have changed since: put it away again.
        GitFailed: git failed.
    """
    folder, known = Path(kept.path), entries(root)
    if files is not None and (_is_at(known, folder) != kept.head or files.has_changed()):
        raise Conflict(f"{folder} changed during the clean-up: end the programs in it, then clean up again")
    drop(root, folder, known)
    branch = kept.removed_branch
    if branch is None or kept.branch_commit is None:
        return
    elsewhere = (one for one in known if os.path.realpath(one.path) != os.path.realpath(folder))
    if not any(one.branch == branch and one.path.is_dir() for one in elsewhere):
        # With the old value: a branch that has moved stays.
        words = ("update-ref", "--no-deref", "-d", ref := f"refs/heads/{branch}", kept.branch_commit)
        done = git.run(root, *words, statuses=(0, 1, 128))
        if done.status and commit_of(root, ref) == kept.branch_commit:
            raise GitFailed(git.failure(root, words, done.error))


def _is_at(known: list[Entry], folder: Path) -> str | None:
    """Return the commit at which a worktree is."""
    path = os.path.realpath(folder)
    return next((one.head for one in known if os.path.realpath(one.path) == path), None)


def bring_back(root: Path, kept: Kept, *, filters: Collection[str] = ()) -> None:
    """Make a worktree again as it was put away: its branch, its files, uncommitted as they were, and ignored ones.

    Raises:
        Conflict: something else is at its path, or its branch is checked out elsewhere.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    folder, known = Path(kept.path), entries(root)
    paths = {os.path.realpath(one.path) for one in known}
    if os.path.lexists(folder) and os.path.realpath(folder) not in paths:
        raise Conflict(f"{folder} exists already: move it away, then bring the work back", path=kept.path)
    if kept.removed_branch is not None and kept.branch_commit is not None:
        ref = f"refs/heads/{kept.removed_branch}"
        # As a branch that is not there: one that is stays as it is.
        words = ("update-ref", "--no-deref", ref, kept.branch_commit, "0" * len(kept.branch_commit))
        done = git.run(root, *words, statuses=(0, 1, 128))
        if done.status and commit_of(root, ref) is None:
            raise GitFailed(git.failure(root, words, done.error))
    if not (folder / ".git").exists():
        _attach(root, folder, kept, known)
    with git_isolation.opened(folder, filters) as work_tree:
        work_tree.run("read-tree", kept.tree)
        work_tree.run("checkout-index", "--all", "--force")
        work_tree.run("read-tree", "HEAD")
        work_tree.run("update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))
    _move_back(Path(kept.trash), folder)


def _attach(root: Path, folder: Path, kept: Kept, known: list[Entry]) -> None:
    drop(root, folder, known)
    where = next((one.path for one in known if one.branch == kept.branch and one.path.is_dir()), None)
    if kept.branch is not None and where is not None:
        raise Conflict(f"branch {kept.branch} is checked out at {where}: switch there, then bring the work back")
    on_branch = kept.branch is not None and commit_of(root, f"refs/heads/{kept.branch}") == kept.head
    at = [kept.branch] if on_branch and kept.branch is not None else ["--detach", kept.head]
    words = ("worktree", "add", "--quiet", *at[:-1], "--", str(folder), at[-1])
    git.run(root, *words)


def _staged(work_tree: WorkTree) -> str | None:
    """Return the tree of the worktree's index; None if it has none, as amid a merge."""
    with git_trees.index() as variables:
        try:
            shutil.copyfile(work_tree.directory / "index", variables["GIT_INDEX_FILE"])
            return work_tree.run("write-tree", variables=variables).text
        except (OSError, GitFailed):
            return None


def _commit(folder: Path, tree: str, parents: list[str], message: str) -> str:
    return git.run(folder, "commit-tree", tree, *parents, "-m", message, variables=NOBODY).text


def _move_left_out(files: TreeIndex, trash: Path) -> None:
    """Move to a folder what no commit can have: ignored files, submodules' files, and repositories within."""
    folder = files.work_tree.folder
    for name in map(os.fsdecode, files.left_out()):
        source, target = folder / name, trash / name
        if not os.path.lexists(source) or (_is_folder(source) and not any(source.iterdir())):
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.path.lexists(target):
            target = target.with_name(f"{target.name}~{os.urandom(4).hex()}")
        shutil.move(source, target)


def _move_back(trash: Path, folder: Path) -> None:
    """Move files back whose places are free; the others stay in the trash."""
    if not trash.is_dir():
        return
    for source in list(trash.iterdir()):
        target = folder / source.name
        if _is_folder(source) and _is_folder(target):
            _move_back(source, target)
        elif not os.path.lexists(target):
            shutil.move(source, target)
    with contextlib.suppress(OSError):
        trash.rmdir()


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


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
