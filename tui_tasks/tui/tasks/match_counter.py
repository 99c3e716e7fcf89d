"""Counts the tasks that match a filter, in steps between which keys are handled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.pages.filter import Filter
from tui_tasks.text.times import count
from tui_tasks.tui.tasks.mark_actions import PAUSE

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane


class MatchCounter:
    """Shows in the filter bar of a pane how many tasks of the list match."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._next: Timer | None = None

    def count(self, only: Filter, rank: str = pages.FIRST, so_far: int = 0) -> None:
        """Count from a rank on; `so_far` match before it."""
        self.stop()
        context, bar = self._pane.context, self._pane.filter_bar
        found = context.state.current_list
        if not only or found is None:
            bar.say(f"{count(found.total, 'task')}" if found is not None else "")
            return
        more, end = pages.count_on(context.db, context.state.list_id, rank, only)
        so_far += more
        bar.say(f"{so_far:,}{'+' if end else ''} of {found.total:,}")
        if end is not None:
            self._next = self._pane.set_timer(PAUSE, lambda: self.count(only, end, so_far))

    def stop(self) -> None:
        """Stop counting."""
        if self._next is not None:
            self._next.stop()
        self._next = None
