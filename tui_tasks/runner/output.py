"""The output of a run on its way into the database: bounded in memory however much comes."""

from __future__ import annotations

from collections import deque
from typing import Final

from tui_tasks.core.schedule.run_logs import HEAD, TAIL

PIECE: Final = 32 * 1024
# So much of the end of standard output is the result.
RESULT: Final = 256 * 1024
# So much of the end of standard error is looked through for its last line.
LAST_WORDS: Final = 4 * 1024
MAX_LINE: Final = 200
# So much of the end of both streams together is kept with a check.
LAST_OUTPUT: Final = 16 * 1024


class Log:
    """The pieces of a run's output that are still to be written."""

    def __init__(self) -> None:
        self.total = 0
        self._written = 0
        self._open = bytearray()
        self._head: list[tuple[int, bytes]] = []
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=TAIL // PIECE)

    def feed(self, data: bytes) -> None:
        """Take more output in."""
        view = memoryview(data)
        while view:
            part = view[: PIECE - len(self._open)]
            self._open += part
            self.total += len(part)
            view = view[len(part) :]
            if len(self._open) == PIECE:
                self._close_piece()

    def _close_piece(self) -> None:
        start = self.total - PIECE
        pieces = self._head if start < HEAD else self._tail
        pieces.append((start, bytes(self._open)))
        self._open.clear()

    @property
    def pending(self) -> bool:
        """Whether there is something to write."""
        return self.total > self._written

    def take(self) -> list[tuple[int, bytes]]:
        """What is to be written: whole pieces once, the last one again as it grows."""
        pieces = [*self._head, *self._tail]
        if self._open:
            pieces.append((self.total - len(self._open), bytes(self._open)))
        return pieces

    def written(self) -> None:
        """What `take` gave is in the database."""
        self._head.clear()
        self._tail.clear()
        self._written = self.total


class End:
    """The end of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Take more of the stream in."""
        self._held += data
        if len(self._held) > 2 * self._limit:
            self._cut()

    def _cut(self) -> None:
        extra = len(self._held) - self._limit
        if extra > 0:
            del self._held[:extra]
            self._dropped += extra

    def text(self) -> str:
        """The end as text, with a mark before it where something was left out; no UTF-8 as U+FFFD."""
        self._cut()
        if not self._dropped:
            return self._held.decode(errors="replace")
        # The cut may have gone through a character.
        start = next((at for at in range(min(4, len(self._held))) if self._held[at] & 0xC0 != 0x80), 0)
        return f"[… {self._dropped + start:,} bytes left out …]\n{self._held[start:].decode(errors='replace')}"

    def last_line(self) -> str:
        """The last line that is not blank, cut; "" where there is none."""
        lines = [line for line in self._held.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip()[:MAX_LINE] if lines else ""
