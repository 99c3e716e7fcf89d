"""Scroll marks: the lines of a list or text that show which part of it is on screen, and Textual's scroll bars drawn
alike.
"""

from __future__ import annotations

from typing import Final

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from typing_extensions import override

_MARK: Final = "▐"
# Textual's own defaults.
_BACK: Final = Color.parse("#555555")
_BAR: Final = Color.parse("bright_magenta")


def thumb(height: int, shown: int, total: int, first: int) -> range:
    """Return the lines of `height` that the scroll mark covers: `shown` of `total` rows, from row `first`.

    Empty when all rows are shown.
    """
    if total <= shown:
        return range(0)
    size = max(1, height * shown // total)
    top = min((height - size) * first // max(1, total - shown), height - size)
    return range(top, top + size)


def with_thumb(strip: Strip, width: int, style: Style) -> Strip:
    """Return a line of `width` cells that ends with the scroll mark."""
    return Strip([*strip.crop(0, width - 1), Segment(_MARK, style)], width)


class ThinScrollBar(ScrollBarRender):
    """Draws Textual's vertical scroll bars as scroll marks; otherwise they are a whole cell wide."""

    @classmethod
    @override
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = _BACK,
        bar_color: Color = _BAR,
    ) -> Segments:
        if not vertical:
            return super().render_bar(
                size, virtual_size, window_size, position, thickness, vertical, back_color, bar_color
            )
        covered = thumb(size, round(window_size), round(virtual_size), round(position)) if window_size else range(0)
        segments = []
        for line in range(size):
            action = "grab" if line in covered else "scroll_up" if line < covered.start else "scroll_down"
            style = Style(color=bar_color, bgcolor=back_color, meta={"@mouse.down": action} if covered else None)
            segments.append(Segment((_MARK if line in covered else "").rjust(thickness), style))
        return Segments(segments, new_lines=True)
