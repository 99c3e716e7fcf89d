"""Buffers lines for a reader, and writes as much of them as it takes (docs: protocol, section 3)."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterator
from itertools import chain

from tui_tasks.channel.replies import LongLine, ReplyLine, whole


class Unwritable(Exception):
    """The output cannot be written, for example to a full disk, although its reader has not closed it."""


class OutputQueue:
    """Buffers lines for a reader that may stop reading; it neither blocks nor drops lines.

    Attributes:
        size: the number of bytes not yet written.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._lines: deque[ReplyLine] = deque()
        # The remaining parts of a line that is not in memory.
        self._parts: Iterator[bytes] = iter(())
        self._unwritten = memoryview(b"")
        # The last line that was begun in parts, and how many of its bytes are not written.
        self._long: LongLine | None = None
        self._long_left = 0
        self._writable = select.poll()
        self._writable.register(fd, select.POLLOUT)
        self.size = 0

    def put(self, line: ReplyLine) -> None:
        """Append a line, given without its newline."""
        self._lines.append(line)
        self.size += (len(line) if isinstance(line, bytes) else line.size) + 1

    def _next(self) -> bytes:
        """Return the next bytes to write: all lines in memory, or a part of one that is in a file."""
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
            self._long, self._long_left = line, line.size + 1
            return next(self._parts)
        return b"".join(ready)

    def flush(self) -> None:
        """Write as much as is possible without blocking.

        Raises:
            ConnectionError: the reader is gone.
            Unwritable: the output cannot be written for another reason.
        """
        while self.size:
            if not self._unwritten:
                self._unwritten = memoryview(self._next())
            if not self._writable.poll(0):
                return
            # A writable pipe accepts PIPE_BUF bytes without blocking; more could block.
            try:
                written = os.write(self.fd, self._unwritten[: select.PIPE_BUF])
            except ConnectionError:
                raise
            except OSError as error:
                raise Unwritable(error.strerror) from error
            self._unwritten = self._unwritten[written:]
            self.size -= written
            if self._long_left:
                self._long_left -= written

    def unwritten_lines(self) -> Iterator[bytes]:
        """Return the lines that are not written to their end, whole, without their newlines."""
        if self._long_left and self._long is not None:
            yield self._long.whole()
        elif self._unwritten:
            lines: bytes = self._unwritten.obj  # type: ignore[assignment]
            begin = lines.rfind(b"\n", 0, len(lines) - len(self._unwritten)) + 1
            yield from lines[begin:-1].split(b"\n")
        yield from map(whole, self._lines)
