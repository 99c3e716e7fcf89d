"""Buffers of a run's output on its way into the database, in bounded memory. All sizes are in bytes."""

from __future__ import annotations

from collections import deque
from typing import Final

from tui_tasks.core.unjournaled.run_output import HEAD, TAIL
from tui_tasks.text.output_lines import telling_line

PIECE: Final = 32 * 1024
# The end of standard output that becomes the run's result.
RESULT: Final = 256 * 1024
# The end of standard error, else of standard output, that is searched for the line that says why a run failed.
LAST_WORDS: Final = 4 * 1024
MAX_REASON: Final = 200
# The end of both streams together that is kept with a check.
LAST_OUTPUT: Final = 16 * 1024


class OutputLog:
    """The pieces of a run's output that are not yet in the database."""

    def __init__(self) -> None:
        self.total = 0
        self._written = 0
        self._unfinished = bytearray()
        self._head: list[tuple[int, bytes]] = []
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=TAIL // PIECE)

    def feed(self, data: bytes) -> None:
        """Append output."""
        view = memoryview(data)
        while view:
            part = view[: PIECE - len(self._unfinished)]
            self._unfinished += part
            self.total += len(part)
            view = view[len(part) :]
            if len(self._unfinished) == PIECE:
                self._close_piece()

    def _close_piece(self) -> None:
        start = self.total - PIECE
        pieces = self._head if start < HEAD else self._tail
        pieces.append((start, bytes(self._unfinished)))
        self._unfinished.clear()

    @property
    def pending(self) -> bool:
        """Whether there is output to write."""
        return self.total > self._written

    def unwritten_pieces(self) -> list[tuple[int, bytes]]:
        """Return the pieces to write as (offset, bytes): full pieces once, the last one again as it grows."""
        pieces = [*self._head, *self._tail]
        if self._unfinished:
            pieces.append((self.total - len(self._unfinished), bytes(self._unfinished)))
        return pieces

    def mark_written(self) -> None:
        """Forget the pieces that `unwritten_pieces` returned, which are now in the database."""
        self._head.clear()
        self._tail.clear()
        self._written = self.total


class StreamTail:
    """The last `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Append bytes of the stream."""
        self._data += data
        if len(self._data) > 2 * self._limit:
            self._drop_excess()

    def _drop_excess(self) -> None:
        extra = len(self._data) - self._limit
        if extra > 0:
            del self._data[:extra]
            self._dropped += extra

    def text(self) -> str:
        """Return the end as text, after a note if bytes were left out; bytes that are not UTF-8 become U+FFFD."""
        self._drop_excess()
        if not self._dropped:
            return self._data.decode(errors="replace")
        # The cut may have split a character.
        start = next((at for at in range(min(4, len(self._data))) if self._data[at] & 0xC0 != 0x80), 0)
        return f"[… {self._dropped + start:,} bytes left out …]\n{self._data[start:].decode(errors='replace')}"

    def telling_line(self) -> str:
        """Return the line that says why it ended (see `output_lines`), at most `MAX_REASON` characters of it."""
        return telling_line(self._data[-LAST_WORDS:].decode(errors="replace"))[:MAX_REASON]
