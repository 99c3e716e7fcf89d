"""Write files and folders: private, synced to the disk, and replaced as one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_tasks.core.errors import DatabaseRefused

if TYPE_CHECKING:
    from pathlib import Path


def make_private(path: str) -> None:
    """Create the file with mode 0600, and its folders with 0700, where they do not exist, whatever the umask.

    Raises:
        DatabaseRefused: it cannot be made, or is no file.
    """
    try:
        make_folder(os.path.dirname(os.path.abspath(path)))
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.fchmod(handle, 0o600)
        os.close(handle)
    except FileExistsError:
        if not os.path.isfile(path):
            raise DatabaseRefused(f"{path} is not a file; name another with --db") from None
    except OSError as error:
        raise DatabaseRefused(f"cannot make {path}: {error.strerror}; name another file with --db") from error


def make_folder(folder: str) -> None:
    """Create a folder with mode 0700, and its missing parents, whatever the umask.

    Raises:
        OSError: it cannot be made.
    """
    if os.path.exists(folder):
        return
    make_folder(os.path.dirname(folder))
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)
        with contextlib.suppress(OSError):  # a folder that cannot be read, or a file system that cannot do it
            sync_folder(os.path.dirname(folder))


def sync(handle: int) -> None:
    """Sync a file to the disk, past the drive's cache, which fsync does not flush on macOS."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):  # a file system that cannot do it
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)


def sync_folder(folder: str) -> None:
    """Sync the names in a folder to the disk; SQLite itself does so for the database's folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(handle)
    finally:
        os.close(handle)


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
        with open(handle, "wb") as file:
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
            replace(type(path)(os.path.realpath(path)), content, 0o666 & ~_umask())
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
