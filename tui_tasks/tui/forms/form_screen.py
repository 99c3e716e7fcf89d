"""Base of forms that fill the screen; leaving with unsaved text takes two keys."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType

from tui_tasks.tui.widgets.dialog import Dialog

R = TypeVar("R")


class FormScreen(Dialog[R | None], Generic[R]):
    """A form. Result: what was saved; None: left. Subclasses define `action_save` and `action_outside`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True),
        Binding("ctrl+e", "outside", "In $EDITOR", show=False, priority=True),
        Binding("escape", "leave", "Back", show=False, priority=True),
    ]

    has_asked = False

    @property
    def has_changes(self) -> bool:
        """Whether there is unsaved text."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Leave the form; with unsaved text, only at the second call."""
        if self.has_changes and not self.has_asked:
            self.has_asked = True
            self.context.say("Esc again gives up what you typed; ^s saves it.")
        else:
            self.dismiss(None)
