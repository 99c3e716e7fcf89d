"""Bytes and lines: what comes in on one descriptor, what goes out on another (docs: protocol, sections 2 and 3)."""

from __future__ import annotations

import enum
import os
import select
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from tui_tasks.channel.not_json import how_to_mend
from tui_tasks.channel.replies import LongLine, ReplyLine
from tui_tasks.core.errors import ParseError, TooLarge
from tui_tasks.dialects.requests import strict_json

MAX_LINE: Final = 1024 * 1024
CHUNK: Final = 64 * 1024


class LineSplitter:
    """Cuts a stream into JSON values; a line that is too long is passed over without being held."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._passing_over = False
        # What the line before, which is no JSON, says of the next one.
        self._goes_on = _Goes.NOT_ON

    def feed(self, data: bytes) -> list[Any]:
        """Take more of the stream; return the values of the lines it ends.

        A `Refusal` stands for a line that has none. No data is the end of the stream, where the last line needs no
        end of its own.
        """
        values: list[Any] = []
        *ended, rest = data.split(b"\n") if data else (b"", b"")
        for part in ended:
            values += self._line(part)
        if not self._passing_over:
            self._held += rest
            if len(self._held) > MAX_LINE + 1:
                self._held.clear()
                self._passing_over = True
        return values

    def _line(self, part: bytes) -> list[Any]:
        line = bytes(self._held) + part if self._held else part
        self._held.clear()
        if self._passing_over:
            self._passing_over = False
            return [_too_large()]
        line = line.removesuffix(b"\r")
        if len(line) > MAX_LINE:
            return [_too_large()]
        if not line or line.isspace():
            return []
        goes_on, self._goes_on = self._goes_on, _Goes.NOT_ON
        try:
            value = strict_json.load_line(line)
        except ParseError as error:
            self._goes_on = _how_it_goes_on(line)
            if error.message.startswith((strict_json.NO_JSON, strict_json.NOT_UTF_8)):
                return [ParseError(f"{error.message}: {how_to_mend(line, error.message)}")]
            return [error]
        if goes_on is _Goes.ON or (goes_on is _Goes.ON_INDENTED and line[:1].isspace()):
            return [
                ParseError("the end of a value that began on a line before, all of which is refused: " + _ONE_A_LINE)
            ]
        return [value]


_ONE_A_LINE: Final = "send one JSON value a line, a batch too"


class _Goes(enum.Enum):
    """Whether a line that is no JSON is the beginning of a value over several: what else was asked for is broken too.

    A bracket alone may also be noise, and what comes after it is no part of it unless it is indented.
    """

    NOT_ON = enum.auto()
    ON_INDENTED = enum.auto()
    ON = enum.auto()


def _how_it_goes_on(line: bytes) -> _Goes:
    line = line.strip()
    if not line.endswith((b"[", b"{", b",", b":")):
        return _Goes.NOT_ON
    try:
        strict_json.load_line(line[:-1])
    except ParseError:
        return _Goes.ON_INDENTED
    return _Goes.ON


def _too_large() -> TooLarge:
    return TooLarge(f"a line of over {MAX_LINE:,} bytes was dropped", limit=MAX_LINE)


class Unwritable(Exception):
    """What replies are written to takes none, though nobody has closed it: a full disk, say."""


class Outbox:
    """Lines on their way to a reader who may stand still: nothing blocks, nothing is dropped."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._lines: deque[ReplyLine] = deque()
        # What is left of a line that is not held in memory.
        self._parts: Iterator[bytes] = iter(())
        self._front = memoryview(b"")
        self._writable = select.poll()
        self._writable.register(fd, select.POLLOUT)
        self.size = 0

    def put(self, line: ReplyLine) -> None:
        """Add a line, given without its end."""
        self._lines.append(line)
        self.size += (len(line) if isinstance(line, bytes) else line.size) + 1

    def _next(self) -> bytes:
        """What is to be written next: every line that is held in memory, or a part of one that is not."""
        if part := next(self._parts, b""):
            return part
        ready: list[bytes] = []
        while self._lines and not isinstance(line := self._lines[0], LongLine):
            ready.append(line + b"\n")
            self._lines.popleft()
        if not ready:
            line = self._lines.popleft()
            assert isinstance(line, LongLine)
            self._parts = chain(line.parts(), (b"\n",))
            return next(self._parts)
        return b"".join(ready)

    def flush(self) -> None:
        """Write as much as can be written without blocking.

        Raises:
            ConnectionError: the reader is gone.
            Unwritable: what is written to takes nothing.
        """
        while self.size:
            if not self._front:
                self._front = memoryview(self._next())
            if not self._writable.poll(0):
                return
            # A pipe that is ready takes this much whole; more could block.
            try:
                written = os.write(self.fd, self._front[: select.PIPE_BUF])
            except ConnectionError:
                raise
            except OSError as error:
                raise Unwritable(error.strerror) from error
            self._front = self._front[written:]
            self.size -= written
