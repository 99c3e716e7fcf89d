"""A source of rows, an ordered set that is read by key and a page at a time, and one that fits in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

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
