"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from tui_tasks.core.commit.transaction import Transaction

_T = TypeVar("_T")
_FIRST_DRAW_S: Final = 0.5
_DRAW_INTERVAL_S: Final = 0.1
_CELLS: Final = 24


class ProgressBar:
    """Counts steps of `total` (0: unknown), and draws the count while the context is open.

    Nothing is drawn in the first half second, or if standard error is no terminal.
    """

    def __init__(self, word: str, total: int = 0) -> None:
        self._word, self._total, self._done = word, total, 0
        self._is_seen = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST_DRAW_S
        self._is_drawn = False

    def report(self, done: int, total: int) -> None:
        """Set the number of steps done and their total, and draw."""
        self._done, self._total = done - 1, total
        self.step()

    def begin(self, _: Transaction) -> None:
        """Do nothing: a long operation calls it when its transaction begins."""

    def step(self) -> None:
        """Count one step as done."""
        self._done += 1
        if self._is_seen and time.monotonic() >= self._next:
            self._draw()

    def each(self, parts: Iterable[_T]) -> Iterator[_T]:
        """Yield the parts, counting a step after each."""
        for part in parts:
            yield part
            self.step()

    def _draw(self) -> None:
        self._next = time.monotonic() + _DRAW_INTERVAL_S
        self._is_drawn = True
        if not self._total:
            print(f"\r{self._word} {self._done:,}", end="", file=sys.stderr, flush=True)
            return
        done = min(self._done, self._total)
        filled = _CELLS * done // self._total
        bar = "#" * filled + "." * (_CELLS - filled)
        print(f"\r{self._word} [{bar}] {done:,} of {self._total:,}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line from the terminal."""
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
