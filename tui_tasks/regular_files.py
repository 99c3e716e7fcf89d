"""Opens files that somebody else may have put there: regular ones only, never blocking, up to a size.

A FIFO would block its reader for ever, a device may answer without end, and a sparse file holds terabytes in no space.
Every hook of an agent imports this at each event, so it imports nothing slow.
"""

import errno
import os
import stat

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 20

StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def open_regular(
    path: StrPath, max_bytes: int | None = None, *, dir_fd: int | None = None, follow_links: bool = True
) -> int:
    """Open a regular file to read it; return the descriptor.

    Anything else is refused before it is opened, as opening a device or a FIFO can already have an effect.

    Args:
        path: the file, relative to `dir_fd` if that is given.
        max_bytes: refuse a file that is longer. The file may grow later: reads need a limit of their own.
        dir_fd: a descriptor of a folder.
        follow_links: otherwise a link in the last part of the path is refused.

    Raises:
        OSError: it is no regular file (EINVAL), too long (EFBIG), or cannot be opened.
    """
    try:
        stat_result = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_links)
    except ValueError as error:  # a null character, or a surrogate
        raise OSError(errno.EINVAL, "it is not a path of a file", os.fspath(path)) from error
    _check(stat_result, path, max_bytes)
    handle = os.open(path, _FLAGS | (0 if follow_links else os.O_NOFOLLOW), dir_fd=dir_fd)
    try:
        # Another file may have taken its place meanwhile.
        _check(os.fstat(handle), path, max_bytes)
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_regular(path: StrPath, max_bytes: int, *, dir_fd: int | None = None, follow_links: bool = True) -> bytes:
    """Return the content of a regular file of at most `max_bytes`.

    Raises:
        OSError: as `open_regular`, or it cannot be read.
    """
    handle = open_regular(path, max_bytes, dir_fd=dir_fd, follow_links=follow_links)
    try:
        return _read(handle, path, max_bytes)
    finally:
        os.close(handle)


def reason(error: Exception) -> str:
    """Return why a file could not be read, for a message that names the file itself."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def read_text(path: StrPath, max_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, as `read_regular`.

    Raises:
        OSError: as `read_regular`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_regular(path, max_bytes).decode()


def _read(handle: int, path: StrPath, max_bytes: int) -> bytes:
    parts, left = [], max_bytes + 1
    while left and (part := os.read(handle, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    if not left:
        raise _too_long(path, max_bytes)
    return b"".join(parts)


def _check(stat_result: os.stat_result, path: StrPath, max_bytes: int | None) -> None:
    if not stat.S_ISREG(stat_result.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    if max_bytes is not None and stat_result.st_size > max_bytes:
        raise _too_long(path, max_bytes)


def _too_long(path: StrPath, max_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it holds over {max_bytes:,} bytes", os.fspath(path))
