"""A source of rows that fit in memory: questions, agents, jobs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

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
