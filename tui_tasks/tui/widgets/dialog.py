"""Base of dialogs, which lie over a screen until they return a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

R = TypeVar("R")


class ClosesOnce:
    """Mixin for screens that open over others."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close it. A second click or key that comes too late is ignored; Textual would close the screen below."""
        if not self.is_active:  # type: ignore[attr-defined]  # every screen has it
            return AwaitComplete()
        return cast("AwaitComplete", super().dismiss(result))  # type: ignore[misc]  # every screen has it


class Dialog(ClosesOnce, ResilientMessages, ModalScreen[R]):
    """A dialog with a result of type R."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
