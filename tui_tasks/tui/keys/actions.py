"""What performs actions: widgets, screens and the App, and the controllers that they compose."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tui_tasks.tui.keys.action_table import ACTIONS, Action

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

READ_ONLY: Final = "read only"


class Controller:
    """Performs some actions of the pane or screen that it is given, each by its method `do_<id>`."""

    def why_not(self, action: Action) -> str | None:
        """Return the reason for which one of its actions cannot be performed now, for people; None when it can."""
        return None


class Actor:
    """Mixin for widgets, screens and the App that offer the actions of their scopes.

    An action is performed by the actor's own method `do_<id>`, else by the first of its `controllers` that has one. A
    class that sets `SCOPES` also sets `BINDINGS = bindings(*SCOPES)`.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ()
    context: Context
    controllers: Sequence[Controller] = ()

    def offers(self) -> list[Action]:
        """Return the actions that it offers, in the order of the table."""
        return [
            action
            for action in ACTIONS.values()
            if not action.scopes.isdisjoint(self.SCOPES) and self._doer(action.id) is not None
        ]

    def why_not(self, action: Action) -> str | None:
        """Return the reason for which an action cannot be performed now, for people; None when it can."""
        if action.writes and self.context.link.read_only:
            return READ_ONLY
        doer = self._doer(action.id)
        return doer.why_not(action) if isinstance(doer, Controller) else None

    def action_act(self, id: str) -> None:
        """Perform an action by its id, or show why it cannot be performed."""
        action = ACTIONS[id]
        why = self.why_not(action)
        if why is not None:
            self.context.say(f"{action.title}: {why}")
            return
        done = getattr(self._doer(id), f"do_{id}")()
        if inspect.iscoroutine(done):
            self.context.run(done)

    def _doer(self, id: str) -> Any:
        """Return the object with the method of an action: the actor itself, one of its controllers, or None."""
        return next((each for each in (self, *self.controllers) if hasattr(each, f"do_{id}")), None)
