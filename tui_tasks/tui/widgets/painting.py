"""Widgets that draw their own lines, as wide as they are, in the theme's colours and with no border of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from rich.segment import Segment
from textual import events
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.app.actions import AppAccess
from tui_tasks.tui.widgets.styles import Part, StyleCache

if TYPE_CHECKING:
    from tui_tasks.tui.app.context import Context


class NoRelayout(Widget):
    """Asks for no second layout after each: only the bars by which Textual scrolls would, and nothing here has them.

    Beside a widget of Textual's it is the later base: the first is what names in CSS go by.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), repaint=False)


class PaintWhenVisible(NoRelayout):
    """Has nothing painted for its sake while it is not on screen: whoever shows it has all of it painted."""

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As `Widget.refresh`, where there is anything to see of it."""
        if not (layout or recompose) and self.is_mounted and not self.is_on_screen:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Focusable(Widget):
    """Paints what the focus makes different, and no more. No style of it depends on the focus.

    Textual would look up the styles of all that is in it, a fifth of what another pane costs, and paint all of it.
    """

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Look up no styles."""

    def on_focus(self, event: events.Focus) -> None:
        """Take the focus."""
        self._turn(event, events.DescendantFocus(self), has_focus=True)

    def on_blur(self, event: events.Blur) -> None:
        """Lose the focus."""
        self._turn(event, events.DescendantBlur(self), has_focus=False)

    def follow_focus(self) -> None:
        """Paint what is different now: nothing, unless said otherwise."""

    def _turn(self, event: events.Event, told: events.Event, *, has_focus: bool) -> None:
        event.prevent_default()
        self.has_focus = has_focus
        if self.parent is not None:
            self.parent.post_message(told)
        self.follow_focus()


class LinePainter(AppAccess, PaintWhenVisible):
    """Gives its lines to the screen as `render_line` makes them.

    Textual would ask of each line for borders, padding, tints and links, most of the time that a key takes. A line
    that is the same object as before costs next to nothing: whoever keeps them spares the filters, too.

    `own_size` is the size that is painted at: Textual works it out anew each time that it is asked.
    """

    own_size = Size(0, 0)

    def __init__(self, context: Context | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        if context is not None:
            self.context = context

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region."""
        size = self.own_size = self.size
        if size != self.outer_size:
            # Where a theme or a layout has given it a border after all.
            return super().render_lines(crop)
        try:
            lines = [self.render_line(y) for y in crop.line_range]
        except READ_ERRORS as error:
            self.context.link.cannot_read(error)
            lines = [self._line_or_none(y) for y in crop.line_range]
        # The inks have gone through that one.
        filters = [each for each in self.get_line_filters() if not isinstance(each, ANSIToTruecolor)]
        for each in filters:
            lines = [line.apply_filter(each, StyleCache.of(self.app).ground) for line in lines]
        first, end = crop.column_span
        return lines if (first, end) == (0, size.width) else [line.crop(first, end) for line in lines]

    def _line_or_none(self, y: int) -> Strip:
        """A line of what is held, where no more can be read."""
        try:
            return self.render_line(y)
        except READ_ERRORS:
            return Strip.blank(self.own_size.width, StyleCache.of(self.app).style(""))


def strip_of(parts: Sequence[Part], width: int, ink: StyleCache, *, cursor: bool = False) -> Strip:
    """A line of parts from the left, empty behind them; what is too much is cut off."""
    if not parts and not cursor:
        return ink.strip(" " * width)
    segments = [Segment(text, ink.style(name, cursor=cursor)) for text, name in parts if text]
    used = _width(parts)
    if used < width:
        segments.append(Segment(" " * (width - used), ink.style("", cursor=cursor)))
    strip = Strip(segments, max(used, width))
    return strip.crop(0, width) if used > width else strip


def changed_span(old: Sequence[Part], new: Sequence[Part], width: int) -> tuple[int, int]:
    """Which columns of a line differ, from and up to: a terminal is given those alone. Nothing differs: `(0, 0)`."""
    before, after = ([*parts, (" " * (width - _width(parts)), "")] for parts in (old, new))
    first = _same_cells(before, after)
    if first >= width:
        return 0, 0
    if _width(before) != width or _width(after) != width:
        return first, width
    return first, width - min(_same_cells(before[::-1], after[::-1], backwards=True), width - first)


def _width(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _same_cells(old: Sequence[Part], new: Sequence[Part], *, backwards: bool = False) -> int:
    """For how many cells two lines are the same, from their beginnings, or `backwards` from their ends."""
    cells = 0
    for (was, was_ink), (now, ink) in zip(old, new, strict=False):
        if (was, was_ink) == (now, ink):
            cells += cell_len(was)
            continue
        if was_ink == ink and was.isascii() and now.isascii():
            # Elsewhere a character may change the one beside it.
            texts = (was[::-1], now[::-1]) if backwards else (was, now)
            cells += next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
        break
    return cells
