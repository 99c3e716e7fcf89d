"""The number of cards in each column: kept with the list, or counted for a filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import humanize
from textual.timer import Timer

from tui_tasks.core.read.pages import board_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU
from tui_tasks.core.read.pages.filter import ALL, Filter

if TYPE_CHECKING:
    from tui_tasks.tui.widgets.pane import Pane

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
