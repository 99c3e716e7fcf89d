"""Bases of widgets that draw their own lines at full width, and scroll by the wheel; and one line with parts at
the left and at the right: heads, rules, and the lines around a pane. Scroll marks show which lines are on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual import events
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len
from tui_tasks.text.times import draw_again_in
from tui_tasks.tui.painting.styles import Part, StyleCache, parts_width
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, PaintWhenVisible, ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class LinePainter(ResilientMessages, PaintWhenVisible, NoRelayout):
    """Paints lines exactly as `render_line` returns them, and redraws lines with ages when they are out of date.

    Textual would look up borders, padding, tints and links for each line, most of the time that a key takes. A strip
    that is the same object as before costs next to nothing, so subclasses keep theirs.

    `own_size` is the size to paint; Textual computes `size` at each access.
    """

    own_size = Size(0, 0)
    _lasts_us = 0
    _redraw_timer: Timer | None = None

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.context = context

    def redraw(self) -> None:
        """Draw again. Subclasses that keep what they drew repaint only what differs."""
        self.refresh()

    def lasts(self, span_us: int) -> None:
        """Set, while drawing, for how many microseconds what is drawn stays true."""
        self._lasts_us = min(self._lasts_us or span_us, span_us)

    def _redraw_in_time(self) -> None:
        """Draw again when the first part that was drawn is out of date."""
        if self._redraw_timer is not None:
            self._redraw_timer.stop()
        self._redraw_timer = self.set_timer(draw_again_in(self._lasts_us), self.redraw) if self._lasts_us else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region."""
        size = self.own_size = self.size
        if size != self.outer_size:
            # A theme or a layout has given it a border after all.
            return super().render_lines(crop)
        try:
            lines = [self.render_line(y) for y in crop.line_range]
        except READ_ERRORS as error:
            self.context.link.cannot_read(error)
            lines = [self._line_or_blank(y) for y in crop.line_range]
        # `StyleCache` has applied that filter.
        filters = [each for each in self.get_line_filters() if not isinstance(each, ANSIToTruecolor)]
        for each in filters:
            lines = [line.apply_filter(each, StyleCache.of(self.app).ground) for line in lines]
        first, end = crop.column_span
        return lines if (first, end) == (0, size.width) else [line.crop(first, end) for line in lines]

    def _line_or_blank(self, y: int) -> Strip:
        """Return a line of what was read before, blank where it was not."""
        try:
            return self.render_line(y)
        except READ_ERRORS:
            return Strip.blank(self.own_size.width, StyleCache.of(self.app).style(""))


def on_panel(parts: Sequence[Part], width: int) -> list[Part]:
    """Return a line of parts, filled to `width` cells, on the ground of a bar."""
    return [(text, f"{style} ^panel") for text, style in [*parts, (" " * (width - parts_width(parts)), "")]]


def strip_of(parts: Sequence[Part], width: int, styles: StyleCache, *, cursor: bool = False) -> Strip:
    """Return a line of parts from the left, blank behind them and cut off at `width` cells."""
    if not parts and not cursor:
        return styles.strip(" " * width)
    segments = [Segment(text, styles.style(name, cursor=cursor)) for text, name in parts if text]
    used = parts_width(parts)
    if used < width:
        segments.append(Segment(" " * (width - used), styles.style("", cursor=cursor)))
    strip = Strip(segments, max(used, width))
    return strip.crop(0, width) if used > width else strip


def changed_span(old: Sequence[Part], new: Sequence[Part], width: int) -> tuple[int, int]:
    """Return from and up to which column two lines differ; `(0, 0)` where nothing does."""
    before, after = ([*parts, (" " * (width - parts_width(parts)), "")] for parts in (old, new))
    first = _same_cells(before, after)
    if first >= width:
        return 0, 0
    if parts_width(before) != width or parts_width(after) != width:
        return first, width
    return first, width - min(_same_cells(before[::-1], after[::-1], backwards=True), width - first)


def _same_cells(old: Sequence[Part], new: Sequence[Part], *, backwards: bool = False) -> int:
    """Return for how many cells two lines are the same, from their beginnings, or `backwards` from their ends."""
    cells = 0
    for (was, was_style), (now, style) in zip(old, new, strict=False):
        if (was, was_style) == (now, style):
            cells += cell_len(was)
            continue
        if was_style == style and was.isascii() and now.isascii():
            # In other text, a character may combine with the one before it.
            texts = (was[::-1], now[::-1]) if backwards else (was, now)
            cells += next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
        break
    return cells


class Drawing:
    """Returns the parts of lines. `span_us` is for how many microseconds they stay true; 0: until something changes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.span_us = 0

    def lasts(self, span_us: int) -> None:
        """Note, while drawing, that what is drawn stays true for so many microseconds (`text.times.age_lasts`)."""
        self.span_us = min(self.span_us or span_us, span_us)


WHEEL: Final = 3
"""The rows that one notch of the wheel scrolls."""


class WheelScrolling:
    """Mixin for widgets that draw their own rows: the wheel scrolls them, and nothing around them."""

    def scroll_rows(self, by: int) -> None:
        """Scroll by rows, down when `by` is above 0, at most to the end."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down; a cursor stays on its row."""
        event.stop()
        self.scroll_rows(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up; a cursor stays on its row."""
        event.stop()
        self.scroll_rows(-WHEEL)


DrawParts = Callable[[int], Sequence[Part]]
"""Returns the parts of one side of a line, given the line's width in cells."""


def no_parts(_width: int) -> Sequence[Part]:
    """Return nothing, for a side that stays empty."""
    return ()


class FrameLine(LinePainter):
    """A line, drawn by the functions that it is given. It is painted again only when its parts change.

    The right parts are dropped when there is no room for both. A bar is set off from a pane by its ground.
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
        is_bar: bool = False,
    ) -> None:
        super().__init__(context, id=id, classes=classes)
        self._left = left
        self._right = right
        self._is_bar = is_bar
        self._parts: tuple[Sequence[Part], Sequence[Part]] | None = None
        self._width = 0
        self._strip: Strip | None = None
        self._styles: StyleCache | None = None

    def redraw(self) -> None:
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
        """Draw the line in its new width, unless it was painted in that already."""
        if self._parts is None or self._width != self.size.width:
            self.redraw()
        else:
            self._redraw_in_time()

    def on_hide(self) -> None:
        """Draw the line anew when it is shown again."""
        self._parts = None

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
            self._lasts_us = 0
            self._parts, self._width = (self._left(width), self._right(width)), width
            self._strip = None
        styles = StyleCache.of(self.app)
        if self._strip is None or styles is not self._styles:
            self._styles, self._strip = styles, self.painted(self._joined(*self._parts, width))
        return self._strip

    def painted(self, parts: Sequence[Part]) -> Strip:
        """Return a line of parts, on the ground of a bar where this is one."""
        width = self.own_size.width
        if self._is_bar:
            parts = on_panel(parts, width)
        return strip_of(parts, width, StyleCache.of(self.app))

    @staticmethod
    def _joined(left: Sequence[Part], right: Sequence[Part], width: int) -> list[Part]:
        used, wide = parts_width(left), parts_width(right)
        if used + wide > width:
            right, wide = (), 0
        return [*left, (" " * max(0, width - used - wide), ""), *right]


def rule(context: Context, *, id: str | None = None) -> FrameLine:
    """Return a rule across the screen."""
    return FrameLine(context, lambda width: rule_parts(context, width), id=id)


_AS_DASH: Final = dict.fromkeys(range(0x2500, 0x2580), "-")


def rule_parts(context: Context, width: int, title: Sequence[Part] = (), right: Sequence[Part] = ()) -> list[Part]:
    """Return a rule of a width in cells: `─ Plan  9 tasks ──────── • 4 changed ─`.

    `title` and `right` are safe text; `right` is dropped where there is no room for both. A bar at its end ends the
    rule: what is open of it is drawn like a rule. What looks like a rule in a title is shown as `-`: a name cannot
    end the rule.
    """
    dash = sign("rule", ascii_only=context.ascii_only)
    title = [(text.translate(_AS_DASH), style) for text, style in title]
    begin: list[Part] = [(f"{dash} ", "$rule"), *title, (" ", "")] if title else []
    end: list[Part] = [(" ", ""), *right] if right else []
    if right and right[-1][1] != "$rule":
        end.append((f" {dash}", "$rule"))
    room = width - parts_width(begin + end)
    if room < 0 and right:
        return rule_parts(context, width, title)
    return [*begin, (dash * max(0, room), "$rule"), *end]


# Its ground has its colour, where there are shades: lines of a terminal may stand apart.
_MARK: Final = "▐"
_MARK_STYLE: Final = "$rule ^rule"
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


def with_thumb(strip: Strip, width: int, styles: StyleCache) -> Strip:
    """Return a line of `width` cells that ends with the scroll mark."""
    return Strip([*strip.crop(0, width - 1), Segment(_MARK, styles.style(_MARK_STYLE))], width)


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
            ground = bar_color if line in covered else back_color
            style = Style(color=bar_color, bgcolor=ground, meta={"@mouse.down": action} if covered else None)
            segments.append(Segment((_MARK if line in covered else "").rjust(thickness), style))
        return Segments(segments, new_lines=True)
