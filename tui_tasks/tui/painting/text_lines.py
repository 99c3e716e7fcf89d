"""Widgets of several lines that they draw themselves: wrapped, clickable, scrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.strip import Strip

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import TEXT_CHARS, beginning, safe_text
from tui_tasks.tui.keys.actions import Actor, bindings
from tui_tasks.tui.painting.line_painter import Focusable, LinePainter, changed_span, strip_of
from tui_tasks.tui.painting.scrolling import ScrollKeys, WheelScrolling, thumb, with_thumb
from tui_tasks.tui.painting.styles import Part, StyleCache

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


Drawn = Sequence[Part]


def wrapped(text: str, width: int, limit_chars: int = TEXT_CHARS, *, ascii_only: bool = False) -> list[str]:
    """Return untrusted text as safe lines of at most `width` cells, broken between words if possible."""
    lines: list[str] = []
    for line in safe_text(text, limit_chars, ascii_only=ascii_only).split("\n"):
        lines += _broken(line, max(width, 1))
    return lines


# The most characters of safe text in one cell: a character and its marks.
_CHARS_A_CELL: Final = 4


def _broken(line: str, width: int) -> list[str]:
    lines, at = [], 0
    # Read in pieces of about a line, as it may be a megabyte long.
    while (end := len(beginning(ahead := line[at : at + _CHARS_A_CELL * (width + 1)], width))) < len(line) - at:
        end = max(end, 1)
        space = ahead.rfind(" ", 0, end + 1)
        # A line is not broken within the spaces at its beginning, as in code.
        if space > 0 and not ahead[:space].isspace():
            end = space
        lines.append(ahead[:end].rstrip(" "))
        at += end
        while line.startswith(" ", at):
            at += 1
    return [*lines, line[at:]]


@dataclass(frozen=True, slots=True)
class Spot:
    """A stretch of a line that performs an action on a click."""

    line: int
    first: int
    end: int
    action: str


class TextLines(LinePainter):
    """Lines drawn from parts, all of them (`height: auto`) or those that fit. Only changed ones are painted again."""

    DEFAULT_CSS = "TextLines { height: auto; }"

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, id=id, classes=classes)
        self._shown: list[Drawn] = []
        self._shown_width = 0
        self._strips: dict[int, Strip] = {}
        self._styles: StyleCache | None = None
        self._spots: list[Spot] = []

    def lines(self, width: int) -> list[Drawn]:
        """Return the parts of each line, from the top."""
        return []

    def spot(self, line: int, first: int, end: int, action: str) -> None:
        """Set, while drawing, the action of a click on columns `first` to `end` of a line."""
        self._spots.append(Spot(line, first, end, action))

    def again(self) -> None:
        """Draw again; paint only what differs."""
        width = self.size.width
        if not width:
            return
        old, old_width = self._shown, self._shown_width
        self._draw(width)
        if len(old) != len(self._shown) or old_width != width:
            self.refresh(layout=True)
        else:
            self._refresh_changed(old, self._shown)
        self._redraw_in_time()

    def _refresh_changed(self, old: Sequence[Drawn], new: Sequence[Drawn]) -> None:
        """Request a repaint of the columns in which lines differ; missing lines count as empty."""
        width = self._shown_width
        spans = (changed_span(*lines, width) for lines in zip_longest(old, new, fillvalue=()))
        changed = [Region(first, y, end - first, 1) for y, (first, end) in enumerate(spans) if end > first]
        if changed:
            self.refresh(*changed)

    def _draw(self, width: int) -> None:
        self._lasts_us = 0
        self._spots = []
        self._shown_width = width
        self._shown = self.lines(width)
        self._strips = {}

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        if width != self._shown_width:
            self._draw(width)
        return len(self._shown)

    def on_resize(self) -> None:
        """Draw the lines in their new width."""
        if self._shown_width != self.size.width:
            self.again()
        self._redraw_in_time()

    def notify_style_update(self) -> None:
        """Paint everything again for another theme."""
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        width, styles = self.own_size.width, StyleCache.of(self.app)
        if self._shown_width != width:
            self._draw(width)
        if styles is not self._styles:
            self._styles, self._strips = styles, {}
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = strip_of(self._shown[y] if y < len(self._shown) else (), width, styles)
        return strip

    def on_click(self, event: events.Click) -> None:
        """Perform the clicked action."""
        for spot in self._spots:
            if spot.line == event.y and spot.first <= event.x < spot.end:
                self.context.do(spot.action)
                return


class Divider(LinePainter):
    """A vertical rule between widgets side by side."""

    DEFAULT_CSS = "Divider { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        return StyleCache.of(self.app).strip(sign("divider", ascii_only=self.context.ascii_only), "$rule")


class ScrollLines(WheelScrolling, Actor, Focusable, TextLines, can_focus=True):
    """Shows as many lines as fit, from the scroll position on."""

    SCOPES = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rows")]
    DEFAULT_CSS = "ScrollLines { height: 1fr; }"

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.first = 0
        self.controllers = (ScrollKeys(self),)

    def again(self) -> None:
        """Draw again; paint only visible lines that differ."""
        width = self.size.width
        if not width:
            return
        old, old_first = self._on_screen(), self.first
        self._draw(width)
        self.first = self._clamped(self.first)
        now = self._on_screen()
        if old_first != self.first or (len(now) < len(self._shown)) != (len(old) < len(self._shown)):
            self.refresh()
        else:
            self._refresh_changed(old, now)
        self._redraw_in_time()

    def scroll_rows(self, by: int) -> None:
        """Scroll, at most to the end."""
        first = self._clamped(self.first + by)
        if first != self.first:
            self.first = first
            self.refresh()

    def on_resize(self) -> None:
        """Draw for the new size; Textual paints it all."""
        self.again()

    def render_line(self, y: int) -> Strip:
        """Paint one line, with the scroll mark at its end."""
        strip = super().render_line(y + self.first)
        width, height = self.own_size
        if y in thumb(height, height, len(self._shown), self.first):
            return with_thumb(strip, width, StyleCache.of(self.app).style("$rule"))
        return strip

    def _on_screen(self) -> list[Drawn]:
        return self._shown[self.first : self.first + self.size.height]

    def _clamped(self, first: int) -> int:
        return max(0, min(first, len(self._shown) - self.size.height))

    @property
    def page_rows(self) -> int:
        """The lines of a page: one less than are visible."""
        return self.size.height - 1
