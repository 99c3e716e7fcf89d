"""Shows the digest to a human who returns after half an hour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.times import MINUTE

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

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
