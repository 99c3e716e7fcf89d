"""How much of a soak is done: a share of its figure, and no more than so many minutes."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator


class Budget:
    """`share` of the promise's figure (1 is all of it), until `minutes` are over where they are given."""

    def __init__(self, share: float = 1.0, minutes: float | None = None) -> None:
        self.share = share
        self.minutes = minutes
        self._end = None if minutes is None else time.monotonic() + minutes * 60

    @property
    def is_over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    @property
    def seconds(self) -> float:
        """How many are left."""
        return math.inf if self._end is None else max(0.0, self._end - time.monotonic())

    def of(self, figure: int, least: int = 1) -> int:
        """The share of a figure, `least` at the least."""
        return max(least, int(figure * self.share))

    def times(self, figure: int, least: int = 1) -> Iterator[int]:
        """Count up to the share of a figure, or to the end of the minutes; how far it has come is told each minute."""
        told = time.monotonic()
        for number in range(self.of(figure, least)):
            if number >= least and self.is_over:
                return
            if time.monotonic() - told > 60:
                told = time.monotonic()
                print(f"  {number:,} of {self.of(figure, least):,}", file=sys.stderr, flush=True)
            yield number
