"""A disk as a power cut may leave it, made from the log of what processes did to it (`filesystem.c`).

What was written is safe once its file was synced, a name once its folder was. Of all else any part may have come to the
disk, in any order, by sectors; names in the order in which they were made.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.soak.native import OPS

SECTOR: Final = 512
_HEAD = struct.Struct("=IiIIq")

# How much of what was not safe has come to the disk.
NOTHING, SOME, ALL, SIZES = "nothing", "some", "all", "sizes"
WAYS: Final = (NOTHING, SOME, SOME, SOME, ALL, SIZES)


@dataclass(frozen=True)
class Record:
    """One call: its `offset` is the new size for `truncate`, its `data` the new name for `rename` and `link`."""

    op: str
    pid: int
    path: str
    offset: int
    data: bytes


def records(log: Path) -> Iterator[Record]:
    """What was noted, in order."""
    held = log.read_bytes()
    at = 0
    while at < len(held):
        op, pid, path_size, data_size, offset = _HEAD.unpack_from(held, at)
        at += _HEAD.size
        path = held[at : at + path_size].decode()
        at += path_size
        yield Record(OPS[op - 1], pid, path, offset, held[at : at + data_size])
        at += data_size


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


@dataclass
class File:
    """What is safe of a file, and what was done to it since: (offset, data), or a new size and None."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            _resize(self.safe, offset) if data is None else _put(self.safe, offset, data)
        self.pending.clear()

    def left(self, way: str, chance: Random) -> bytes:
        """Its content after the cut."""
        content = bytearray(self.safe)
        keep = {NOTHING: 0.0, ALL: 1.0, SIZES: 0.0}.get(way, chance.choice((0.1, 0.5, 0.9)))
        for offset, data in self.pending:
            if data is None:
                if chance.random() < keep:
                    _resize(content, offset)
                continue
            end = offset + len(data)
            for begin in range(offset - offset % SECTOR, end, SECTOR):
                start, stop = max(begin, offset), min(begin + SECTOR, end)
                if chance.random() < keep:
                    _put(content, start, data[start - offset : stop - offset])
            if way == SIZES and len(content) < end:
                _resize(content, end)
        return bytes(content)


class Disk:
    """Files and names, below a folder that was there before."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        # A folder is a name without a file.
        self._names: dict[str, File | None] = {}
        self._safe_names: dict[str, File | None] = {}
        self._renamed: list[dict[str, File | str | None]] = []

    def do(self, record: Record) -> None:
        """Do what a process did."""
        path = record.path
        if record.op == "create":
            self._name({path: File()})
        elif record.op == "mkdir":
            self._name({path: None})
        elif record.op == "unlink":
            self._name({path: "gone"})
        elif record.op == "rename":
            self._name({record.data.decode(): self._names[path], path: "gone"})
        elif record.op == "link":
            self._name({record.data.decode(): self._names[path]})
        elif record.op == "sync_folder":
            self._sync_folder(path)
        elif (file := self._names.get(path)) is None:
            assert record.op == "pipe" or path.endswith(" (deleted)"), f"{record.op} of {path}, which was never made"
        elif record.op == "sync":
            file.sync()
        else:
            file.pending.append((record.offset, record.data if record.op == "write" else None))

    def _name(self, names: dict[str, File | str | None]) -> None:
        self._renamed.append(names)
        _rename(self._names, names)

    def _sync_folder(self, folder: str) -> None:
        for names in [names for names in self._renamed if _folder(next(iter(names))) == folder.rstrip("/")]:
            _rename(self._safe_names, names)
            self._renamed.remove(names)

    def left(self, way: str, chance: Random) -> dict[Path, bytes]:
        """The files that there are after a cut now, by their paths below the root."""
        names = dict(self._safe_names)
        held = {NOTHING: 0, ALL: len(self._renamed)}.get(way, chance.randint(0, len(self._renamed)))
        for made in self._renamed[:held]:
            _rename(names, made)
        return {
            Path(path).relative_to(self._root): file.left(way, chance)
            for path, file in names.items()
            if file is not None and self._is_reached(path, names)
        }

    def _is_reached(self, path: str, names: dict[str, File | None]) -> bool:
        folder = _folder(path)
        return folder == self._root or (folder in names and self._is_reached(folder, names))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _rename(names: dict[str, File | None], changes: dict[str, File | str | None]) -> None:
    for path, file in changes.items():
        if isinstance(file, str):
            names.pop(path, None)
        else:
            names[path] = file
