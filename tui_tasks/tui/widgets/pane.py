"""What the panes have in common: they are told what changed, offer actions, and sleep while they are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui_tasks.tui.keys.actions import Action, Actor
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.painting import NoRelayout

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class TransparentContainer(Vertical, NoRelayout):
    """A container with nothing of its own to see: what is in it covers it, or else the screen shows."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """None at all. A screen has many containers, and Textual would paint each of them blank first."""
        return []


class Pane(Actor, TransparentContainer):
    """One of the panes 1 to 4. `FOOTER` and `FOOTER_SMALL` name the actions that the footer tells of."""

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
        """The ids of the actions that the footer tells of."""
        return self.FOOTER_SMALL if small else self.FOOTER

    def short(self, action: Action) -> str:
        """The word for an action in the footer; empty where it would do nothing, and is not told of."""
        return action.short

    def changed(self, changes: StateChanges) -> None:
        """Something was written; called only while the pane is shown. `context.state` has taken it in already."""

    def refreshed(self) -> None:
        """Much may have changed while the pane was not shown, or marks of what is new were taken away: look anew."""

    def focus_target(self) -> Widget:
        """What gets the focus when the pane is shown."""
        return self

    def target(self) -> str | None:
        """The uid of the task that keys are about."""
        return None

    def left(self) -> None:
        """Another pane is about to be shown."""

    @property
    def is_busy(self) -> bool:
        """Whether the human is typing or has chosen something here, so that nothing else may be shown in its place."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether what the cursor is on was opened: its detail is shown, or stands in the pane's place."""
        return self.has_class("-open")

    def select(self, uid: str) -> None:
        """Put the cursor on a task, where the pane shows it."""

    def go_to(self, uid: str) -> None:
        """Put the cursor on a task of the list that is shown, whatever filter is in its way."""

    def filter_by(self, text: str) -> None:
        """Show what a filter wants."""

    def show_entry(self, seq: int) -> None:
        """Show an entry of the journal; the log does."""

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; what needs a task needs one here."""
        if action.needs == "task" and self.target() is None:
            return "no task here"
        return super().why_not(action)
