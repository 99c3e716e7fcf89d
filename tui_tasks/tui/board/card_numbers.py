"""The numbers of the cards on the board: their places in the list, kept until something before them moves."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.read.tasks.board_pages import Card
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.widgets.pane import Pane


class CardNumbers:
    """The numbers of a board's cards. `at_hand` is called once those of a long list are, that were not before."""

    def __init__(self, pane: Pane, at_hand: Callable[[], None]) -> None:
        self._pane = pane
        self._at_hand = at_hand
        self._known: dict[str, tuple[str, int]] = {}

    def of(self, card: Card) -> int:
        """The place of a card in its list, counted from 1; 0 until a long list has been gone through."""
        known = self._known.get(card.uid)
        if known is None or known[0] != card.rank:
            if not self._pane.host.situation.places.is_quick(card.list_id):
                self._pane.call_later(self._go_through, card.list_id)
                return 0
            known = self._known[card.uid] = card.rank, self._pane.host.place(card)
        return known[1]

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def forget_behind(self, changes: Changes, list_id: int) -> None:
        """Forget the numbers behind the first card of a list that has come, gone or moved."""
        ranks = [rank for home, rank in changes.places if home == list_id]
        if ranks:
            first = min(ranks)
            self._known = {uid: known for uid, known in self._known.items() if known[0] < first}

    def _go_through(self, list_id: int) -> None:
        places = self._pane.host.situation.places
        if not places.is_quick(list_id):
            places.go_through(list_id)
            self._at_hand()
