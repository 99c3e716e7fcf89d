"""Pull requests of reviewed work, by the program `gh`. Of the repository, only the address of its remote is used.

Agents can change that address, so the human is shown it first, and the push goes to the address that was shown.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.core.errors import Conflict
from tui_tasks.core.unhidden_text import unhidden_line
from tui_tasks.runner import git
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.processes import temporary_folder
from tui_tasks.work.git.reviewing import Review

GH: Final = "gh"
REMOTE: Final = "origin"
_SECONDS: Final = 60.0
# ASCII alone and of limited length: the human is shown the address whole, and no two look the same.
_HOST: Final = r"(?P<host>[\w.-]{1,100})"
_NAME: Final = r"(?P<owner>[\w.-]{1,100})/(?P<name>[\w.-]{1,100}?)(?:\.git)?/?"
_ADDRESSES: Final = (
    re.compile(rf"https://(?:[^@/\s]+@)?{_HOST}/{_NAME}", re.ASCII),
    re.compile(rf"(?:ssh://)?git@{_HOST}(?::22)?[:/]{_NAME}", re.ASCII),
)
_PULL_REQUEST: Final = re.compile(r"https://\S+/pull/\d+")


class Forge(NamedTuple):
    """A repository on a forge, such as `github.com/ada/api`."""

    host: str
    owner: str
    name: str

    @property
    def url(self) -> str:
        """The address to push to."""
        return f"https://{self.host}/{self.owner}/{self.name}.git"

    def __str__(self) -> str:
        """Return it as `gh` takes it."""
        return f"{self.host}/{self.owner}/{self.name}"


class Push(NamedTuple):
    """What a pull request pushes, and where: a commit, as a branch of a repository, to be merged into `base`."""

    to: Forge
    head: str
    branch: str
    base: str

    @property
    def text(self) -> str:
        """What the human is asked to allow, whole."""
        return f"Push {self.head[:10]} as {unhidden_line(self.branch)} to {self.to.url} and open a pull request by gh?"


def planned(root: Path, review: Review, branch: str | None) -> Push:
    """Return where a pull request would push reviewed work. `branch`: the one that it began on.

    Raises:
        Conflict: it is on no branch of its own, or `forge` refuses the remote.
        GitFailed: git failed.
    """
    branch = review.branch or branch
    if branch is None:
        raise Conflict("the work is on no branch: create one in its worktree, then try again")
    if branch == review.base:
        raise Conflict(f"the work is on {branch} itself: a pull request needs a branch of its own")
    return Push(forge(root), review.head, branch, review.base)


def forge(root: Path) -> Forge:
    """Return the repository to which `origin` of a checkout leads.

    Raises:
        Conflict: there is no such remote, or it is on no forge.
        GitFailed: git failed.
    """
    url = git.run(root, "config", "--get", f"remote.{REMOTE}.url", statuses=(0, 1)).text
    if not url:
        raise Conflict(f"no remote {REMOTE}: `git remote add {REMOTE} URL`, or merge the work here")
    for pattern in _ADDRESSES:
        if (match := pattern.fullmatch(url)) is not None:
            return Forge(match["host"], match["owner"], match["name"])
    raise Conflict(f"{GH} opens no pull request at {REMOTE}: push the branch by hand ({url})")


def program() -> str:
    """Return the path of `gh`.

    Raises:
        Conflict: it is not installed.
    """
    if (found := shutil.which(GH)) is None:
        raise Conflict(f"{GH} is not installed: install it from https://cli.github.com, then `{GH} auth login`")
    return found


def create(root: Path, push: Push, title: str, body: str, *, show: Callable[[str], None]) -> str:
    """Push a commit as a branch and open a pull request for it; return its address. One that is open is taken.

    `push`: what the human was shown.

    Raises:
        Conflict: `gh` is not installed, not logged in, or refuses, or the forge refuses the push.
        GitFailed: git failed.
    """
    gh = program()
    _check_login(gh, push.to.host)
    show(f"pushes {push.branch} to {push.to.url}")
    objects = Path(git.run(root, "rev-parse", "--path-format=absolute", "--git-path", "objects").text)
    try:
        git.push(objects, push.to.url, push.head, push.branch, helper=f"!{GH} auth git-credential")
    except GitFailed as error:
        raise Conflict(f"nothing is pushed: check that you may write to {push.to} ({error})") from error
    where = ("--repo", str(push.to), "--head", push.branch, "--base", push.base)
    done = _run([gh, "pr", "create", *where, "--title", title, "--body-file", "-"], body)
    urls = _PULL_REQUEST.findall(done.stdout) or _PULL_REQUEST.findall(done.stderr)
    if not urls:
        printed = (done.stderr or done.stdout).strip().splitlines()
        why = printed[0] if printed else f"it ended with status {done.returncode}"
        raise Conflict(f"{GH}: {why}; branch {push.branch} is pushed")
    return str(urls[-1])


def _check_login(gh: str, host: str) -> None:
    """Ask `gh` for the password as git will, before anything is pushed: git itself would say only that it has none."""
    asked = _run([gh, "auth", "git-credential", "get"], f"protocol=https\nhost={host}\n\n")
    if asked.returncode != 0:
        raise Conflict(f"{GH} is not logged in to {host}: `{GH} auth login --hostname {host}`; nothing is pushed")


def _run(words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    """Run `gh` in an empty folder, where it finds no repository."""
    with temporary_folder("gh") as folder:
        try:
            return subprocess.run(
                words,
                cwd=folder,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Conflict(f"{GH}: {error}") from error
