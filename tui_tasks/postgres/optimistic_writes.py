"""Decides which writes begin without the journal's lock, which saves a round trip.

The server refuses such a write if others have written since; then it is decided again with the lock. A connection that
was idle, lost, or has something to read takes the lock: it is tried before anything is written.
"""

from __future__ import annotations

import math
import select
import time
from typing import Final

USED_SECONDS: Final = 1.0
"""A connection that has answered no longer ago is taken to be whole."""
LOCKED_WRITES: Final = 8
"""After others have written meanwhile, so many writes take the lock: several busy writers queue."""


class OptimisticWrites:
    """What one client of the server has seen of it."""

    def __init__(self) -> None:
        self._answered_at = -math.inf
        self._server_now = 0
        self._locked = 0

    def note_answer(self, server_now: int) -> None:
        """Record the server's time, in microseconds, as of an answer that has just come."""
        self._answered_at, self._server_now = time.monotonic(), server_now

    def note_lock(self, *, has_news: bool) -> None:
        """Record that a write has taken the lock; `has_news`: others had written since the last one."""
        self._locked = LOCKED_WRITES if has_news else max(0, self._locked - 1)

    def note_conflict(self) -> None:
        """Record that a write was refused, because others have written."""
        self._locked = LOCKED_WRITES

    def note_lost(self) -> None:
        """Record that the connection has ended."""
        self._answered_at = -math.inf

    def server_time(self, socket: int) -> int | None:
        """Return the server's time, never ahead of it, if the next write may begin without the lock; else None.

        `socket` is that of the connection, in autocommit.
        """
        idle = time.monotonic() - self._answered_at
        if self._locked or idle > USED_SECONDS or _has_news(socket):
            return None
        return self._server_now + int(idle * 1_000_000)


def _has_news(socket: int) -> bool:
    """Return whether a socket has data or its end to read, or is broken."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
