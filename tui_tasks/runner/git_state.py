"""What git says of a folder: the commit it stands at, and a hash of what was changed since."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_SECONDS: Final = 30
# Whatever the work tree's own configuration names is not to be run by asking.
_PLAIN: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=")


class GitState(NamedTuple):
    """None where the folder is no git work tree, or has no commit."""

    commit: str | None = None
    diff: str | None = None


def look(folder: Path, environment: Mapping[str, str]) -> GitState:
    """Ask git about a folder."""
    try:
        commit = _asked(folder, environment, "rev-parse", "--verify", "HEAD").decode().strip()
        diff = _asked(folder, environment, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return GitState()
    return GitState(commit, hashlib.sha256(diff).hexdigest())


def _asked(folder: Path, environment: Mapping[str, str], *words: str) -> bytes:
    done = subprocess.run(
        ["git", *_PLAIN, *words],
        cwd=folder,
        env={**environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_SECONDS,
        check=True,
    )
    return done.stdout
