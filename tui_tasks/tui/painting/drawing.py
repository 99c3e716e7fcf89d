"""Base of what a painting widget is given to draw its rows or its text; it knows no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class Drawing:
    """Returns the parts of lines. `span_us` is for how many microseconds they stay true; 0: until something changes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.span_us = 0

    def lasts(self, span_us: int) -> None:
        """Note, while drawing, that what is drawn stays true for so many microseconds (`text.times.age_lasts`)."""
        self.span_us = min(self.span_us or span_us, span_us)
