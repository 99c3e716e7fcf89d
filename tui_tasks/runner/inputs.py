"""The files that a check looks at: which they are, and a hash of all that stands in them."""

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

# What tools leave behind beside sources: no input unless a pattern names it.
_LEFTOVERS: Final = re.compile(r"\.git|\.hg|\.svn|__pycache__|\..+_cache|\.hypothesis")
_CHUNK: Final = 1024 * 1024
# A file that was changed less than so many nanoseconds before it was read may change again within the clock's grain.
_SETTLED: Final = 100_000_000

_Stamp = tuple[int, int, int, int, int]


class InputHasher:
    """Hashes the inputs of checks. A file that is as it was is not read again.

    cwd: the folder; patterns: globs below it. `*` matches within a name, `**` any number of folders; a pattern that
    names a folder means all that is in it.
    """

    def __init__(self, cwd: str, patterns: Sequence[str]) -> None:
        self.cwd = cwd
        named = [os.path.normpath(pattern) for pattern in patterns]
        self._patterns = ["**" if pattern == "." else pattern for pattern in named]
        self._matches = [_pattern(pattern) for pattern in self._patterns]
        self._read: dict[str, tuple[_Stamp, bytes]] = {}

    def digest(self) -> str:
        """A hash of the names and contents of all inputs as they are now; "" where no patterns are given."""
        if not self._patterns:
            return ""
        found = dict(self._contents())
        self._read = {path: held for path, held in self._read.items() if path in found}
        total = hashlib.sha256()
        for path in sorted(found):
            total.update(os.fsencode(path) + b"\0" + found[path])
        return total.hexdigest()

    def folders(self) -> Iterator[str]:
        """The folders in which an input is, or would be once it is made."""
        for _, folder, _ in self._walked():
            yield folder

    def linked(self) -> Iterator[str]:
        """The inputs that are links: their contents are elsewhere."""
        for relative, folder, entries in self._walked():
            for entry in entries:
                if entry.is_symlink() and self._is_input(_below(relative, entry.name), entry.name):
                    yield _below(folder, entry.name)

    def _walked(self) -> Iterator[tuple[str, str, list[os.DirEntry[str]]]]:
        """Each folder below `cwd` in which inputs may be, as its relative and its whole path, and its entries."""
        seen: set[str] = set()
        ahead = [base for pattern in self._patterns for base in _bases(pattern)]
        while ahead:
            relative = ahead.pop()
            if relative in seen:
                continue
            seen.add(relative)
            folder = _below(self.cwd, relative)
            try:
                with os.scandir(folder) as found:
                    entries = list(found)
            except OSError:
                continue
            yield relative, folder, entries
            for entry in entries:
                below = _below(relative, entry.name)
                if entry.is_dir(follow_symlinks=False) and self._is_wanted(entry.name) and self._leads_on(below):
                    ahead.append(below)

    def _is_wanted(self, name: str) -> bool:
        return not _LEFTOVERS.fullmatch(name) or any(name in pattern.split("/") for pattern in self._patterns)

    def _leads_on(self, folder: str) -> bool:
        """Whether something in a folder can be an input."""
        return any(_may_hold(pattern, folder) for pattern in self._patterns)

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        for relative, _, entries in self._walked():
            for entry in entries:
                path = _below(relative, entry.name)
                content = self._content(path, entry) if self._is_input(path, entry.name) else None
                if content is not None:
                    yield path, content

    def _is_input(self, path: str, name: str) -> bool:
        return self._is_wanted(name) and any(match.fullmatch(path) for match in self._matches)

    def _content(self, path: str, entry: os.DirEntry[str]) -> bytes | None:
        """What is to be hashed of an entry; None of a folder, and of what is no file."""
        try:
            link = os.fsencode(Path(entry.path).readlink()) if entry.is_symlink() else b""
            found = entry.stat()
        except OSError:
            return b"gone"
        if not stat.S_ISREG(found.st_mode):
            return b"link\0" + link if link else None
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
        known = self._read.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        content = bytes([found.st_mode & 0o111 != 0]) + link + b"\0" + _hash_of(entry.path)
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED:
            self._read[path] = (stamp, content)
        else:
            self._read.pop(path, None)
        return content


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _hash_of(path: str) -> bytes:
    total = hashlib.sha256()
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - there may be a hundred thousand
            while chunk := file.read(_CHUNK):
                total.update(chunk)
    except OSError as error:
        return f"unreadable: {error.errno}".encode()
    return total.digest()


def _bases(pattern: str) -> list[str]:
    """The folders from where to look for a pattern: each one above its first name that is no plain one.

    A folder above is looked at too: the one that is named may be made, moved or replaced.
    """
    plain: list[str] = []
    for part in pattern.split("/")[:-1]:
        if re.search(r"[*?\[]", part):
            break
        plain.append(part)
    return ["", *("/".join(plain[: length + 1]) for length in range(len(plain)))]


@lru_cache(1024)
def _pattern(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression; what is below something that it matches is matched as well."""
    made = ""
    for part in pattern.split("/"):
        if part == "**":
            made += "(?:.+/)?"
        else:
            made += _part(part) + "/"
    made = made.removesuffix("/")
    return re.compile(f"{made}.+" if made.endswith(")?") else f"{made}(?:/.+)?", re.DOTALL)


def _part(part: str) -> str:
    pieces = re.split(r"(\*+|\?|\[!?[^\]]+\])", part)
    return "".join(_piece(piece) for piece in pieces)


def _piece(piece: str) -> str:
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece.startswith("[") and piece.endswith("]"):
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(piece)


def _may_hold(pattern: str, folder: str) -> bool:
    """Whether a pattern can match something in a folder."""
    wanted, there = pattern.split("/"), folder.split("/")
    for at, name in enumerate(there):
        if at >= len(wanted) or wanted[at] == "**":
            return True
        if not re.fullmatch(_part(wanted[at]), name):
            return False
    return True
