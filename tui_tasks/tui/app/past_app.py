"""The App for a database at a past moment."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType

from tui_tasks.tui.app.app import TaskApp
from tui_tasks.tui.app.past_actions import PastActions
from tui_tasks.tui.keys.actions import bindings
from tui_tasks.tui.state.past_link import PastLink


class PastApp(TaskApp):
    """As `TaskApp`, with keys that move backward and forward in time."""

    SCOPES = ("app", "past")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("past")]

    def __init__(self, link: PastLink, **options: Any) -> None:
        super().__init__(link, **options)
        self.controllers = (*self.controllers, PastActions(self.context, link))
