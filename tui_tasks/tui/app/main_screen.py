"""The screen below all others: the pane and the lines around it. It is laid out and painted once when it opens."""

from __future__ import annotations

from typing import Any, Self

from textual import events, messages
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widget import Widget

from tui_tasks.tui.widgets.textual_overrides import CellsScreen, NoRelayout


class MainScreen(CellsScreen[Any], NoRelayout):
    """Paints nothing itself when the focus moves: its widgets paint what differs."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    @classmethod
    def of_size(cls, size: Size, *stops: list[tuple[int, str]] | None) -> MainScreen:
        """Return a screen with the classes of a size, so that it is laid out only once."""
        reached = (
            max(stop for stop in each or () if stop[0] <= cells) for cells, each in zip(size, stops, strict=True)
        )
        return cls(classes=" ".join(name for _, name in reached))

    # True until the first layout, which paints all: requests before it would be done twice.
    _is_opening = True

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Come to the front; the first time, lay out and paint here."""
        event.prevent_default()
        super()._on_screen_resume(event)
        self._is_opening = False

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As `Screen.refresh`, once it is open."""
        if self._is_opening:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def post_message(self, message: Message) -> bool:
        """As `Screen.post_message`, but for what widgets ask for before it is open."""
        if self._is_opening and isinstance(message, (messages.Layout, messages.Update)):
            return False
        return super().post_message(message)
