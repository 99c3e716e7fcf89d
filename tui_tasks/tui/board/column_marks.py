"""Marking all cards of a column."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from tui_tasks.text.times import count
from tui_tasks.tui.board.columns import Column
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.tasks.mark_actions import MAX_MARKED, PAUSE

if TYPE_CHECKING:
    from tui_tasks.tui.board.board_pane import BoardPane


class ColumnMarks(Controller):
    """Marks the cards in the current column of a board."""

    def __init__(self, pane: BoardPane) -> None:
        self._pane = pane
        self._context = pane.context

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark all cards of the column, or take all marks away."""
        if self._pane.row_list.marks:
            self._pane.row_list.clear_marks()
            return None
        return self._mark_all(self._pane.columns[self._pane.at])

    async def _mark_all(self, column: Column) -> None:
        """Search for cards in steps, between which keys are handled; then mark them at once."""
        context, only = self._context, self._pane.only
        source = self._pane.source(column.spec)
        page = source.first(MAX_MARKED)
        cards = list(page)
        while page.cut and len(cards) < MAX_MARKED:
            context.say(f"Looking for all that match…  {count(len(cards), 'card')}")
            await asyncio.sleep(PAUSE)
            if self._pane.only != only or context.state.list_id != source.list_id:
                context.say("The filter has changed; nothing was marked.")
                return
            rest = MAX_MARKED - len(cards)
            page = source.after(cards[-1], rest) if cards else source.first(rest)
            cards += page
        column.cards.mark((card.uid for card in cards), on=True)
        context.say(f"{count(len(cards), 'card')} marked.")
