"""Git worktrees: made, read as a tree, removed without loss, and restored.

Each function can be called again after a crash: what is done already is left as it is. Nothing that the repository
names runs, and refs are named in full, as whoever works in a worktree can change settings and refs of them all.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git, git_trees
from tui_tasks.runner.git import GitFailed

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


def branch_of(folder: Path) -> str | None:
    """Return the branch of HEAD; None if HEAD is detached.

    Raises:
        GitFailed: git failed.
    """
    done = git.run(folder, "symbolic-ref", "--quiet", "HEAD", statuses=(0, 1))
    return done.text.removeprefix("refs/heads/") or None


def check_worktree(root: Path, folder: Path) -> None:
    """Refuse a folder that is no longer a worktree of a repository, as where an agent has replaced its `.git`.

    Raises:
        Conflict: it is none.
        GitFailed: git failed.
    """
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    common, wanted = (git.run(place, *words, statuses=(0, 128)).text for place in (folder, root))
    if not common or os.path.realpath(common) != os.path.realpath(wanted):
        raise Conflict(
            f"{folder} is no longer a worktree of {root}: take what you need from it, then move it away",
            path=str(folder),
        )


def add(root: Path, path: Path, commit: str, *, branch: str | None = None, filters: Collection[str] = ()) -> None:
    """Add a worktree at a commit, on a new branch or on none. Uncommitted changes of the checkout stay there.

    Files are written in a second step, by the settings that hold in the new worktree: `includeIf` can name filters
    there that the checkout's settings do not have.

    Raises:
        GitFailed: git failed; a worktree may be there without its files.
    """
    new = ("-b", branch, "--no-track") if branch is not None else ("--detach",)
    git.run(root, "worktree", "add", "--quiet", *new, "--", str(path), commit)
    git.run(path, "reset", "--quiet", "--hard", allowed_filters=filters)


def drop(root: Path, path: Path) -> None:
    """Remove a worktree with all its files, whether it is whole, half made or gone.

    Raises:
        GitFailed: git failed.
    """
    known = {os.path.realpath(one.path) for one in entries(root)[1:]}
    if os.path.realpath(path) in known:
        done = git.run(root, "worktree", "remove", "--force", "--force", "--", str(path), statuses=(0, 128, 255))
        if done.status and os.path.lexists(path):
            # Its .git file is not there yet, or no longer.
            shutil.rmtree(path)
            git.run(root, "worktree", "remove", "--force", "--force", "--", str(path))
    elif os.path.lexists(path):
        shutil.rmtree(path)


def put_away(folder: Path, uid: str, trash: Path, *, remove_branch: str | None = None) -> Kept:
    """Put all files of a worktree away that its removal would delete: into a commit, and ignored ones into a folder.

    Args:
        folder: the worktree.
        uid: names the commit's ref.
        trash: the folder for ignored files and for repositories within the worktree.
        remove_branch: the branch that is to be removed with the worktree.

    Raises:
        Conflict: it has submodules with commits of their own, or no commit.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    git_trees.check_folder(folder)
    modules = Path(git.run(folder, "rev-parse", "--absolute-git-dir").text) / "modules"
    if modules.is_dir() and any(modules.iterdir()):
        raise Conflict(f"{folder} has submodules with commits of their own: push these, then remove it by git")
    head = commit_of(folder, "HEAD")
    if head is None:
        raise Conflict(f"{folder} has no commit")
    tree = git_trees.tree_of(folder)
    parents = ["-p", head]
    if (staged := _staged(folder)) is not None and staged not in (
        tree,
        git.run(folder, "rev-parse", f"{head}^{{tree}}").text,
    ):
        parents += ["-p", _commit(folder, staged, ["-p", head], "What was staged")]
    branch = commit_of(folder, f"refs/heads/{remove_branch}") if remove_branch is not None else None
    if branch is not None and branch != head:
        parents += ["-p", branch]
    commit = _commit(folder, tree, parents, f"The files of {folder.name} when it was removed")
    ref = f"{REFS}/kept/{uid}"
    git.run(folder, "update-ref", "--no-deref", ref, commit)
    _move_uncommitted(folder, trash)
    return Kept(str(folder), ref, head, branch_of(folder), tree, str(trash), remove_branch if branch else None, branch)


def remove(root: Path, kept: Kept) -> None:
    """Remove a worktree that was put away, and its branch if that has not moved since.

    Raises:
        Conflict: files have changed since: put it away again.
        GitFailed: git failed.
    """
    folder = Path(kept.path)
    if (folder / ".git").exists() and (
        commit_of(folder, "HEAD") != kept.head or git_trees.tree_of(folder) != kept.tree
    ):
        raise Conflict(f"{folder} changed during the clean-up: end the programs in it, then clean up again")
    drop(root, folder)
    if kept.removed_branch is not None and kept.branch_commit is not None:
        ref = f"refs/heads/{kept.removed_branch}"
        if commit_of(root, ref) == kept.branch_commit and checked_out_at(root, kept.removed_branch) is None:
            git.run(root, "update-ref", "--no-deref", "-d", ref, kept.branch_commit)


def bring_back(root: Path, kept: Kept, *, filters: Collection[str] = ()) -> None:
    """Make a worktree again as it was put away: its branch, its files, uncommitted as they were, and ignored ones.

    Raises:
        Conflict: something else is at its path, or its branch is checked out elsewhere.
        GitFailed: git failed.
        OSError: a file cannot be moved.
    """
    folder = Path(kept.path)
    known = {os.path.realpath(one.path) for one in entries(root)}
    if os.path.lexists(folder) and os.path.realpath(folder) not in known:
        raise Conflict(f"{folder} exists already: move it away, then bring the work back", path=kept.path)
    if kept.removed_branch is not None and kept.branch_commit is not None:
        ref = f"refs/heads/{kept.removed_branch}"
        if commit_of(root, ref) is None:
            git.run(root, "update-ref", "--no-deref", ref, kept.branch_commit, "0" * len(kept.branch_commit))
    if not (folder / ".git").exists():
        _attach(root, folder, kept)
    git.run(folder, "read-tree", kept.tree)
    git.run(folder, "checkout-index", "--all", "--force", allowed_filters=filters)
    git.run(folder, "read-tree", "HEAD")
    git.run(folder, "update-index", "-q", "--refresh", "--ignore-submodules", statuses=(0, 1))
    _move_back(Path(kept.trash), folder)


def _attach(root: Path, folder: Path, kept: Kept) -> None:
    drop(root, folder)
    where = checked_out_at(root, kept.branch) if kept.branch is not None else None
    if where is not None:
        raise Conflict(f"branch {kept.branch} is checked out at {where}: switch there, then bring the work back")
    on_branch = kept.branch is not None and commit_of(root, f"refs/heads/{kept.branch}") == kept.head
    at = [kept.branch] if on_branch and kept.branch is not None else ["--detach", kept.head]
    words = ("worktree", "add", "--quiet", *at[:-1], "--", str(folder), at[-1])
    git.run(root, *words)


def _staged(folder: Path) -> str | None:
    """Return the tree of the worktree's index; None if it has none, as amid a merge."""
    index = Path(git.run(folder, "rev-parse", "--path-format=absolute", "--git-path", "index").text)
    with git_trees.index(folder) as variables:
        try:
            shutil.copyfile(index, variables["GIT_INDEX_FILE"])
            return git.run(folder, "write-tree", variables=variables).text
        except (OSError, GitFailed):
            return None


def _commit(folder: Path, tree: str, parents: list[str], message: str) -> str:
    return git.run(folder, "commit-tree", tree, *parents, "-m", message, variables=NOBODY).text


def _move_uncommitted(folder: Path, trash: Path) -> None:
    """Move to a folder what no commit can have: ignored files, submodules' files, and repositories within."""
    with git_trees.index(folder) as variables:
        git.run(folder, "read-tree", "HEAD", variables=variables)
        names = git_trees.names(folder, variables, "--others", "--ignored", "--exclude-standard", "--directory")
        nested = [
            one for one in git_trees.names(folder, variables, "--others", "--exclude-standard") if one.endswith(b"/")
        ]
        names += [*nested, *git_trees.links(folder, variables)]
    for name in map(os.fsdecode, names):
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
    known = {os.path.realpath(one.path) for one in entries(root)}
    if os.path.realpath(path) in known or (path / ".git").is_file():
        drop(root, path)
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
