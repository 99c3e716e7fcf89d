"""Marking tasks, for actions on several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.filter import Filter
from tui_tasks.text.times import count
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane

# The most tasks that can be marked, and changed as one change.
MAX_MARKED: Final = 10_000
PAUSE: Final = 0.005
"""Seconds between two stretches of a long search, for keys to be handled."""


class MarkActions(Controller):
    """Marks the tasks of a pane's list."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    def do_mark(self) -> None:
        """Mark the task, or take its mark away, and go on to the next."""
        rows = self._pane.row_list
        if rows.cursor is not None:
            rows.mark([rows.cursor])
            rows.move(1)

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark all that match, or take all marks away. A list that is not long is done before the next key."""
        if self._pane.row_list.marks:
            self._pane.row_list.clear_marks()
            return None
        only, list_id = self._pane.only, self._context.state.list_id
        uids, rank = list_pages.uids_on(self._context.db, list_id, list_pages.FIRST, only, MAX_MARKED)
        if rank is not None:
            return self._search(uids, rank, list_id, only)
        self._mark(uids)
        return None

    async def _search(self, uids: list[str], start: str, list_id: int, only: Filter) -> None:
        """Search for matches from a rank on, in steps; then mark all of them at once."""
        context = self._context
        rank: str | None = start
        while rank is not None:
            context.say(f"Looking for all that match…  {count(len(uids), 'task')}")
            await asyncio.sleep(PAUSE)
            if self._pane.only != only or context.state.list_id != list_id:
                context.say("The filter has changed; nothing was marked.")
                return
            more, rank = list_pages.uids_on(context.db, list_id, rank, only, MAX_MARKED - len(uids))
            uids += more
        self._mark(uids)

    def _mark(self, uids: list[str]) -> None:
        self._pane.row_list.mark(uids, on=True)
        limit = f", the first {MAX_MARKED:,}" if len(uids) == MAX_MARKED else ""
        self._context.say(f"{count(len(uids), 'task')} marked{limit}.")
