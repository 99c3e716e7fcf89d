"""The git state of a folder: its commit, and a hash of the uncommitted changes."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks.runner.process.git import SAFE_SETTINGS

_TIMEOUT_SECONDS: Final = 30


class GitState(NamedTuple):
    """The commit, and the SHA-256 of the diff to it, in hexadecimal; both None without a work tree or a commit."""

    commit: str | None = None
    diff: str | None = None


def look(folder: Path, environment: Mapping[str, str]) -> GitState:
    """Return the git state of a folder, in which git runs with the variables of `environment`."""
    try:
        commit = _run_git(folder, environment, "rev-parse", "--verify", "HEAD").decode().strip()
        diff = _run_git(folder, environment, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return GitState()
    return GitState(commit, hashlib.sha256(diff).hexdigest())


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
