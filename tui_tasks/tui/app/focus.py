"""What depends on the terminal's focus: calls of a human who looks elsewhere, and the digest for one who returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.times import MINUTE
from tui_tasks.tui.state.state_changes import StateChanges

if TYPE_CHECKING:
    from tui_tasks.tui.app.notifier import Notifier
    from tui_tasks.tui.state.context import Context


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

    def follow(self, changes: StateChanges) -> None:
        """Call the human for changes that need one who looks elsewhere."""
        if self._notifier is not None and not self._has_focus:
            self._notifier.follow(changes)


LONG: Final = 30 * MINUTE
"""Whoever was away for so long is shown the digest; in microseconds."""


class Absence:
    """Notes absence by the terminal's focus. On a terminal that does not report focus, only a key shows the digest."""

    def __init__(self, context: Context, is_free: Callable[[], bool]) -> None:
        """`is_free`: whether a screen may be opened: no other is open, and nothing is being typed."""
        self._context = context
        self._is_free = is_free
        # The instant at which the human left, and the newest entry then; None while the human is present.
        self._left: tuple[int, int] | None = None

    def focus_changed(self, has_focus: bool) -> None:
        """Note that the terminal has lost the focus or has it again."""
        context = self._context
        if not has_focus:
            self._left = self._left or (context.clock.now(), context.link.seq)
            return
        left, self._left = self._left, None
        if left is None or context.clock.now() - left[0] < LONG or context.link.seq == left[1]:
            return
        if self._is_free():
            from tui_tasks.tui.screens.digest import DigestScreen

            context.push(DigestScreen(context, left[0]))
