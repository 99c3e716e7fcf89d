"""Shows the human who comes back after half an hour what happened meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.times import MINUTE

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

LONG: Final = 30 * MINUTE
"""Whoever was away for so long is shown the digest; in microseconds."""


class Absence:
    """Known by the focus of the terminal: one that does not report it shows the digest by its key alone."""

    def __init__(self, context: Context, is_free: Callable[[], bool]) -> None:
        """`is_free`: whether a screen may be opened, since none is, and nothing is being typed."""
        self._context = context
        self._is_free = is_free
        # When the human left, and the newest entry then; None while the human is there.
        self._left: tuple[int, int] | None = None

    def focus_changed(self, has_focus: bool) -> None:
        """The human looks elsewhere from now on, or is back."""
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
