"""Files that are replaced atomically: the program's own, never through a link, and those that the user names."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tui_tasks.core.engine.private_files import sync, sync_folder


def replace(path: Path, content: bytes | Iterable[bytes], new_mode: int = 0o600) -> None:
    """Replace a file atomically: every reader, and a crash, finds the old or the new content whole.

    The content may come in parts. The file keeps its mode; a new file gets `new_mode`. A link in its place is replaced,
    and the link's target is left alone. The caller prevents concurrent calls.

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
            file.writelines(_parts(content))
            file.flush()
            sync(handle)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    sync_folder(str(path.parent))


def write_named(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file that the user has named. The content may come in parts.

    A link is followed. A regular or new file is replaced atomically, and a new one gets the mode that the umask allows.
    Anything else, such as a device, a FIFO or `/dev/stdout`, is written into.

    Raises:
        OSError: it cannot be written; its `filename` is `path`.
    """
    try:
        # A link of /proc to a pipe leads to no name: the system follows it, `realpath` cannot.
        if is_replaceable(path):
            replace(Path(os.path.realpath(path)), content, 0o666 & ~_umask())
            return
        with path.open("wb", buffering=0) as file:
            for part in _parts(content):
                left = memoryview(part)
                while left:
                    left = left[file.write(left) :]
    except OSError as error:
        error.filename = str(path)
        raise


def _parts(content: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return (content,) if isinstance(content, bytes) else content


def is_replaceable(path: Path) -> bool:
    """Whether there is a regular file, or nothing, where a path leads."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _mode_of(path: Path, otherwise: int) -> int:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return otherwise
    return stat.S_IMODE(mode) & 0o777 if stat.S_ISREG(mode) else otherwise
