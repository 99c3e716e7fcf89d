"""Tracks the terminal's focus, and calls the human while the terminal does not have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.tui.state.database_link import StateChanges

if TYPE_CHECKING:
    from tui_tasks.tui.app.notifier import Notifier


class FocusTracking:
    """Tracks the focus. A terminal that does not report it counts as focused."""

    def __init__(self, make_notifier: Callable[[], Notifier], *, is_on: bool) -> None:
        """`make_notifier` is called when the focus is first lost; never if tracking is off."""
        self._make_notifier = make_notifier
        self._is_on = is_on
        self._has_focus = True
        self._notifier: Notifier | None = None

    def focus_changed(self, has_focus: bool) -> None:
        """Note that the terminal has lost the focus or has it again."""
        self._has_focus = has_focus
        if self._notifier is None:
            if has_focus or not self._is_on:
                return
            self._notifier = self._make_notifier()
        self._notifier.focus_changed(has_focus)

    def take(self, changes: StateChanges) -> None:
        """Call the human for changes that need one who looks elsewhere."""
        if self._notifier is not None and not self._has_focus:
            self._notifier.take(changes)
