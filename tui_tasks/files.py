"""Files that are never found half written."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def replace(path: Path, content: bytes, new_mode: int = 0o600) -> None:
    """Put a file in place of another so that every reader, and a crash, finds one or the other whole.

    It keeps its mode; a new one gets `new_mode`. The caller sees to it that nobody else does so at the same moment.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else new_mode
    beside = path.with_name(f".{path.name}.new")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
            os.fchmod(handle, mode)
            file.write(content)
            file.flush()
            os.fsync(handle)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
