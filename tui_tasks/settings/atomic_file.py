"""Files that are replaced atomically, and never written through a link."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from tui_tasks.core.engine.private_files import sync, sync_folder


def replace(path: Path, content: bytes, new_mode: int = 0o600) -> None:
    """Replace a file atomically: every reader, and a crash, finds the old or the new content whole.

    It keeps its mode; a new file gets `new_mode`. A link in its place is replaced, and the link's target is left alone.
    The caller prevents concurrent calls.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    mode = _mode_of(path, new_mode)
    # A name that can be guessed could be a link made by somebody else.
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(beside, flags, 0o600)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
            os.fchmod(handle, mode)
            file.write(content)
            file.flush()
            sync(handle)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    sync_folder(str(path.parent))


def _mode_of(path: Path, otherwise: int) -> int:
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return otherwise
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else otherwise
