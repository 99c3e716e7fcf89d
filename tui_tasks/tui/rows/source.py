"""The interface of a source of rows: an ordered set, read by key and a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeVar

R = TypeVar("R")


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
