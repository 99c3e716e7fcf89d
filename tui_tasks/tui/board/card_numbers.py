"""The numbers on the board: of each card in its list, and of the cards in each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import humanize
from textual.timer import Timer

from tui_tasks.core.read.pages import board_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.core.read.pages.filter import ALL, Filter
from tui_tasks.tui.state.state_changes import StateChanges

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


# Seconds after the last letter of a filter at which matching cards are counted.
_COUNT_AFTER: Final = 0.15


class CardCounts:
    """The counts of a board. `on_counted` is called when the cards that match a filter have been counted."""

    def __init__(self, pane: Pane, on_counted: Callable[[], None]) -> None:
        self._pane = pane
        self._context = pane.context
        self._on_counted = on_counted
        self._only = ALL
        self._counts: dict[str, int] = {}
        # The parts with more cards than were counted.
        self._open_ended: set[str] = set()
        self._counting: Timer | None = None

    def update(self, only: Filter) -> None:
        """Count the cards of the current list that match a filter: at once without one, soon with one."""
        self._only = only
        found = self._context.state.current_list
        if only:
            self._counting = self._counting or self._pane.set_timer(_COUNT_AFTER, self._count)
        elif found is not None:
            asked = board_pages.asked(self._context.db, found.id)
            kept = {part: getattr(found, part, 0) - asked.get(part, 0) for part in board_pages.PARTS}
            self._counts, self._open_ended = kept | {NEEDS_YOU: sum(asked.values())}, set()

    def _count(self) -> None:
        self._counting = None
        for part in board_pages.PARTS:
            number, is_more = board_pages.count(self._context.db, self._context.state.list_id, part, self._only)
            self._counts[part] = number
            (self._open_ended.add if is_more else self._open_ended.discard)(part)
        self._on_counted()

    def text(self, parts: Sequence[str]) -> str:
        """Return how many cards some parts have, with a plus where there may be more."""
        number = humanize.intcomma(sum(self._counts.get(part, 0) for part in parts))
        return number if self._open_ended.isdisjoint(parts) else f"{number}+"
