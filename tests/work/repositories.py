"""A repository with a worktree in which an agent has worked, copied for each test from one that is made once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.conftest import Clock
from tui_tasks.cli import person_rights
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import ReportWork, RunWork, StartWork
from tui_tasks.core.store import Store
from tui_tasks.runner import git_isolation, git_trees
from tui_tasks.runner.git_trees import TreeIndex
from tui_tasks.work import recovery, work_outcomes
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.git import base_branch, merging, removed_worktrees, reviewing, worktrees
from tui_tasks.work.git.merging import Committer
from tui_tasks.work.git.removed_worktrees import Kept
from tui_tasks.work.git.reviewing import Review

ME = Committer("Ada", "ada@example.org")


class Place(NamedTuple):
    """The human's checkout on `main`, and an agent's worktree on `task/1`."""

    root: Path
    tree: Path


def git(folder: Path, *words: str, date: str = "") -> str:
    identity = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"} | identity
    if date:
        environment |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    done = subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, message: str, date: str = "", **files: str) -> str:
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message, date=date)
    return git(folder, "rev-parse", "HEAD")


def make(folder: Path) -> Place:
    """Make a repository: `main` with three files, and a worktree that is one commit ahead of it."""
    root, tree = folder / "repo", folder / "tree"
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text("*.log\n")
    commit(root, "First", a_txt="".join(f"line {at}\n" for at in range(20)), b_txt="b\n", c_txt="c\n")
    git(root, "worktree", "add", "-q", "-b", "task/1", str(tree))
    commit(tree, "Work on a", a_txt="".join(f"line {at}\n" for at in range(19)) + "changed\n", new_txt="new\n")
    return Place(root, tree)


def copy(made: Place, folder: Path) -> Place:
    """Return a copy of a repository and its worktree, which know of one another."""
    root, tree = folder / made.root.name, folder / made.tree.name
    shutil.copytree(made.root, root, symlinks=True)
    shutil.copytree(made.tree, tree, symlinks=True)
    (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/tree\n")
    (root / ".git" / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    return Place(root, tree)


def reviewed(folder: Path, base: str = "main", branch: str | None = None) -> Review:
    with git_isolation.opened(folder) as work_tree:
        return reviewing.review(work_tree, base, branch)


def check_reviewed(review: Review) -> None:
    with git_isolation.opened(review.folder) as work_tree:
        merging.check_reviewed(work_tree, review)
    merging.check_committed(review)


def put_away(place: Place, uid: str, trash: Path, then: Callable[[Kept, TreeIndex], object] = lambda *_: None) -> Kept:
    """Put a worktree away with its branch; `then` is done while what was put away is known."""
    with git_isolation.opened(place.tree) as work_tree, git_trees.indexed(work_tree) as files:
        kept = removed_worktrees.put_away(files, uid, trash, remove_branch="task/1")
        then(kept, files)
    return kept


def round_of(place: Place, folder: Path) -> None:
    """A worktree made, reviewed, merged, put away and brought back."""
    seen = reviewed(place.tree, "main", "task/1")
    for one in seen.files:
        reviewing.file_diff(place.tree, seen.merge_base, seen.tree, one)
    merge = merging.prepare(place.root, seen, "merge", "Merge it", ME)
    worktrees.materialise(place.root, merge.new, folder / "proof")
    base_branch.carry_out(place.root, merge)
    base_branch.take_back(place.root, merge)
    kept = put_away(place, "u1", folder / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    removed_worktrees.bring_back(place.root, kept)


def accepted(place: Place, folder: Path) -> None:
    """A work that is looked at, reviewed, merged, taken back, discarded, cleaned up and brought back."""
    clock = Clock()
    git(place.root, "config", "user.name", "Ada")
    git(place.root, "config", "user.email", "ada@example.org")
    base = git(place.root, "merge-base", "main", "task/1")
    with Store(str(folder / "tasks.db")) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock())
        (task,) = store.commit(AddTask("Rotate", home.uid), actor="human", now=clock())
        begin = StartWork(
            task.uid, "claude", str(place.root), str(place.tree), branch="task/1", base="main", base_commit=base
        )
        (work,) = store.commit(begin, actor="human", now=clock())
        store.commit(RunWork(work.uid), actor="system", now=clock())
        work_outcomes.look(store, clock())
        store.commit(ReportWork(task.uid), actor=work.agent, now=clock())
        acceptance = Acceptance(store, clock)
        review = acceptance.review(work)
        checks = acceptance.checks(work, review)
        assert person_rights.review_lines(review, checks)
        assert list(person_rights.diff_lines(review))
        message = "The rest" * review.is_dirty
        assert acceptance.accept(work, review, method="merge", commit_message=message).state == "merged"
        acceptance.take_back(work)
        acceptance.discard(work)
        assert recovery.clean_ended(store, (), clock()) == [f"removed {place.tree}"]
        acceptance.take_back(work)
        assert list(recovery.orphans(store)) == []
