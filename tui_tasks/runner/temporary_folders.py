"""Temporary folders with the name of their process: what a killed process has left, the next one removes."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity

UNKNOWN_SECONDS: Final = 24 * 60 * 60
"""After so long a folder is removed whose process is not known: one of a former boot, of a container, or unnamed."""
_FOLDER_NAME: Final = re.compile(
    r"tui-tasks-(?:git|index|push|gh)-(?:(?P<system>[0-9a-f]{8})-(?P<pid>\d+)-(?P<born>[\d.]*)-)?\w{8}"
)


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield a private folder that is removed afterwards; `purpose` is one of those in `_FOLDER_NAME`."""
    _remove_left_once(os.getpid(), Path(tempfile.gettempdir()))
    one = processes.identity()
    with tempfile.TemporaryDirectory(prefix=f"tui-tasks-{purpose}-{_system(one)}-{one.pid}-{one.born}-") as made:
        yield Path(made)


@functools.cache
def _remove_left_once(pid: int, folder: Path) -> None:
    remove_left(folder, time.time())


def remove_left(folder: Path, now: float) -> None:
    """Remove the folders of this user whose process has ended; `now` is in seconds since the epoch."""
    here = processes.identity()
    for entry in os.scandir(folder):
        match = _FOLDER_NAME.fullmatch(entry.name)
        with contextlib.suppress(OSError):
            if match is None or entry.is_symlink() or entry.stat().st_uid != os.getuid():
                continue
            is_alive = None
            if match["system"] == _system(here):
                owner = ProcessIdentity(here.boot, here.namespace, int(match["pid"]), match["born"])
                is_alive = processes.is_alive(owner)
            is_old = now - entry.stat().st_mtime > UNKNOWN_SECONDS
            if is_alive is False or (is_alive is None and is_old):
                shutil.rmtree(entry.path, ignore_errors=True)


def _system(one: ProcessIdentity) -> str:
    """Return an id of the boot and the pid namespace of a process."""
    return hashlib.sha256(f"{one.boot} {one.namespace}".encode()).hexdigest()[:8]
