"""Long lists as JSON: a page of them, or written item by item.

Short values stay in memory. Long ones go into a temporary file, so that neither the list nor a slow reader takes
memory, and the read transaction ends before the reader begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import IO, Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed
from tui_tasks.dialects.requests.arguments import Arguments, Natural, TaskUid

# A value with more bytes goes into a file.
MEMORY_BYTES: Final = 256 * 1024
_encoder: Final = msgspec.json.Encoder()


class LongValue:
    """A JSON value in a temporary file, which is deleted with this object. `size` is in bytes."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size

    def parts(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the value in parts of at most so many bytes."""
        at = 0
        while part := os.pread(self._file.fileno(), max_bytes, at):
            at += len(part)
            yield part


class _Writer:
    """Writes a value between two brackets or quotation marks."""

    def __init__(self, db: Database, marks: bytes) -> None:
        """A temporary file is created in the folder of `db`, which has room for such a value."""
        self._path = db.path
        self._buffer = bytearray(marks[:1])
        self._end = marks[1:]
        self._file: IO[bytes] | None = None
        self._size = 0

    def value(self) -> Raw | LongValue:
        """Return the whole value.

        Raises:
            StorageFailed: it is long, and cannot be written to the file.
        """
        self._buffer += self._end
        if self._file is None:
            return Raw(bytes(self._buffer))
        file = self._spill()
        return LongValue(file, self._size)

    def _spill(self) -> IO[bytes]:
        """Move the buffer into the file.

        Raises:
            StorageFailed: it cannot be written.
        """
        try:
            if self._file is None:
                self._file = _temporary_file(os.path.dirname(self._path))
            self._file.write(self._buffer)
            self._file.flush()
        except OSError as error:
            message = f"the reply is too long for memory and cannot be put on disk: {error.strerror}"
            raise StorageFailed(message, retryable=True) from error
        self._size += len(self._buffer)
        self._buffer.clear()
        return self._file


def _temporary_file(folder: str) -> IO[bytes]:
    import tempfile  # imported here, as few replies are that long

    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError:
        # The folder of a database that is only read may not be writable.
        return tempfile.TemporaryFile()


class ArrayWriter(_Writer):
    """Writes an array."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, b"[]")
        self._is_empty = True

    def add(self, item: Any) -> None:
        """Append an item."""
        self.extend((item,))

    def extend(self, items: Iterable[Any]) -> None:
        """Append items, reading them one by one."""
        buffer, encode_into = self._buffer, _encoder.encode_into
        for item in items:
            if not self._is_empty:
                buffer += b","
            self._is_empty = False
            encode_into(item, buffer, -1)
            if len(buffer) > MEMORY_BYTES:
                self._spill()


class TextWriter(_Writer):
    """Writes a string."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, b'""')

    def add(self, text: str) -> None:
        """Append text."""
        self._buffer += _encoder.encode(text)[1:-1]
        if len(self._buffer) > MEMORY_BYTES:
            self._spill()


def json_array(db: Database, items: Iterable[Any]) -> Raw | LongValue:
    """Return an array of items, which are read one by one.

    Raises:
        StorageFailed: it is long, and cannot be written to a file.
    """
    writer = ArrayWriter(db)
    writer.extend(items)
    return writer.value()


T = TypeVar("T")

After = Annotated[TaskUid, Meta(description="The last one read.")]
# Whether only ids, titles and statuses are returned.
Brief = bool


class Page(Arguments, kw_only=True):
    """The arguments that choose a page of a list of tasks."""

    limit: Natural | None = None
    after: After | None = None
    brief: Brief = False


def page_array(
    db: Database,
    items: Generator[T, None, None],
    limit: int | None,
    to_json: Callable[[T], dict[str, Any]],
    keys: Collection[str] | None = None,
) -> Raw | LongValue:
    """Return the first `limit` items as an array, each converted by `to_json`; with `keys`, only those members."""
    with closing(items):
        chosen = map(to_json, islice(items, limit))
        return json_array(db, chosen if keys is None else ({key: item[key] for key in keys} for item in chosen))
