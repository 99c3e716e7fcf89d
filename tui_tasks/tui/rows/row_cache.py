"""Sources of rows, and a cache of the rows on screen and around it: a few screens, whatever the size of the source.

A source is an ordered set that is read by key and a page at a time; one kind fits in memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

R = TypeVar("R")


class InMemorySource(Generic[R]):
    """A `Source` of rows in memory, sorted by `order`."""

    def __init__(self, key: Callable[[R], str], order: Callable[[R], Any]) -> None:
        self._key = key
        self._order = order
        self.rows: list[R] = []
        self._by_key: dict[str, R] = {}

    def replace(self, rows: Iterable[R]) -> set[str]:
        """Replace all rows; return the keys of those that were added, changed or removed."""
        self.rows = sorted(rows, key=self._order)
        before, self._by_key = self._by_key, {self._key(row): row for row in self.rows}
        both = before.keys() | self._by_key.keys()
        return {key for key in both if before.get(key) != self._by_key.get(key)}

    def get(self, key: str | None) -> R | None:
        """Return the row of a key."""
        return None if key is None else self._by_key.get(key)

    def first(self, limit: int) -> list[R]:
        """See `Source`."""
        return self.rows[:limit]

    def last(self, limit: int) -> list[R]:
        """See `Source`."""
        return self.rows[-limit:]

    def after(self, row: R, limit: int) -> list[R]:
        """See `Source`."""
        at = bisect_right(self.rows, self._order(row), key=self._order)
        return self.rows[at : at + limit]

    def before(self, row: R, limit: int) -> list[R]:
        """See `Source`."""
        at = bisect_left(self.rows, self._order(row), key=self._order)
        return self.rows[max(0, at - limit) : at]

    def find(self, keys: Collection[str]) -> dict[str, R]:
        """See `Source`."""
        return {key: self._by_key[key] for key in keys if key in self._by_key}

    def key(self, row: R) -> str:
        """See `Source`."""
        return self._key(row)

    def order(self, row: R) -> Any:
        """See `Source`."""
        return self._order(row)

    def place(self, row: R) -> int:
        """See `Source`."""
        return bisect_left(self.rows, self._order(row), key=self._order)

    def total(self) -> int:
        """See `Source`."""
        return len(self.rows)


class RowPage(list[R]):
    """Rows as read. `cut`: the read ended early so that keys are handled; repeated, it continues from there."""

    cut: bool = False


class Source(Protocol[R]):
    """An ordered set of rows. Two rows that are equal look the same on screen."""

    def first(self, limit: int) -> Sequence[R]:
        """Return the first rows, in order."""

    def last(self, limit: int) -> Sequence[R]:
        """Return the last rows, in order."""

    def after(self, row: R, limit: int) -> Sequence[R]:
        """Return the rows after one, in order. The row itself may be gone."""

    def before(self, row: R, limit: int) -> Sequence[R]:
        """Return the rows right before one, in order. The row itself may be gone."""

    def find(self, keys: Collection[str]) -> dict[str, R]:
        """Return the rows of those keys that are in the set."""

    def key(self, row: R) -> str:
        """Return the key that names a row for as long as it exists."""

    def order(self, row: R) -> Any:
        """Return the value that the set is sorted by."""

    def place(self, row: R) -> int:
        """Return how many rows come before one; -1 when they would have to be counted."""

    def total(self) -> int:
        """Return how many rows there are; -1 when they would have to be counted."""


# In screens: rows are read, PAGE at a time, when fewer than AHEAD remain beyond the screen, and dropped when they are
# more than KEPT away from it.
AHEAD: Final = 1
PAGE: Final = 3
KEPT: Final = 4


class RowCache(Generic[R]):
    """A contiguous run of a source's rows. `top` is the index of the first row on screen, `height` how many rows fit.

    Keys are stable while indexes change with every read, so callers keep keys and look the index up.
    """

    def __init__(self) -> None:
        self.source: Source[R] | None = None
        self.rows: list[R] = []
        self.top = 0
        self.height = 0
        self.base = -1
        """How many rows of the source come before `rows[0]`; -1 where that is not known."""
        self.has_first = self.has_last = True
        """Whether the first and the last row of the source are among `rows`."""
        self.is_cut = False
        """Whether a read ended early (`RowPage.cut`), so that there may be more rows than are held."""
        self._index: dict[str, int] = {}

    @property
    def on_screen(self) -> list[R]:
        """The rows on screen, from the top."""
        return self.rows[self.top : self.top + self.height]

    @property
    def at_end(self) -> bool:
        """Whether the last row of the source is on screen."""
        return self.has_last and self.top + self.height >= len(self.rows)

    def index(self, key: str | None) -> int | None:
        """Return the index of a key in `rows`."""
        return None if key is None else self._index.get(key)

    def key(self, row: R) -> str:
        """Return the key of a row."""
        assert self.source is not None
        return self.source.key(row)

    def position(self, row: R) -> int:
        """Return the index that a row has in `rows`, or would have."""
        assert self.source is not None
        return bisect_left(self.rows, self.source.order(row), key=self.source.order)

    # Reading

    def clear(self, source: Source[R] | None) -> None:
        """Drop all rows and use another source."""
        self.source, self.rows, self._index, self.top, self.base = source, [], {}, 0, -1

    def read_first(self) -> None:
        """Hold the first rows, with the first on screen."""
        assert self.source is not None
        self._hold_edge(self.source.first(self._page), is_first=True)

    def read_last(self) -> None:
        """Hold the last rows, with the last on screen."""
        assert self.source is not None
        self._hold_edge(self.source.last(self._page), is_first=False)

    def _hold_edge(self, rows: Sequence[R], *, is_first: bool) -> None:
        is_all = len(rows) < self._page and not self._note_cut(rows)
        self.rows = list(rows)
        self.has_first, self.has_last = is_first or is_all, not is_first or is_all
        self.top = 0 if is_first else len(rows) - self.height
        self._reindex()
        self.update_base()
        self.clamp()

    def read_around(self, place: R, row: R | None) -> None:
        """Read the rows on both sides of `place`; between them goes `row`, as it is now, unless it is gone."""
        assert self.source is not None
        before, after = self.source.before(place, self._page), self.source.after(place, self._page)
        self.has_first = len(before) < self._page and not self._note_cut(before)
        self.has_last = len(after) < self._page and not self._note_cut(after)
        self.rows = [*before, *([row] if row is not None else []), *after]
        self._reindex()
        self.update_base()

    def read_to(self, index: int) -> None:
        """Read on until an index is in the cache, or the source ends. Indexes may change."""
        if not self.rows:
            return
        if index < 0 and not self.has_first:
            self._read_before(max(self._page, -index))
        elif index >= len(self.rows) and not self.has_last:
            self._read_after(max(self._page, index - len(self.rows) + 1))

    def fill(self) -> None:
        """Read on when the screen is near an end of the cache, drop rows far from it, and fill the screen."""
        if self.source is not None and self.rows:
            near = self.height * AHEAD
            if self.top < near and not self.has_first:
                self._read_before(self._page)
            if self.top + self.height + near > len(self.rows) and not self.has_last:
                self._read_after(self._page)
            self._drop_far()
        self.clamp()

    def scroll(self, by: int) -> None:
        """Move the screen by rows, down where `by` is above 0."""
        self.read_to(self.top + by)
        self.read_to(self.top + by + self.height - 1)
        self.top += by
        self.clamp()
        self.fill()

    def clamp(self) -> None:
        """Leave no empty lines on screen while there are rows for them."""
        self.top = max(0, min(self.top, len(self.rows) - self.height))

    @property
    def _page(self) -> int:
        return max(self.height, 1) * PAGE

    def _read_before(self, limit: int) -> None:
        assert self.source is not None
        more = self.source.before(self.rows[0], limit)
        self.has_first = len(more) < limit and not self._note_cut(more)
        self.rows[:0] = more
        self.top += len(more)
        self.base = self.base - len(more) if self.base >= 0 else -1
        self._reindex()

    def _read_after(self, limit: int) -> None:
        assert self.source is not None
        more = self.source.after(self.rows[-1], limit)
        self.has_last = len(more) < limit and not self._note_cut(more)
        self.rows += more
        self._reindex()

    def _note_cut(self, rows: Sequence[R]) -> bool:
        is_cut: bool = getattr(rows, "cut", False)
        self.is_cut = self.is_cut or is_cut
        return is_cut

    def _drop_far(self) -> None:
        kept = self.height * KEPT
        # A page of slack, so that scrolling back and forth does not read and drop the same rows.
        if len(self.rows) <= 2 * kept + self.height + self._page:
            return
        low, high = max(0, self.top - kept), self.top + self.height + kept
        if high < len(self.rows):
            del self.rows[high:]
            self.has_last = False
        if low > 0:
            del self.rows[:low]
            self.top -= low
            self.base = self.base + low if self.base >= 0 else -1
            self.has_first = False
        self._reindex()

    def _reindex(self) -> None:
        self._index = {self.key(row): at for at, row in enumerate(self.rows)}

    # Changes

    def update(self, keys: set[str], found: dict[str, R]) -> set[str]:
        """Replace the rows of these keys that keep their place; return the keys of rows that were added, removed or
        moved.

        `found` has the current rows of the keys; a key without one is gone.
        """
        moved = {key for key in keys if self._has_moved(key, found.get(key))}
        for key in keys & self._index.keys() - moved:
            self.rows[self._index[key]] = found[key]
        return moved

    def move(self, keys: set[str], found: dict[str, R]) -> None:
        """Move the rows of these keys to where `found` has them now. `top` is not adjusted."""
        self.rows = [row for row in self.rows if self.key(row) not in keys]
        for key in keys & found.keys():
            at = self.position(found[key])
            # At an end of the cache, other rows of the source may lie between.
            if (at > 0 or self.has_first) and (at < len(self.rows) or self.has_last):
                self.rows.insert(at, found[key])
        self._reindex()

    def update_base(self) -> None:
        """Ask the source again how many rows come before `rows[0]`."""
        assert self.source is not None
        self.base = self.source.place(self.rows[0]) if self.rows else 0

    def _has_moved(self, key: str, row: R | None) -> bool:
        assert self.source is not None
        at = self._index.get(key)
        if at is None or row is None:
            return at is not None or row is not None
        return bool(self.source.order(self.rows[at]) != self.source.order(row))
