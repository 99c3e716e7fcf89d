"""Widgets of several lines that they draw themselves: wrapped, clickable, scrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.strip import Strip
from typing_extensions import override

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import NON_JOINER, TEXT_CHARS, beginning, safe_text
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import Actor, ScrollKeys
from tui_tasks.tui.painting.line_painter import (
    Drawing,
    LinePainter,
    WheelScrolling,
    changed_span,
    strip_of,
    thumb,
    with_thumb,
)
from tui_tasks.tui.painting.styles import Part, StyleCache, parts_width
from tui_tasks.tui.widgets.textual_overrides import Focusable

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


Drawn = Sequence[Part]


MAX_LINES: Final = 2_000
"""The most lines of a text that are drawn, as each key draws them again. A caller may set another limit."""


def wrapped(
    text: str, width: int, limit_chars: int = TEXT_CHARS, *, most: int = MAX_LINES, ascii_only: bool = False
) -> list[str]:
    """Return untrusted text as safe lines of at most `width` cells, broken between words if possible.

    Of more than `most` lines the last one shows that there are more.
    """
    lines: list[str] = []
    for line in safe_text(text, limit_chars, ascii_only=ascii_only).split("\n"):
        lines += _broken(line, max(width, 1))
        if len(lines) > most:
            return [*lines[: most - 1], "~" if ascii_only else "…"]
    return lines


# The most cells of a character.
_MOST_CELLS: Final = 2
# The most characters of safe text in one cell: a character and its marks.
_CHARS_A_CELL: Final = 4


def _fitting(ahead: str, width: int) -> int:
    """Return how many characters go into a line, one at least. A non-joiner stays between its letters."""
    end = max(1, len(beginning(ahead, width)))
    return end - 1 if end > 1 and ahead[end : end + 1] == NON_JOINER else end


def _broken(line: str, width: int) -> list[str]:
    lines, at = [], 0
    # Read in pieces of about a line, as it may be a megabyte long.
    while (end := _fitting(ahead := line[at : at + _CHARS_A_CELL * (width + 1)], width)) < len(line) - at:
        space = ahead.rfind(" ", 0, end + 1)
        # A line is not broken within the spaces at its beginning, as in code.
        if space > 0 and not ahead[:space].isspace():
            end = space
        lines.append(ahead[:end].rstrip(" "))
        at += end
        while line.startswith(" ", at):
            at += 1
    return [*lines, line[at:]]


def broken_whole(line: str, width: int) -> list[str]:
    """Return a safe line in parts of at most `width` cells, with every space: those between two parts begin the later
    one.
    """
    if len(line) * _MOST_CELLS <= width:
        return [line]
    parts, at = [], 0
    while (end := _fitting(ahead := line[at : at + _CHARS_A_CELL * (width + 1)], width)) < len(line) - at:
        space = max(0, ahead.rfind(" ", 0, end + 1))
        end = len(ahead[:space].rstrip(" ")) or end
        parts.append(line[at : at + end])
        at += end
    return [*parts, line[at:]]


def block(text: str, width: int, style: str = "", indent: int = 1) -> list[Drawn]:
    """Return untrusted text as lines of at most `width` cells in one style, behind `indent` spaces."""
    return [[(" " * indent + line, style)] for line in wrapped(text, width)]


def quoted(text: str, width: int, *, ascii_only: bool = False) -> list[Drawn]:
    """Return an agent's words in quotes as lines; several stand behind a bar, so that none looks like the screen's."""
    said = safe_text(f'"{text}"', ascii_only=ascii_only)
    if "\n" not in said:
        return block(said, width)
    bar = (f" {sign('divider', ascii_only=ascii_only)} ", "$muted")
    return [[bar, (line, "")] for line in wrapped(said, max(1, width - 2), ascii_only=ascii_only)]


def spaced(parts: Sequence[list[Drawn]], height: int) -> list[Drawn]:
    """Return the lines of parts, an empty one between them where all of it has room."""
    parts = [part for part in parts if part]
    has_room = sum(map(len, parts)) + len(parts) - 1 <= height
    return [line for at, part in enumerate(parts) for line in ([(), *part] if at and has_room else part)]


def beside(left: Sequence[Drawn], right: Sequence[Drawn], column: int) -> Iterator[Drawn]:
    """Yield lines with those of another text from a column on."""
    for line, other in zip_longest(left, right, fillvalue=()):
        blank = " " * (column - parts_width(line))
        yield [*line, (blank, ""), *other] if other else line


class Spot(msgspec.Struct, frozen=True):
    """A stretch of a line that performs an action on a click."""

    line: int
    first: int
    end: int
    action: str


class TextDrawing(Drawing):
    """Draws the lines of a text; given to `TextLines` or `ScrollLines`."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.spots: list[Spot] = []

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the parts of each line, from the top, in `width` cells.

        The widget is `height` lines high; 0 where its height follows from the text, or there is no room. A text without
        a drawing of its own is empty.
        """
        return []

    def spot(self, line: int, first: int, end: int, action: str) -> None:
        """Note, while drawing, the action of a click on columns `first` to `end` of a line."""
        self.spots.append(Spot(line, first, end, action))


class TextLines(LinePainter):
    """The lines of a text, all of them (`height: auto`) or those that fit. Only changed ones are painted again."""

    DEFAULT_CSS = "TextLines { height: auto; }"

    def __init__(self, context: Context, text: TextDrawing, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self._text = text
        self._shown: list[Drawn] = []
        self._shown_width = 0
        self._strips: dict[int, Strip] = {}
        self._styles: StyleCache | None = None

    def draw_by(self, text: TextDrawing) -> None:
        """Draw by another drawing, from the next time on."""
        self._text = text

    def redraw(self) -> None:
        """Draw again; paint only what differs. What is hidden is drawn when it is shown."""
        width, height = self.size
        if not width:
            self._shown_width = 0
            return
        old, old_width = self._shown, self._shown_width
        self._draw(width, height)
        # Whoever measures it draws it, too: the layout before may differ from what was drawn last.
        is_auto = self.styles.height is not None and self.styles.height.is_auto
        if len(old) != len(self._shown) or old_width != width or (is_auto and len(self._shown) != height):
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

    def _draw(self, width: int, height: int) -> None:
        text = self._text
        text.span_us = 0
        text.spots = []
        self._shown_width = width
        self._shown = text.lines(width, height)
        self._lasts_us = text.span_us
        self._strips = {}

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        if width != self._shown_width:
            self._draw(width, 0)
        return len(self._shown)

    def on_resize(self) -> None:
        """Draw the lines in their new width."""
        if self._shown_width != self.size.width:
            self.redraw()
        self._redraw_in_time()

    def notify_style_update(self) -> None:
        """Paint everything again for another theme."""
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        (width, height), styles = self.own_size, StyleCache.of(self.app)
        if self._shown_width != width:
            self._draw(width, height)
        if styles is not self._styles:
            self._styles, self._strips = styles, {}
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = strip_of(self._shown[y] if y < len(self._shown) else (), width, styles)
        return strip

    def on_click(self, event: events.Click) -> None:
        """Perform the clicked action."""
        for spot in self._text.spots:
            if spot.line == event.y and spot.first <= event.x < spot.end:
                self.context.pressed.at = event.time
                self.context.do(spot.action)
                return


class HeldLines(TextLines):
    """Lines above all others. One that goes leaves an empty one until the human changes the layout, so that nothing
    below moves by itself.
    """

    def __init__(
        self, context: Context, text: TextDrawing, *, id: str, on_moved: Callable[[int], None] = lambda by: None
    ) -> None:
        """`on_moved` is called with how many lines what stands below moves down."""
        super().__init__(context, text, id=id)
        self._on_moved = on_moved
        self.needed = 0
        """How many lines are not empty."""
        # The lines with the empty ones, the size of the screen for which they are kept, and whether they are.
        self._held = 0
        self._held_in = Size(0, 0)
        self._is_holding = True

    def most(self) -> int | None:
        """Return how many lines are kept at most; None: as many as there were."""
        return None

    def redraw(self) -> None:
        """Draw again, also while it has no lines and thus no size."""
        before, held_in = self._held, self._held_in
        if self.size.width:
            super().redraw()
        elif self.is_attached and (width := self.app.size.width):
            self._draw(width, 0)
            if self._shown:
                self.refresh(layout=True)
        if before != self._held and held_in == self._held_in:
            self._on_moved(self._held - before)

    def free(self) -> None:
        """Give up the lines that are empty."""
        self._is_holding = False
        self.redraw()
        self._is_holding = True

    def _draw(self, width: int, height: int) -> None:
        super()._draw(width, height)
        size, most, self.needed = self.app.size, self.most(), len(self._shown)
        held = self._held if self._is_holding and self._held_in == size else 0
        self._held, self._held_in = max(self.needed, held if most is None else min(held, most)), size
        self._shown += [()] * (self._held - self.needed)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines in this size of the screen."""
        self._draw(width, 0)
        return len(self._shown)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._redraw_in_time()


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

    def __init__(self, context: Context, text: TextDrawing, *, id: str | None = None) -> None:
        super().__init__(context, text, id=id)
        self.first = 0
        self.controllers = (ScrollKeys(self),)

    @override
    def why_not(self, action: Action) -> str | None:
        """Nothing scrolls where all of it is on the screen."""
        if action.moves and len(self._shown) <= self.size.height:
            return f"All of it is on the screen; {self.context.keymap.key_of('back')} goes back."
        return super().why_not(action)

    def redraw(self) -> None:
        """Draw again; paint only visible lines that differ."""
        width, height = self.size
        if not width:
            return
        old, old_first, old_mark = self._on_screen(), self.first, self._mark(height)
        self._draw(width, height)
        self.first = self._clamped(self.first)
        if old_first != self.first or old_mark != self._mark(height):
            self.refresh()
        else:
            self._refresh_changed(old, self._on_screen())
        self._redraw_in_time()

    def scroll_rows(self, by: int) -> None:
        """Scroll, at most to the end."""
        first = self._clamped(self.first + by)
        if first != self.first:
            self.first = first
            self.refresh()

    def on_resize(self) -> None:
        """Draw for the new size; Textual paints it all."""
        self.redraw()

    def render_line(self, y: int) -> Strip:
        """Paint one line, with the scroll mark at its end."""
        strip = super().render_line(y + self.first)
        width, height = self.own_size
        if y in self._mark(height):
            return with_thumb(strip, width, StyleCache.of(self.app))
        return strip

    def _mark(self, height: int) -> range:
        """Return the lines with the scroll mark."""
        return thumb(height, height, len(self._shown), self.first)

    def _on_screen(self) -> list[Drawn]:
        return self._shown[self.first : self.first + self.size.height]

    def _clamped(self, first: int) -> int:
        return max(0, min(first, len(self._shown) - self.size.height))

    @property
    def page_rows(self) -> int:
        """The lines of a page: one less than are visible."""
        return self.size.height - 1
