"""Commits in the name of the human: who they are to git, and commits of a tree without a working tree."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.runner.process import git, git_settings
from tui_tasks.runner.process.git import GitFailed


class Identity(NamedTuple):
    """Who commits: the human's name and address."""

    name: str
    email: str


def identity(root: Path, home: Path | None = None) -> Identity:
    """Return the human's name and address in git's settings: the human's own, as agents share the repository's.

    Raises:
        Conflict: there are none.
    """
    sources = [("--includes", "--file", str(file)) for file in reversed(git_settings.own_files(home))]
    found = {}
    for key in ("user.name", "user.email"):
        for source in (*sources, ("--local",)):
            with contextlib.suppress(GitFailed):
                if text := git.run(root, "config", *source, "--get", key, statuses=(0, 1)).text:
                    found[key] = text
                    break
    if len(found) < 2:
        raise Conflict('git does not know who you are: `git config --global user.name "…"`, and user.email')
    return Identity(found["user.name"], found["user.email"])


def commit_tree(
    root: Path, tree: str, parents: list[str], message: str, who: Identity, more: Mapping[str, str] | None = None
) -> str:
    """Make a commit of a tree in the name of the human; `more` are variables of git. Return the commit.

    Raises:
        GitFailed: git failed.
    """
    variables = {
        "GIT_AUTHOR_NAME": who.name,
        "GIT_AUTHOR_EMAIL": who.email,
        "GIT_COMMITTER_NAME": who.name,
        "GIT_COMMITTER_EMAIL": who.email,
    } | dict(more or {})
    words = ("commit-tree", tree, *(word for parent in parents for word in ("-p", parent)), "-F", "-")
    return git.run(root, *words, given=message.encode(errors="replace"), variables=variables).text
