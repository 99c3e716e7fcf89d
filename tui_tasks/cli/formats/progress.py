"""A line on standard error that tells how far long work has come, where that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Final

from tui_tasks.core.store import Transaction

_FIRST: Final = 0.5
_BETWEEN: Final = 0.1
_CELLS: Final = 24


class ProgressBar:
    """Counts steps of `total`; nothing is drawn for work that is soon over, nor where nobody sees it."""

    def __init__(self, word: str, total: int = 0) -> None:
        self._word, self._total, self._done = word, total, 0
        self._is_seen = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST
        self._is_drawn = False

    def report(self, done: int, total: int) -> None:
        """So much is done, of so much."""
        self._done, self._total = done - 1, total
        self.step()

    def begin(self, _: Transaction) -> None:
        """The work begins."""

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._is_seen and time.monotonic() >= self._next:
            self._draw()

    def _draw(self) -> None:
        self._next = time.monotonic() + _BETWEEN
        self._is_drawn = True
        done = min(self._done, self._total)
        filled = _CELLS * done // max(self._total, 1)
        bar = "#" * filled + "." * (_CELLS - filled)
        print(f"\r{self._word} [{bar}] {done:,} of {self._total:,}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
