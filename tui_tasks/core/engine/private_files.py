"""Make files and folders that nobody else can read, and sync them to the disk."""

from __future__ import annotations

import contextlib
import fcntl
import os

from tui_tasks.core.errors import DatabaseRefused


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
            raise DatabaseRefused(f"{path} is no file; name another with --db") from None
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
