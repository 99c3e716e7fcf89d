"""The cards of a column, as rows of a list on screen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import board_pages
from tui_tasks.core.read.pages.board_pages import Card
from tui_tasks.core.read.pages.filter import ALL, Filter
from tui_tasks.core.read.pages.pages import FIRST, LAST
from tui_tasks.tui.rows.source import RowPage


class CardsOfColumn:
    """A `Source` of the cards in some parts of a list that match a filter, part by part, in the list's order.

    With a filter, a read ends early when nothing matches for long; repeated, it continues from there.
    """

    def __init__(self, db: Database, list_id: int, parts: Sequence[str], only: Filter = ALL) -> None:
        self._db = db
        self.list_id = list_id
        self.parts = tuple(parts)
        self.only = only
        # Where a read from a place in a direction ended early: part and rank.
        self._reached: dict[tuple[int, str, bool], tuple[int, str]] = {}

    def first(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(0, FIRST, limit, backwards=False)

    def last(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(len(self.parts) - 1, LAST, limit, backwards=True)

    def after(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(*self.order(row), limit, backwards=False)

    def before(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(*self.order(row), limit, backwards=True)

    def _read(self, part: int, rank: str, limit: int, *, backwards: bool) -> RowPage[Card]:
        asked = (part, rank, backwards)
        at, start = self._reached.pop(asked, (part, rank))
        found: RowPage[Card] = RowPage()
        while 0 <= at < len(self.parts):
            wanted = limit - len(found)
            more = board_pages.page(
                self._db, self.list_id, self.parts[at], start, wanted, self.only, backwards=backwards
            )
            found[:] = [*more, *found] if backwards else [*found, *more]
            if more.reached is not None:
                # The caller continues from the last card that it got.
                edge = self.order(found[0 if backwards else -1]) if found else asked[:2]
                self._reached[(*edge, backwards)] = (at, more.reached)
                found.cut = True
            if found.cut or len(found) >= limit:
                break
            at, start = (at - 1, LAST) if backwards else (at + 1, FIRST)
        return found

    def find(self, keys: Collection[str]) -> dict[str, Card]:
        """See `Source`."""
        found = board_pages.find(self._db, self.list_id, keys, self.only)
        if found:
            # A card that a read skipped may match now, so those reads start again.
            self._reached.clear()
        return {uid: card for uid, card in found.items() if card.part in self.parts}

    def key(self, row: Card) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: Card) -> tuple[int, str]:
        """See `Source`. A card that has left the column keeps its place there, at the end."""
        return (self.parts.index(row.part) if row.part in self.parts else len(self.parts) - 1, row.rank)

    def place(self, row: Card) -> int:
        """See `Source`; -1, as cards would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1
