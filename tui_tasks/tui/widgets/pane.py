"""Base of the panes: they receive changes, offer actions, and do nothing while they are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.widget import Widget

from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.widgets.textual_overrides import TransparentContainer

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class Pane(Actor, TransparentContainer):
    """One of the panes 1 to 4. `FOOTER` and `FOOTER_SMALL` name the actions shown in the footer."""

    NAME: ClassVar[str] = ""
    FOOTER: ClassVar[tuple[str, ...]] = ("help", "filter", "quit")
    FOOTER_SMALL: ClassVar[tuple[str, ...]] = ("help", "asks")
    HAS_TASKS: ClassVar[bool] = False
    """Whether its cursor is on a task of the list that is shown: it goes along to another such pane."""
    stale = False

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context

    def footer(self, small: bool) -> tuple[str, ...]:
        """Return the ids of the actions to show in the footer."""
        return self.FOOTER_SMALL if small else self.FOOTER

    def short(self, action: Action) -> str:
        """Return the word for an action in the footer; empty hides it, as it would do nothing."""
        return action.short

    def changed(self, changes: StateChanges) -> None:
        """Handle changes, which `context.state` has applied already. Called only while the pane is shown."""

    def refreshed(self) -> None:
        """Read everything again: much may have changed while the pane was hidden, or new items were marked as seen."""

    def focus_target(self) -> Widget:
        """The widget that gets the focus when the pane is shown."""
        return self

    def target(self) -> str | None:
        """The uid of the task that keys act on."""
        return None

    def left(self) -> None:
        """Prepare for another pane to be shown."""

    @property
    def is_busy(self) -> bool:
        """Whether the human is typing or has opened something here, so that nothing else may replace it."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether the row under the cursor is opened: its detail is shown, beside the rows or instead of them."""
        return self.has_class("-open")

    def select(self, uid: str) -> None:
        """Put the cursor on a task, if the pane shows it."""

    def go_to(self, uid: str) -> None:
        """Put the cursor on a task of the current list; remove a filter that hides it."""

    def filter_by(self, text: str) -> None:
        """Show the matches of a filter."""

    def show_entry(self, seq: int) -> None:
        """Show an entry of the journal; only the log does."""

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; some actions need a task."""
        if action.needs == "task" and self.target() is None:
            return "no task here"
        return super().why_not(action)
