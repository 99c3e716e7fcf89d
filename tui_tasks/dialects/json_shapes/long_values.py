"""JSON values that are written item by item: a list may hold a million tasks, or sixty of a megabyte each.

What is short stays in memory. What is longer goes into a file without a name, so that neither the list nor a slow
reader takes memory, and the read transaction ends before the reader has begun.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

import msgspec
from msgspec import Raw

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed

# Bytes of a value that are held in memory.
IN_MEMORY: Final = 256 * 1024
_encoder: Final = msgspec.json.Encoder()


class LongValue:
    """A JSON value in a file that ends with it."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size

    def parts(self, most: int) -> Iterator[bytes]:
        """The value, at most so many bytes at a time."""
        at = 0
        while part := os.pread(self._file.fileno(), most, at):
            at += len(part)
            yield part


class _Writer:
    """A value between two brackets or quotation marks."""

    def __init__(self, db: Database, marks: bytes) -> None:
        """`db` is what is read: a file that is needed stands beside it, where there is room for such a value."""
        self._path = db.path
        self._held = bytearray(marks[:1])
        self._end = marks[1:]
        self._file: IO[bytes] | None = None
        self._size = 0

    def value(self) -> Raw | LongValue:
        """What was written, whole."""
        self._held += self._end
        if self._file is None:
            return Raw(bytes(self._held))
        file = self._write_out()
        return LongValue(file, self._size)

    def _write_out(self) -> IO[bytes]:
        """Move what is held into the file.

        Raises:
            StorageFailed: it cannot be written.
        """
        try:
            if self._file is None:
                self._file = _nameless_file(os.path.dirname(self._path))
            self._file.write(self._held)
            self._file.flush()
        except OSError as error:
            told = f"the reply is too long for memory and cannot be put on disk: {error.strerror}"
            raise StorageFailed(told, retryable=True) from error
        self._size += len(self._held)
        self._held.clear()
        return self._file


def _nameless_file(folder: str) -> IO[bytes]:
    import tempfile  # takes long, and few replies are that long

    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:
        # A database that is only read may stand where nothing can be written.
        return tempfile.TemporaryFile()


class ArrayWriter(_Writer):
    """An array."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, b"[]")
        self._is_empty = True

    def add(self, item: Any) -> None:
        """Add an item at the end."""
        self.extend((item,))

    def extend(self, items: Iterable[Any]) -> None:
        """Add items at the end, which are taken one by one."""
        held, encode_into = self._held, _encoder.encode_into
        for item in items:
            if not self._is_empty:
                held += b","
            self._is_empty = False
            encode_into(item, held, -1)
            if len(held) > IN_MEMORY:
                self._write_out()


class TextWriter(_Writer):
    """A text."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, b'""')

    def add(self, text: str) -> None:
        """Add more of it at the end."""
        self._held += _encoder.encode(text)[1:-1]
        if len(self._held) > IN_MEMORY:
            self._write_out()


def array(db: Database, items: Iterable[Any]) -> Raw | LongValue:
    """The array of items, which are read one by one."""
    writer = ArrayWriter(db)
    writer.extend(items)
    return writer.value()
