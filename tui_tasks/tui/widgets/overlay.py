"""A screen over the panes: it has the whole terminal, and Esc goes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from tui_tasks.tui.app.actions import ACTIONS, Actor, Dialog, bindings
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.textual_overrides import CellsCompositor

if TYPE_CHECKING:
    from tui_tasks.tui.app.context import Context

Hint = tuple[str, str, str]


class Overlay(Dialog, Actor, Screen[None]):
    """One of the screens that the App opens over a pane."""

    SCOPES: ClassVar[tuple[str, ...]] = ("overlay",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context | None = None) -> None:
        super().__init__()
        if context is not None:
            self.context = context
        self._compositor = CellsCompositor()

    def changed(self, changes: Changes) -> None:
        """Something was written; `host.situation` has taken it in already."""

    def list_turned(self) -> None:
        """The App's list is another one."""

    def do_back(self) -> None:
        """Go back to the pane."""
        self.dismiss()

    @property
    def small(self) -> bool:
        """Whether there is room for one thing only: under 60 columns or 16 rows."""
        return self.size.width < 60 or self.size.height < 16

    def hint(self, *hints: Hint) -> None:
        """Tell in the last line what keys do."""
        self.query_one(FootLine).hint(*hints)

    def hint_of(self, id: str, word: str = "") -> Hint:
        """What the last line tells of an action."""
        return self.host.key_of(id), word or ACTIONS[id].short, id
