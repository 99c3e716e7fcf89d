"""How many tasks a filter matches, counted a stretch at a time, so that keys come through."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from tui_tasks.core.read.tasks import pages
from tui_tasks.core.read.tasks.filter import Filter
from tui_tasks.text.times import count
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.widgets.pane import Pane

# Seconds between two stretches.
_PAUSE: Final = 0.005


class MatchCounter:
    """Tells in a pane's filter bar how many tasks of the App's list match."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._going_on: Timer | None = None

    def count(self, only: Filter, rank: str = pages.FIRST, so_far: int = 0) -> None:
        """Count anew, from a rank on where the tasks before it were counted: `so_far`."""
        self.stop()
        host, bar = self._pane.host, self._pane.query_one(FilterBar)
        found = host.current_list
        if not only or found is None:
            bar.say(f"{count(found.total, 'task')}" if found is not None else "")
            return
        more, end = pages.count_on(host.bridge.db, host.list_id, rank, only)
        so_far += more
        bar.say(f"{so_far:,}{'+' if end else ''} of {found.total:,}")
        if end is not None:
            self._going_on = self._pane.set_timer(_PAUSE, lambda: self.count(only, end, so_far))

    def stop(self) -> None:
        """Count no further."""
        if self._going_on is not None:
            self._going_on.stop()
        self._going_on = None
