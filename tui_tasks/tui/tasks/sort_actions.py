"""Sorting the tasks of a pane: the list's own order, or by urgency, due date, age or agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.read.pages.filter import ALL, Filter
from tui_tasks.core.read.pages.list_pages import MAX_SORTED
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane

OWN: Final = ""
"""The list's own order."""
_CHOICES: Final = (
    ("o", OWN, "own order: as you and the agents arranged it"),
    ("u", "urgency", "urgency: open before blocked before closed, then priority and due date"),
    ("d", "due", "due date, the soonest first"),
    ("a", "age", "age of the last change, the newest first"),
    ("g", "agent", "agent, by name"),
)


def sorted_by(by: str) -> str:
    """Return what to say of an order: `sorted by urgency`; nothing of a list's own."""
    return f"sorted by {by}" if by else ""


class SortActions(Controller):
    """Sorts the tasks of the list and the board. Both show one order, for all lists that are not too long for it."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; a very long list keeps its own order."""
        if self._pane.only.sorts_dated:
            return "the filter sorts by due"
        return None if self._fits() else f"over {MAX_SORTED:,} tasks; the filter sort:due sorts them"

    async def do_sort(self) -> None:
        """Ask for the order."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        now = self._context.state.sort
        choices = [Choice(key, word, "$primary" if by == now else "") for key, by, word in _CHOICES]
        key = await self._context.ask(Menu(self._context, "Sort by", choices))
        if key is None:
            return
        self._context.state.sort = next(by for letter, by, _ in _CHOICES if letter == key)
        self._context.navigation.outdate_panes()
        self._pane.show_matching(self.applied(self._pane.only))

    def applied(self, only: Filter = ALL) -> Filter:
        """Return a filter with the chosen order, unless it sorts by itself."""
        if only.sorts_dated:
            return only
        return msgspec.structs.replace(only, sort=self._context.state.sort if self._fits() else OWN)

    def why_not_move(self) -> str | None:
        """Return the reason for which tasks cannot be moved by hand now; None when they can."""
        by = self._pane.only.sort
        if not by:
            return None
        return f"sorted by {by}; {self._context.keymap.key_of('sort')} o goes back to the list's own order"

    def _fits(self) -> bool:
        found = self._context.state.current_list
        return found is None or found.total <= MAX_SORTED
