"""Lines of text that a widget draws itself: like `frame.FrameLine`, but several, wrapped and clickable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import TEXT_CHARS, beginning, safe_text
from tui_tasks.tui.widgets.painting import LinePainter, changed_span, strip_of
from tui_tasks.tui.widgets.styles import Part, StyleCache

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

Drawn = Sequence[Part]


def wrapped(text: str, width: int, limit_chars: int = TEXT_CHARS, *, ascii_only: bool = False) -> list[str]:
    """Return text of any origin as safe lines no wider than `width` cells, broken between words where it can be."""
    lines: list[str] = []
    for line in safe_text(text, limit_chars, ascii_only=ascii_only).split("\n"):
        lines += _broken(line, max(width, 1))
    return lines


# What safe text has in a cell at the most: a character and the marks on it.
_CHARS_A_CELL: Final = 4


def _broken(line: str, width: int) -> list[str]:
    lines, at = [], 0
    # Looked at a line's worth at a time: it may be a megabyte long.
    while (end := len(beginning(ahead := line[at : at + _CHARS_A_CELL * (width + 1)], width))) < len(line) - at:
        end = max(end, 1)
        space = ahead.rfind(" ", 0, end + 1)
        # A line that begins with spaces, as code does, is not broken within them.
        if space > 0 and not ahead[:space].isspace():
            end = space
        lines.append(ahead[:end].rstrip(" "))
        at += end
        while line.startswith(" ", at):
            at += 1
    return [*lines, line[at:]]


@dataclass(frozen=True, slots=True)
class Spot:
    """A stretch of a line that does an action when it is clicked."""

    line: int
    first: int
    end: int
    action: str


class TextLines(LinePainter):
    """Lines drawn from parts, as many as there are (`height: auto`) or fit. Painted again only where they differ."""

    DEFAULT_CSS = "TextLines { height: auto; }"

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, id=id, classes=classes)
        self._shown: list[Drawn] = []
        self._shown_width = 0
        self._strips: dict[int, Strip] = {}
        self._styles: StyleCache | None = None
        self._spots: list[Spot] = []

    def lines(self, width: int) -> list[Drawn]:
        """What stands on each line, from the top."""
        return []

    def spot(self, line: int, first: int, end: int, action: str) -> None:
        """Say, while drawing, that a click on columns `first` to `end` of a line does an action."""
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
        """Have the columns painted in which lines differ; those that the shorter has none of are empty there."""
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
        """As many lines as there are."""
        if width != self._shown_width:
            self._draw(width)
        return len(self._shown)

    def on_resize(self) -> None:
        """Lay it out anew."""
        if self._shown_width != self.size.width:
            self.again()
        self._redraw_in_time()

    def notify_style_update(self) -> None:
        """Another theme: paint all of it again."""
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
        """Do what was clicked."""
        for spot in self._spots:
            if spot.line == event.y and spot.first <= event.x < spot.end:
                self.context.do(spot.action)
                return


class Divider(LinePainter):
    """A rule from top to bottom between what stands side by side."""

    DEFAULT_CSS = "Divider { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        return StyleCache.of(self.app).strip(sign("divider", ascii_only=self.context.ascii_only), "$rule")
