"""Base of screens that cover the panes; Esc goes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from tui_tasks.tui.keys.action_table import ACTIONS, bindings
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.widgets.breakpoints import is_compact
from tui_tasks.tui.widgets.dialog import ClosesOnce
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.textual_overrides import CellsScreen

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint


class Overlay(ClosesOnce, Actor, CellsScreen[None]):
    """A screen that the App opens over a pane."""

    SCOPES: ClassVar[tuple[str, ...]] = ("overlay",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def changed(self, changes: StateChanges) -> None:
        """Handle changes; `context.state` has applied them already."""

    def list_turned(self) -> None:
        """Handle that the App shows another list."""

    def do_back(self) -> None:
        """Go back to the pane."""
        self.dismiss()

    @property
    def small(self) -> bool:
        """Whether there is room for only one part."""
        return is_compact(self.size)

    def hint(self, *hints: Hint) -> None:
        """Show keys in the foot line."""
        self.query_one(FootLine).hint(*hints)

    def hint_of(self, id: str, word: str = "") -> Hint:
        """Return the hint of an action for the foot line."""
        return self.context.keymap.key_of(id), word or ACTIONS[id].short, id
