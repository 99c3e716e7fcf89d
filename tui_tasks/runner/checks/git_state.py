"""The git state of a folder: its commit, and a hash of the uncommitted changes."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.runner.process.git import SAFE_SETTINGS

_TIMEOUT_SECONDS: Final = 30

_DIFF_OPTIONS: Final = ("--no-ext-diff", "--no-textconv", "--binary", "--ignore-submodules=dirty")
_LIST_SETTINGS: Final = ("config", "--list", "--name-only", "-z")


class GitState(NamedTuple):
    """The git state of a folder; both None without a work tree or a commit.

    Attributes:
        commit: the commit.
        diff: the SHA-256 of the uncommitted changes, in hexadecimal.
    """

    commit: str | None = None
    diff: str | None = None


def look(folder: Path, environment: Mapping[str, str]) -> GitState:
    """Return the git state of a folder, in which git runs with the variables of `environment`."""
    try:
        commit = _run_git(folder, environment, "rev-parse", "--verify", "HEAD").decode().strip()
        unfiltered = {**environment, **_without_filters(_run_git(folder, environment, *_LIST_SETTINGS))}
        diff = _run_git(folder, unfiltered, "diff", *_DIFF_OPTIONS, "HEAD")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return GitState()
    return GitState(commit, hashlib.sha256(diff).hexdigest())


def _without_filters(settings: bytes) -> dict[str, str]:
    """Return variables by which git runs no filter of those that the names of the settings tell of."""
    names = {name.rpartition(".")[0] for name in settings.decode(errors="surrogateescape").split("\0")}
    pairs = [
        (f"{name}.{key}", value)
        for name in sorted(names)
        if name.startswith("filter.")
        for key, value in (("clean", ""), ("process", ""), ("required", "false"))
    ]
    variables = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for at, (key, value) in enumerate(pairs):
        variables |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return variables


def _run_git(folder: Path, environment: Mapping[str, str], *words: str) -> bytes:
    done = subprocess.run(
        ["git", *SAFE_SETTINGS, *words],
        cwd=folder,
        env={**environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_TIMEOUT_SECONDS,
        check=True,
    )
    return done.stdout
