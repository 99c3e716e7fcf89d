"""One line with parts at the left and at the right: heads, rules, and the lines around a pane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.strip import Strip

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.painting.line_painter import LinePainter, changed_span, strip_of
from tui_tasks.tui.painting.styles import Part, StyleCache

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

DrawParts = Callable[[int], Sequence[Part]]
"""Returns the parts of one side of a line, given the line's width in cells."""


def no_parts(_width: int) -> Sequence[Part]:
    """Return nothing, for a side that stays empty."""
    return ()


class FrameLine(LinePainter):
    """A line, drawn by the functions that it is given. It is painted again only when its parts change.

    The right parts are dropped when there is no room for both.
    """

    DEFAULT_CSS = "FrameLine { height: 1; }"

    def __init__(
        self,
        context: Context,
        left: DrawParts = no_parts,
        right: DrawParts = no_parts,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(context, id=id, classes=classes)
        self._left = left
        self._right = right
        self._parts: tuple[Sequence[Part], Sequence[Part]] | None = None
        self._width = 0
        self._strip: Strip | None = None
        self._styles: StyleCache | None = None

    def again(self) -> None:
        """Draw again; paint only what differs."""
        if not self.size.width:
            return
        self._lasts_us = 0
        width = self.size.width
        parts, was = (self._left(width), self._right(width)), self._parts
        if was is None or self._width != width:
            self._parts, self._width, self._strip = parts, width, None
            self.refresh()
        elif parts != was:
            first, end = changed_span(self._joined(*was, width), self._joined(*parts, width), width)
            self._parts, self._strip = parts, None
            self.refresh(Region(first, 0, end - first, 1))
        self._redraw_in_time()

    def on_resize(self) -> None:
        """Draw the line in its new width."""
        self.again()

    def part_number(self, x: int) -> int | None:
        """Return the index of the left part at a column."""
        for number, (text, _) in enumerate(self._parts[0] if self._parts else ()):
            x -= cell_len(text)
            if x < 0:
                return number
        return None

    def render_line(self, y: int) -> Strip:
        """Paint the line."""
        width = self.own_size.width
        if self._parts is None or self._width != width:
            self._parts, self._width = (self._left(width), self._right(width)), width
            self._strip = None
        styles = StyleCache.of(self.app)
        if self._strip is None or styles is not self._styles:
            self._styles, self._strip = styles, strip_of(self._joined(*self._parts, width), width, styles)
        return self._strip

    @staticmethod
    def _joined(left: Sequence[Part], right: Sequence[Part], width: int) -> list[Part]:
        used, wide = sum(cell_len(text) for text, _ in left), sum(cell_len(text) for text, _ in right)
        if used + wide > width:
            right, wide = (), 0
        return [*left, (" " * max(0, width - used - wide), ""), *right]


def rule(context: Context, *, id: str | None = None) -> FrameLine:
    """Return a rule across the screen."""
    return FrameLine(context, lambda width: rule_parts(context, width), id=id)


def rule_parts(context: Context, width: int, word: str = "") -> list[Part]:
    """Return a rule of a width in cells, with a word in it if given."""
    dash = sign("rule", ascii_only=context.ascii_only)
    words: list[Part] = [(dash, "$rule"), (f" {word} ", "$muted")] if word else []
    return [*words, (dash * max(0, width - sum(cell_len(text) for text, _ in words)), "$rule")]
