"""The input files of a check: finds the files that match its globs, and hashes their contents."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

# Folders and files that tools leave beside sources; no inputs unless a pattern names them.
_LEFTOVERS: Final = re.compile(r"\.git|\.hg|\.svn|__pycache__|\..+_cache|\.hypothesis")
_CHUNK: Final = 1024 * 1024
# A file changed within this many nanoseconds before it was read can change again without a new time stamp.
_RECENT_NS: Final = 100_000_000

_Stamp = tuple[int, int, int, int, int]


class InputHasher:
    """Hashes the inputs of a check; a file whose stat is unchanged is not read again.

    cwd: the folder.
    patterns: globs below `cwd`. `*` matches within a name, `**` any number of folders; a pattern that matches a folder
        includes everything in it.
    """

    def __init__(self, cwd: str, patterns: Sequence[str]) -> None:
        self.cwd = cwd
        named = [os.path.normpath(pattern) for pattern in patterns]
        self._patterns = ["**" if pattern == "." else pattern for pattern in named]
        self._regexes = [_glob_regex(pattern) for pattern in self._patterns]
        self._digest_cache: dict[str, tuple[_Stamp, bytes]] = {}

    def digest(self) -> str:
        """Return the SHA-256 of the names and contents of all inputs, in hexadecimal; "" without patterns."""
        if not self._patterns:
            return ""
        found = dict(self._input_digests())
        self._digest_cache = {path: held for path, held in self._digest_cache.items() if path in found}
        total = hashlib.sha256()
        for path in sorted(found):
            total.update(os.fsencode(path) + b"\0" + found[path])
        return total.hexdigest()

    def folders(self) -> Iterator[str]:
        """Yield the folders that hold inputs or could hold new ones."""
        for _, folder, _ in self._walk():
            yield folder

    def symlinks(self) -> Iterator[str]:
        """Yield the paths of inputs that are symbolic links, whose contents lie elsewhere."""
        for relative, folder, entries in self._walk():
            for entry in entries:
                if entry.is_symlink() and self._is_input(_join(relative, entry.name), entry.name):
                    yield _join(folder, entry.name)

    def _walk(self) -> Iterator[tuple[str, str, list[os.DirEntry[str]]]]:
        """Yield each folder that may hold inputs: its path relative to `cwd`, its full path, its entries."""
        seen: set[str] = set()
        pending = [base for pattern in self._patterns for base in _literal_folders(pattern)]
        while pending:
            relative = pending.pop()
            if relative in seen:
                continue
            seen.add(relative)
            folder = _join(self.cwd, relative)
            try:
                with os.scandir(folder) as found:
                    entries = list(found)
            except OSError:
                continue
            yield relative, folder, entries
            for entry in entries:
                below = _join(relative, entry.name)
                if entry.is_dir(follow_symlinks=False) and self._is_wanted(entry.name) and self._can_hold_inputs(below):
                    pending.append(below)

    def _is_wanted(self, name: str) -> bool:
        return not _LEFTOVERS.fullmatch(name) or any(name in pattern.split("/") for pattern in self._patterns)

    def _can_hold_inputs(self, folder: str) -> bool:
        """Whether a file below the folder can match a pattern."""
        return any(_can_match_below(pattern, folder) for pattern in self._patterns)

    def _input_digests(self) -> Iterator[tuple[str, bytes]]:
        for relative, _, entries in self._walk():
            for entry in entries:
                path = _join(relative, entry.name)
                content = self._entry_digest(path, entry) if self._is_input(path, entry.name) else None
                if content is not None:
                    yield path, content

    def _is_input(self, path: str, name: str) -> bool:
        return self._is_wanted(name) and any(match.fullmatch(path) for match in self._regexes)

    def _entry_digest(self, path: str, entry: os.DirEntry[str]) -> bytes | None:
        """Return the bytes that stand for an entry in the digest; None for a folder or a special file."""
        try:
            link = os.fsencode(Path(entry.path).readlink()) if entry.is_symlink() else b""
            found = entry.stat()
        except OSError:
            return b"gone"
        if not stat.S_ISREG(found.st_mode):
            return b"link\0" + link if link else None
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
        known = self._digest_cache.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        content = bytes([found.st_mode & 0o111 != 0]) + link + b"\0" + _file_digest(entry.path)
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _RECENT_NS:
            self._digest_cache[path] = (stamp, content)
        else:
            self._digest_cache.pop(path, None)
        return content


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _file_digest(path: str) -> bytes:
    total = hashlib.sha256()
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - there may be a hundred thousand
            while chunk := file.read(_CHUNK):
                total.update(chunk)
    except OSError as error:
        return f"unreadable: {error.errno}".encode()
    return total.digest()


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
    """Whether a pattern can match something below a folder."""
    wanted, there = pattern.split("/"), folder.split("/")
    for at, name in enumerate(there):
        if at >= len(wanted) or wanted[at] == "**":
            return True
        if not re.fullmatch(_part_regex(wanted[at]), name):
            return False
    return True
