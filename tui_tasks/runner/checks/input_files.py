"""The input files of a check: finds the files that match its globs, and hashes their contents.

Inputs are regular files of one file system, up to a size. A FIFO, a device, a file behind `/proc` or on another mount
can give each reader another content, and a sparse file of terabytes takes no space to make: these are refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

from tui_tasks.regular_files import open_regular

# Folders and files that tools leave beside sources; they are no inputs unless a pattern names them.
LEFTOVERS: Final = re.compile(r"\.git|\.hg|\.svn|__pycache__|\..+_cache|\.hypothesis")
_CHUNK: Final = 1024 * 1024
# A file changed within this many nanoseconds before it was read can change again without a new time stamp.
_RECENT_NS: Final = 100_000_000
# The most entries of linked folders; with more, the inputs count as changed each time.
_MAX_LINKED: Final = 20_000
# The most bytes of one input, and of all inputs of a check.
MAX_FILE_BYTES: Final = 1 << 30
MAX_TOTAL_BYTES: Final = 4 << 30
_NULL_DEVICE: Final = os.makedev(1, 3)

_Stamp = tuple[int, int, int, int, int, int]
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OTHER_MOUNT: Final = "it is on another file system than the check's folder"
_Inode = tuple[int, int]
_Folder = tuple[str, tuple[_Inode, ...]]


class CannotCopy(Exception):
    """The inputs cannot be copied; the message is the reason."""


class InputHasher:
    """Hashes the inputs of a check; a file whose stat is unchanged is read again only if that is asked for.

    With refused inputs the hash is another one each time.

    Attributes:
        cwd: the folder.
        patterns: globs below `cwd`. `*` matches within a name, `**` any number of folders; a pattern that matches a
            folder includes everything in it. Folders behind symbolic links are searched as well, each once.
        stamps: of the last digest, by the path of each input below `cwd`: device, inode, size, times and mode.
        refused: of the last digest, why an input cannot be one, by its path below `cwd`.
    """

    def __init__(self, cwd: str, patterns: Sequence[str]) -> None:
        self.cwd = cwd
        named = [os.path.normpath(pattern) for pattern in patterns]
        self._patterns = ["**" if pattern == "." else pattern for pattern in named]
        self._regexes = [_glob_regex(pattern) for pattern in self._patterns]
        self._digest_cache: dict[str, tuple[_Stamp, bytes]] = {}
        self._has_too_many = False
        self._unreadable: dict[str, tuple[int, int, int]] = {}
        self.stamps: dict[str, _Stamp] = {}
        self.refused: dict[str, str] = {}
        self._device: int | None = None
        self._total_bytes = 0
        self._copy_to = ""

    def copy(self, folder: str) -> str:
        """Copy the inputs into a folder that does not exist; return the hash of what was copied, as of `digest`.

        Links are followed: each input becomes a file of its own.

        Raises:
            CannotCopy: a file cannot be written.
        """
        self._copy_to = folder
        try:
            Path(folder).mkdir(0o700)
            return self.digest(reads_all=True)
        except OSError as error:
            raise CannotCopy(f"cannot copy the inputs: {error.strerror or error}") from error
        finally:
            self._copy_to = ""

    def digest(self, *, reads_all: bool = False) -> str:
        """Return the SHA-256 of the names and contents of all inputs, in hexadecimal; "" without patterns.

        `reads_all`: read every file, as a write through a memory map can leave its stat unchanged.
        """
        if not self._patterns:
            return ""
        self.stamps, self.refused, self._total_bytes = {}, {}, 0
        if reads_all:
            self._digest_cache = {}
        digests = dict(self._input_digests())
        self._digest_cache = {path: held for path, held in self._digest_cache.items() if path in digests}
        total = hashlib.sha256()
        for path in sorted(digests):
            total.update(os.fsencode(path) + b"\0" + digests[path])
        total.update(repr(sorted(self._unreadable.items())).encode() if self._unreadable else b"")
        if self._has_too_many or self.refused:
            total.update(_unlike_any())
        return total.hexdigest()

    @property
    def first_refused(self) -> str | None:
        """Which input cannot be one, and why, at the last digest; None if all can."""
        return next((f"input {path}: {reason}" for path, reason in sorted(self.refused.items())), None)

    def folders(self) -> Iterator[str]:
        """Yield the folders that hold inputs or could hold new ones."""
        for _, folder, _ in self._walk():
            yield folder

    def symlinks(self) -> Iterator[str]:
        """Yield the paths of symbolic links that are inputs or lead to some, whose contents lie elsewhere."""
        for relative, folder, entries in self._walk():
            for entry in entries:
                path = _join(relative, entry.name)
                if entry.is_symlink() and (self.is_input(path) or self.can_hold_inputs(path)):
                    yield _join(folder, entry.name)

    def is_input(self, path: str) -> bool:
        """Return whether a file with that path below `cwd` is an input."""
        return self._is_wanted(path.rpartition("/")[2]) and any(match.fullmatch(path) for match in self._regexes)

    def can_hold_inputs(self, path: str) -> bool:
        """Return whether a folder with that path below `cwd` is searched."""
        name = path.rpartition("/")[2]
        return self._is_wanted(name) and any(_can_match_below(pattern, path) for pattern in self._patterns)

    def paths(self) -> Iterator[str]:
        """Yield the path of each input below `cwd`."""
        for relative, _, entries in self._walk():
            for entry in entries:
                path = _join(relative, entry.name)
                if self.is_input(path) and not entry.is_dir():
                    yield path

    def _walk(self) -> Iterator[tuple[str, str, list[os.DirEntry[str]]]]:
        """Yield each folder that may hold inputs: its path relative to `cwd`, its full path, its entries.

        Folders behind symbolic links come last. Links that form a cycle are followed once.
        """
        self._has_too_many, self._unreadable = False, {}
        with contextlib.suppress(OSError):
            self._device = os.stat(self.cwd).st_dev  # noqa: PTH116 - as below
        seen: set[str] = set()
        linked: list[_Folder] = []
        pending: list[_Folder] = [(base, ()) for pattern in self._patterns for base in _literal_folders(pattern)]
        while pending:
            path, above = pending.pop()
            if path not in seen:
                seen.add(path)
                yield from self._look_into(path, above, pending, linked)
        entries = 0
        while linked:
            path, above = linked.pop()
            for entry in self._look_into(path, above, linked, linked):
                entries += len(entry[2])
                if entries > _MAX_LINKED:
                    self._has_too_many = True
                    return
                yield entry

    def _look_into(
        self, relative: str, above: tuple[_Inode, ...], below: list[_Folder], linked: list[_Folder]
    ) -> Iterator[tuple[str, str, list[os.DirEntry[str]]]]:
        """Yield a folder; add the folders in it to `below`, the links to folders to `linked`.

        `above`: the folders on the way to it.
        """
        folder = _join(self.cwd, relative)
        try:
            status = os.stat(folder)  # noqa: PTH116 - there may be a hundred thousand
            inode = (status.st_dev, status.st_ino)
            if status.st_dev != self._device:
                self.refused[relative] = _OTHER_MOUNT
                return
            if above.count(inode) > 1:
                return
            with os.scandir(folder) as listing:
                entries = list(listing)
        except PermissionError:
            self._unreadable[relative] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            return
        except OSError:
            return
        yield relative, folder, entries
        for entry in entries:
            path = _join(relative, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if self.can_hold_inputs(path):
                    below.append((path, (*above, inode)))
            elif entry.is_symlink() and self.can_hold_inputs(path) and _leads_to_folder(entry):
                linked.append((path, (*above, inode)))

    def _is_wanted(self, name: str) -> bool:
        return not LEFTOVERS.fullmatch(name) or any(name in pattern.split("/") for pattern in self._patterns)

    def _input_digests(self) -> Iterator[tuple[str, bytes]]:
        for relative, _, entries in self._walk():
            for entry in entries:
                path = _join(relative, entry.name)
                content = self._entry_digest(path, entry) if self.is_input(path) else None
                if content is not None:
                    yield path, content

    def _entry_digest(self, path: str, entry: os.DirEntry[str]) -> bytes | None:
        """Return the digest of an entry; None for a folder, whose contents are inputs of their own."""
        try:
            link = os.fsencode(Path(entry.path).readlink()) if entry.is_symlink() else b""
            stat_result = entry.stat()
        except OSError:
            return b"gone"
        stamp = _stamp(stat_result)
        if reason := self._reason_to_refuse(stat_result):
            self.refused[path] = reason
            return b"refused"
        if not stat.S_ISREG(stat_result.st_mode):
            if self._copy_to and stat_result.st_rdev == _NULL_DEVICE:
                _new_file(self._copy_to, path).symlink_to(os.devnull)
            return b"link\0" + link if link or not stat.S_ISDIR(stat_result.st_mode) else None
        self.stamps[path] = stamp
        known = self._digest_cache.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        is_executable = stat_result.st_mode & 0o111 != 0
        if self._copy_to:
            mode = 0o700 if is_executable else 0o600
            with os.fdopen(os.open(_new_file(self._copy_to, path), _NEW_FILE, mode), "wb", buffering=0) as copy:
                digest = _file_digest(entry.path, stamp, copy)
        else:
            digest = _file_digest(entry.path, stamp)
        content = bytes([is_executable]) + link + b"\0" + digest
        if time.time_ns() - max(stat_result.st_mtime_ns, stat_result.st_ctime_ns) > _RECENT_NS:
            self._digest_cache[path] = (stamp, content)
        else:
            self._digest_cache.pop(path, None)
        return content

    def _reason_to_refuse(self, stat_result: os.stat_result) -> str | None:
        """Return why a file cannot be an input; None if it can."""
        if stat_result.st_rdev == _NULL_DEVICE and stat.S_ISCHR(stat_result.st_mode):
            return None
        if stat.S_ISFIFO(stat_result.st_mode) or stat.S_ISCHR(stat_result.st_mode) or stat.S_ISBLK(stat_result.st_mode):
            return "it is a FIFO or a device, not a regular file"
        if stat_result.st_dev != self._device:
            return _OTHER_MOUNT
        if not stat.S_ISREG(stat_result.st_mode):
            return None
        if stat_result.st_size > MAX_FILE_BYTES:
            return f"it holds over {MAX_FILE_BYTES:,} bytes"
        self._total_bytes += stat_result.st_size
        if self._total_bytes > MAX_TOTAL_BYTES:
            return f"with it, the inputs hold over {MAX_TOTAL_BYTES:,} bytes"
        return None


def target_to_watch(link: str) -> str | None:
    """Return the file or folder that a symbolic link leads to; None for a device: all programs write to `/dev/null`."""
    target = os.path.realpath(link)
    try:
        mode = os.stat(target).st_mode  # noqa: PTH116 - as above
    except OSError:
        return None
    return target if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else None


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # it leads to itself
        return False


def _stamp(stat_result: os.stat_result) -> _Stamp:
    return (
        stat_result.st_dev,
        stat_result.st_ino,
        stat_result.st_size,
        stat_result.st_mtime_ns,
        stat_result.st_ctime_ns,
        stat_result.st_mode,
    )


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _unlike_any() -> bytes:
    return os.urandom(16)


def _new_file(folder: str, path: str) -> Path:
    """Return the path of a file to make below a folder, whose own folders exist."""
    made = Path(folder, path)
    made.parent.mkdir(0o700, parents=True, exist_ok=True)
    return made


def _file_digest(path: str, stamp: _Stamp, copy: IO[bytes] | None = None) -> bytes:
    """Return the digest of a file's content, and write that to `copy`; `stamp` is of its stat.

    Raises:
        CannotCopy: the copy cannot be written.
    """
    total, left = hashlib.sha256(), stamp[2]
    try:
        with os.fdopen(open_regular(path, MAX_FILE_BYTES), "rb", buffering=0) as file:
            if _stamp(os.fstat(file.fileno()))[:2] != stamp[:2]:
                return _unlike_any()  # it was replaced since its stat was read
            while left >= 0 and (chunk := file.read(_CHUNK)):
                total.update(chunk)
                left -= len(chunk)
                if copy is not None:
                    _write_whole(copy, chunk)
    except OSError as error:
        return f"unreadable: {error.errno} {stamp}".encode()
    return total.digest() if left == 0 else _unlike_any()  # its length has changed meanwhile


def _write_whole(copy: IO[bytes], chunk: bytes) -> None:
    """Write a chunk to a copy.

    Raises:
        CannotCopy: it cannot be written.
    """
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[copy.write(rest) :]
    except OSError as error:
        raise CannotCopy(f"cannot copy the inputs: {error.strerror or error}") from error


def _literal_folders(pattern: str) -> list[str]:
    """Return the folders above the first wildcard of a pattern, from `cwd` ("") down.

    All of them are searched and watched, because a named folder can be created, moved or replaced.
    """
    plain: list[str] = []
    for part in pattern.split("/")[:-1]:
        if re.search(r"[*?\[]", part):
            break
        plain.append(part)
    return ["", *("/".join(plain[: length + 1]) for length in range(len(plain)))]


@lru_cache(1024)
def _glob_regex(pattern: str) -> re.Pattern[str]:
    """Compile a glob to a regular expression that also matches everything below a matching folder."""
    made = ""
    for part in pattern.split("/"):
        if part == "**":
            made += "(?:.+/)?"
        else:
            made += _part_regex(part) + "/"
    made = made.removesuffix("/")
    return re.compile(f"{made}.+" if made.endswith(")?") else f"{made}(?:/.+)?", re.DOTALL)


def _part_regex(part: str) -> str:
    pieces = re.split(r"(\*+|\?|\[!?[^\]]+\])", part)
    return "".join(_token_regex(piece) for piece in pieces)


def _token_regex(piece: str) -> str:
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece.startswith("[") and piece.endswith("]"):
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(piece)


def _can_match_below(pattern: str, folder: str) -> bool:
    """Return whether a pattern can match something below a folder."""
    wanted, there = pattern.split("/"), folder.split("/")
    for at, name in enumerate(there):
        if at >= len(wanted) or wanted[at] == "**":
            return True
        if not re.fullmatch(_part_regex(wanted[at]), name):
            return False
    return True
