"""Making files that nobody else can read, in folders whose names outlive a power cut."""

from __future__ import annotations

import contextlib
import fcntl
import os

from tui_tasks.core.errors import DatabaseRefused


def make_private(path: str) -> None:
    """Make the file 0600 in a folder 0700 where they are not there yet, whatever the umask.

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
    """Make a folder 0700, and those above it that are not there yet, whatever the umask.

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
    """Have what was written outlive a power cut: on macOS fsync leaves it in the drive's own memory."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):  # a file system that cannot do it
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)


def sync_folder(folder: str) -> None:
    """Have the names in a folder outlive a power cut; SQLite sees to the folder that the database is in."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(handle)
    finally:
        os.close(handle)
