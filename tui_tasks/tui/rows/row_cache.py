"""The rows around those on screen, as they are read by key from a `Source`: a few screens of them, whatever it has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

R = TypeVar("R")

# Rows are read up to a screen beyond those shown, a few screens at a time, and forgotten when farther off than that.
AHEAD: Final = 1
AT_ONCE: Final = 3
KEPT: Final = 4


class RowPage(list[R]):
    """Rows that were read. `cut`: reading took long and was broken off; asking again goes on from there."""

    cut: bool = False


class Source(Protocol[R]):
    """An ordered set of rows, read by key. Rows that are equal look alike."""

    def first(self, limit: int) -> Sequence[R]:
        """The first rows, in order."""

    def last(self, limit: int) -> Sequence[R]:
        """The last rows, in order."""

    def after(self, row: R, limit: int) -> Sequence[R]:
        """The rows that follow one, in order; the row itself may be gone by now."""

    def before(self, row: R, limit: int) -> Sequence[R]:
        """The rows that come right before one, in order."""

    def find(self, keys: Collection[str]) -> dict[str, R]:
        """Those of the keys that are in the set, with their rows."""

    def key(self, row: R) -> str:
        """What names a row for good."""

    def order(self, row: R) -> Any:
        """What sorts it."""

    def place(self, row: R) -> int:
        """How many rows come before it, where that is known at little cost; else -1."""

    def total(self) -> int:
        """How many rows there are, where that is known at little cost; else -1."""


class RowCache(Generic[R]):
    """A few screens of a source's rows, `top` being the index of the first on screen, `height` how many are."""

    def __init__(self) -> None:
        self.source: Source[R] | None = None
        self.rows: list[R] = []
        self.top = 0
        self.height = 0
        self.base = -1  # how many rows come before `rows[0]`; -1: not known
        self._at: dict[str, int] = {}
        self._at_start = self._at_end = True
        self._from_end = False
        self.pending = False  # reading was broken off: `Rows.proceed`

    @property
    def on_screen(self) -> list[R]:
        """The rows on screen, from the top."""
        return self.rows[self.top : self.top + self.height]

    @property
    def at_end(self) -> bool:
        """Whether the last row there is stands on screen."""
        return self._at_end and self.top + self.height >= len(self.rows)

    def index(self, key: str) -> int | None:
        """Where in `rows` a key is."""
        return self._at.get(key)

    def key(self, row: R) -> str:
        """The key of a row."""
        assert self.source is not None
        return self.source.key(row)

    @property
    def _wanted(self) -> int:
        return max(self.height, 1) * AT_ONCE

    def _take_edge(self) -> None:
        """Hold the first rows, or the last where they are shown from the end."""
        assert self.source is not None
        rows = self.source.last(self._wanted) if self._from_end else self.source.first(self._wanted)
        self._take(rows, start=not self._from_end)

    def _take(self, rows: Sequence[R], *, start: bool) -> None:
        """Hold these rows, which are the first or the last."""
        all_there = len(rows) < self._wanted and not self._was_cut(rows)
        self.rows = list(rows)
        self._at_start, self._at_end = start or all_there, not start or all_there
        self.top = 0 if start else len(rows) - self.height
        self._index()
        self._note_base()
        self._clamp()

    def _take_around(self, place: R, row: R | None) -> None:
        assert self.source is not None
        before, after = self.source.before(place, self._wanted), self.source.after(place, self._wanted)
        self._at_start = len(before) < self._wanted and not self._was_cut(before)
        self._at_end = len(after) < self._wanted and not self._was_cut(after)
        self.rows = [*before, *([row] if row is not None else []), *after]
        self._index()
        self._note_base()

    def _was_cut(self, rows: Sequence[R]) -> bool:
        cut: bool = getattr(rows, "cut", False)
        self.pending = self.pending or cut
        return cut

    def _index(self) -> None:
        self._at = {self.key(row): at for at, row in enumerate(self.rows)}

    def _note_base(self) -> None:
        assert self.source is not None
        self.base = self.source.place(self.rows[0]) if self.rows else 0

    def _extend(self) -> None:
        """Read on where the screen comes near an end of what is held."""
        if self.source is None or not self.rows:
            return
        near = self.height * AHEAD
        if self.top < near and not self._at_start:
            self._read_before(self._wanted)
        if self.top + self.height + near > len(self.rows) and not self._at_end:
            self._read_after(self._wanted)
        self._trim()

    def _read_to(self, at: int) -> None:
        """Read on until an index is held, as far as there are rows that way."""
        if not self.rows:
            return
        if at < 0 and not self._at_start:
            self._read_before(max(self._wanted, -at))
        elif at >= len(self.rows) and not self._at_end:
            self._read_after(max(self._wanted, at - len(self.rows) + 1))

    def _read_before(self, limit: int) -> None:
        assert self.source is not None
        more = self.source.before(self.rows[0], limit)
        self._at_start = len(more) < limit and not self._was_cut(more)
        self.rows[:0] = more
        self.top += len(more)
        self.base = self.base - len(more) if self.base >= 0 else -1
        self._index()

    def _read_after(self, limit: int) -> None:
        assert self.source is not None
        more = self.source.after(self.rows[-1], limit)
        self._at_end = len(more) < limit and not self._was_cut(more)
        self.rows += more
        self._index()

    def _trim(self) -> None:
        """Forget the rows that are far from the screen."""
        far = self.height * KEPT
        if len(self.rows) <= 2 * far + self.height + self._wanted:
            return
        low, high = max(0, self.top - far), self.top + self.height + far
        if high < len(self.rows):
            del self.rows[high:]
            self._at_end = False
        if low > 0:
            del self.rows[:low]
            self.top -= low
            self.base = self.base + low if self.base >= 0 else -1
            self._at_start = False
        self._index()

    def _clamp(self) -> None:
        self.top = max(0, min(self.top, len(self.rows) - self.height))

    def _is_moved(self, key: str, row: R | None) -> bool:
        """Whether a row has come, gone, or is sorted elsewhere than where it is held."""
        assert self.source is not None
        at = self._at.get(key)
        if at is None or row is None:
            return at is not None or row is not None
        return bool(self.source.order(self.rows[at]) != self.source.order(row))

    def _insert(self, row: R) -> None:
        """Put a row in where it belongs, unless that is beyond what is held."""
        assert self.source is not None
        at = bisect_left(self.rows, self.source.order(row), key=self.source.order)
        if (at > 0 or self._at_start) and (at < len(self.rows) or self._at_end):
            self.rows.insert(at, row)
