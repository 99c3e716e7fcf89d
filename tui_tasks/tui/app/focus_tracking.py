"""Whether the terminal has the focus, and calling the human while it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_tasks.tui.state.database_link import StateChanges

if TYPE_CHECKING:
    from tui_tasks.tui.app.notifier import Notifier


class FocusTracking:
    """A terminal that does not report its focus is taken to have it."""

    def __init__(self, make_notifier: Callable[[], Notifier], *, is_on: bool) -> None:
        """`make_notifier` is called when the focus goes for the first time; never where tracking is not on."""
        self._make_notifier = make_notifier
        self._is_on = is_on
        self._has_focus = True
        self._notifier: Notifier | None = None

    def focus_changed(self, has_focus: bool) -> None:
        """The human looks elsewhere from now on, or is back."""
        self._has_focus = has_focus
        if self._notifier is None:
            if has_focus or not self._is_on:
                return
            self._notifier = self._make_notifier()
        self._notifier.focus_changed(has_focus)

    def take(self, changes: StateChanges) -> None:
        """Call the human for what was written, where that needs one who looks elsewhere."""
        if self._notifier is not None and not self._has_focus:
            self._notifier.take(changes)
