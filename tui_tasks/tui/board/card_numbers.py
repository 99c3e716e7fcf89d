"""The numbers of the cards on the board, which are their places in the list, kept until a card before them moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.core.read.pages.board_pages import Card
from tui_tasks.tui.state.database_link import StateChanges

if TYPE_CHECKING:
    from tui_tasks.tui.widgets.pane import Pane


class CardNumbers:
    """The numbers of a board's cards. `on_ready` is called when the missing numbers of a long list are known."""

    def __init__(self, pane: Pane, on_ready: Callable[[], None]) -> None:
        self._pane = pane
        self._numbers = pane.context.numbers
        self._on_ready = on_ready
        # By uid: the rank for which the number was found, and the number.
        self._known: dict[str, tuple[str, int]] = {}

    def of(self, card: Card) -> int:
        """Return the number of a card; 0 until a long list has been counted once."""
        known = self._known.get(card.uid)
        if known is None or known[0] != card.rank:
            if not self._numbers.is_quick(card.list_id):
                self._pane.call_later(self._count, card.list_id)
                return 0
            known = self._known[card.uid] = card.rank, self._numbers.number(card)
        return known[1]

    def clear(self) -> None:
        """Forget all numbers."""
        self._known.clear()

    def forget_behind(self, changes: StateChanges, list_id: int) -> None:
        """Forget the numbers after the first task of a list that was added, removed or moved."""
        ranks = [rank for home, rank in changes.places if home == list_id]
        if ranks:
            first = min(ranks)
            self._known = {uid: known for uid, known in self._known.items() if known[0] < first}

    def _count(self, list_id: int) -> None:
        if not self._numbers.is_quick(list_id):
            self._numbers.go_through(list_id)
            self._on_ready()
