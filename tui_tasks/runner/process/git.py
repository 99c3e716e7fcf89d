"""git, in a repository that may be anybody's: it runs no program that is named there, asks nobody, and ends in time."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Final

SAFE_SETTINGS: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=")
"""Keeps git from running programs that the repository's own configuration names."""
_SAFE: Final = ("--no-pager", *SAFE_SETTINGS, "-c", "log.showSignature=false", "-c", "protocol.allow=never")
SECONDS: Final = 5.0
MOST_BYTES: Final = 512 * 1024


class GitFailed(Exception):
    """It is not there, took too long, or has refused."""


def read(folder: Path, *words: str) -> str:
    """Return what git prints of committed things, up to `MOST_BYTES`; the words are a command and its arguments.

    Of files in the work tree nothing may be asked here: to compare them, git runs the filters that are configured.

    Raises:
        GitFailed: it has said nothing of use.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C.UTF-8"}
    try:
        process = subprocess.Popen(
            ["git", *_SAFE, *words],
            cwd=folder,
            env=kept | quiet,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GitFailed(str(error)) from error
    assert process.stdout is not None
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        with process.stdout:
            printed = process.stdout.read(MOST_BYTES)
        if len(printed) == MOST_BYTES:
            process.kill()
        status = process.wait()
    finally:
        timer.cancel()
        timer.join()
    if status and len(printed) < MOST_BYTES:
        raise GitFailed(f"git {words[0]} ended with status {status}")
    return printed.decode(errors="replace")
