"""A repository with a worktree in which an agent has worked, copied for each test from one that is made once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tui_tasks.work.git_merging import Identity

ME = Identity("Ada", "ada@example.org")


class Place(NamedTuple):
    """The human's checkout on `main`, and an agent's worktree on `task/1`."""

    root: Path
    tree: Path


def git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"} | identity
    done = subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, message: str, **files: str) -> str:
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
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
    root, tree = folder / "repo", folder / "tree"
    shutil.copytree(made.root, root, symlinks=True)
    shutil.copytree(made.tree, tree, symlinks=True)
    (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/tree\n")
    (root / ".git" / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    return Place(root, tree)
