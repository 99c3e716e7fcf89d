"""Runs git in a repository that anybody may have prepared: without programs it configures, prompts, or endless
waits.
"""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Final

SAFE_SETTINGS: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=")
"""Options by which git runs no programs that the repository's own configuration names."""
_SAFE: Final = ("--no-pager", *SAFE_SETTINGS, "-c", "log.showSignature=false", "-c", "protocol.allow=never")
TIMEOUT_SECONDS: Final = 5.0
MAX_BYTES: Final = 512 * 1024


class GitFailed(Exception):
    """git is not installed, took too long, or refused."""


def read(folder: Path, *words: str) -> str:
    """Return what git prints about committed objects, up to `MAX_BYTES`; `words` are a command and its arguments.

    Commands must not read files of the work tree: to compare them, git runs the configured filters.

    Raises:
        GitFailed: git failed, or timed out.
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
    timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
    timer.start()
    try:
        with process.stdout:
            printed = process.stdout.read(MAX_BYTES)
        if len(printed) == MAX_BYTES:
            process.kill()
        status = process.wait()
    finally:
        timer.cancel()
        timer.join()
    if status and len(printed) < MAX_BYTES:
        raise GitFailed(f"git {words[0]} ended with status {status}")
    return printed.decode(errors="replace")
