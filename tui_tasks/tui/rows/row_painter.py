"""Paints a list: a row is drawn again only when it, its look or its age changes, and only columns that differ are
painted. Scrolling draws no row again.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec
from textual.geometry import Region, Size
from textual.strip import Strip

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import draw_again_in
from tui_tasks.tui.painting.line_painter import Drawing, changed_span, on_panel, strip_of, thumb, with_thumb
from tui_tasks.tui.painting.styles import NEW, Part, StyleCache
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_cache import RowCache

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

R = TypeVar("R")

NO_THUMB: Final = range(0)
INDENT: Final = "   "
GUTTER: Final = 5
"""In cells: what is before the number and the words of a row: `>• ◐ `."""
NUMBER_GAP: Final = 2
"""In cells: what is between a number and the words."""


def nothing_matches(context: Context, text: str, instead: str = "") -> str:
    """Return that no row matches a filter, and how to leave it; `instead`: what to type."""
    back = f"{context.keymap.key_of('back')} clears the filter"
    return f"Nothing matches “{safe_line(text, 40)}”: {f'type {instead}, or ' if instead else ''}{back}."


class RowLook(msgspec.Struct, frozen=True):
    """How a row is drawn, beside its own values."""

    cursor: bool
    """The cursor is on it."""
    marked: bool
    focused: bool
    """The cursor is on it and the keys go here."""
    dragged: bool
    drop: bool
    """Another row is being dragged, and this one is under the mouse."""
    width: int
    """Cells from the left edge to the right."""
    faint: bool = False
    """It has no cursor, as the keys go elsewhere, but its part of the screen continues here: its ground is fainter."""

    def cursor_sign(self, after: str = "") -> Part:
        """Return the sign of the cursor, bright where the keys go here; blank on other rows."""
        shown = sign("cursor") if self.cursor else " "
        return f"{shown}{after}", "$primary bold" if self.focused else "$muted"


def gutter(look: RowLook | None, glyph: Part | None, *, is_new: bool, ascii_only: bool) -> list[Part]:
    """Return `>• ◐ `, with which the rows of all lists begin: the cursor, the mark of a marked row or of an unseen
    change, and the glyph of the state, without which it is shorter. `look`: None for rows without a cursor.
    """
    cursor: Part = look.cursor_sign() if look is not None else (" ", "")
    mark: Part = (sign("changed", ascii_only=ascii_only), NEW) if is_new else (" ", "")
    if look is not None and look.marked:
        mark = "+", "$changed"
    return [cursor, mark, (" ", ""), *((glyph, (" ", "")) if glyph is not None else ())]


class RowDrawing(Drawing, Generic[R]):
    """Draws the rows of a list, one class for each kind of row; given to a `VirtualList`.

    `no_match` returns that no row matches the filter, and how to leave it; empty where there is none.
    """

    no_match: Callable[[], str] = str

    def draw(self, row: R, look: RowLook, line: int) -> Sequence[Part]:
        """Return the parts of one line of a row, from the left; the rest of `look.width` is blank."""
        raise NotImplementedError

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Return the parts of a line of a list without rows, `width` cells wide."""
        return ()

    def draw_blank(self, line: int, width: int) -> Sequence[Part]:
        """Return the parts of a line of a list in which no row matches, or of which there is none."""
        why = self.no_match()
        if not why:
            return self.draw_empty(line, width)
        lines = wrapped(why, width - 2 * len(INDENT), ascii_only=self.context.ascii_only)
        return [(f"{INDENT}{lines[line - 1]}", "$muted")] if 0 < line <= len(lines) else ()


class DrawnRow(msgspec.Struct):
    """A drawn row: the parts of its lines, and the strips of the lines painted so far."""

    key: str
    row: Any
    look: RowLook
    epoch: int
    lines: list[Sequence[Part]]
    expires: float | None
    """When an age in it is out of date, in seconds of the monotonic clock; None: not by time alone."""
    strips: dict[int, Strip] = msgspec.field(default_factory=dict)


class RowPainter(Generic[R]):
    """Draws the cached rows on screen, and returns which regions of the widget changed.

    `look_of` returns the look of the row at a line of the screen.
    """

    def __init__(
        self,
        cache: RowCache[R],
        drawing: RowDrawing[R],
        look_of: Callable[[R, int], RowLook],
        row_height: int,
    ) -> None:
        self.row_height = row_height
        self.gap = 0
        """How many empty lines follow each row."""
        self._cache = cache
        self._drawing = drawing
        self._draw = drawing.draw
        self._look_of = look_of
        self._drawn: list[DrawnRow] = []
        # The line of the widget at which each drawn row begins, and the one after the last row.
        self._starts: list[int] = [0]
        self._has_drawn = False
        self._epoch = 0
        self._thumb = NO_THUMB
        self._blank: list[Sequence[Part]] = []

    @property
    def has_drawn(self) -> bool:
        """Whether the screen was drawn since the last `forget`; True for a list without rows, too."""
        return self._has_drawn

    def forget(self) -> None:
        """Drop all that was drawn, as size, theme or row height changed."""
        self._drawn, self._starts, self._has_drawn = [], [0], False

    def outdate(self) -> None:
        """Have every row drawn again, as something that all show has changed. Equal lines are not painted."""
        self._epoch += 1

    def expires_in(self) -> float | None:
        """Return the seconds until the first row on screen is out of date; None: never by time alone."""
        expires = min((drawn.expires for drawn in self._drawn if drawn.expires is not None), default=None)
        return None if expires is None else max(0.01, expires - time.monotonic())

    def update(
        self, size: Size, *, is_empty: bool, heights: Sequence[int] | None = None, gaps: Sequence[int] | None = None
    ) -> list[Region]:
        """Draw the rows that are out of date; return the regions of the widget that changed.

        `heights`: the lines of each row on screen; None where all have `row_height`. `gaps`: how many empty lines
        follow each; None: `gap`.
        """
        known = {drawn.key: drawn for drawn in self._drawn}
        drawn_now: list[DrawnRow] = []
        now = time.monotonic()
        for number, row in enumerate(self._cache.on_screen):
            key = self._cache.key(row)
            tall = heights[number] if heights is not None else self.row_height
            drawn_now.append(self._draw_row(key, row, self._look_of(row, number), known.get(key), now, tall))
        after = gaps if gaps is not None else [self.gap] * len(drawn_now)
        starts = [0, *accumulate(len(drawn.lines) + gap for drawn, gap in zip(drawn_now, after, strict=True))]
        now_thumb = self._thumb_of(size.height)
        lines = {*now_thumb} ^ {*self._thumb}
        parts: list[Region] = []
        blank = [self._drawing.draw_blank(y, size.width) for y in range(size.height)] if is_empty else []
        if bool(drawn_now) != bool(self._drawn) or blank != self._blank:
            lines.update(range(size.height))
        for number, drawn in enumerate(drawn_now):
            before = self._drawn[number] if number < len(self._drawn) else None
            is_placed = before is not None and starts[number : number + 2] == self._starts[number : number + 2]
            if before is None or not is_placed or not _has_shape_of(before, drawn):
                lines.update(range(starts[number], starts[number + 1]))
            elif drawn is not before:
                parts += _changed(before, drawn, starts[number], size.width)
        # Lines below the rows of which some had a row before.
        lines.update(range(starts[-1], self._starts[-1]))
        self._drawn, self._starts, self._thumb, self._blank = drawn_now, starts, now_thumb, blank
        self._has_drawn = True
        return [*_regions(sorted(lines), size), *parts]

    def number_at(self, y: int) -> int:
        """Return how many rows are above the one at a line of the widget."""
        if y < self._starts[-1]:
            return bisect_right(self._starts, y) - 1
        return len(self._drawn) + (y - self._starts[-1]) // (self.row_height + self.gap)

    def strip(self, y: int, width: int, styles: StyleCache) -> Strip | None:
        """Return the strip of a line of the widget; None below the rows."""
        if y >= self._starts[-1]:
            return None
        number = bisect_right(self._starts, y) - 1
        drawn, line = self._drawn[number], y - self._starts[number]
        if line >= len(drawn.lines):
            return self.blank((), y, width, styles)
        strip = drawn.strips.get(line)
        if strip is None:
            strip = drawn.strips[line] = strip_of(drawn.lines[line], width, styles, cursor=drawn.look.cursor)
        return self._with_thumb(strip, y, width, styles)

    def blank(self, parts: Sequence[Part], y: int, width: int, styles: StyleCache) -> Strip:
        """Return the strip of a line below the rows."""
        return self._with_thumb(strip_of(parts, width, styles), y, width, styles)

    def _with_thumb(self, strip: Strip, y: int, width: int, styles: StyleCache) -> Strip:
        return with_thumb(strip, width, styles) if y in self._thumb else strip

    def _thumb_of(self, height: int) -> range:
        """Return the lines of the scroll mark; none when all rows are on screen."""
        cache = self._cache
        if cache.source is None or height < 2:
            return NO_THUMB
        if cache.base < 0:
            # A screen of rows stands for those that are not in memory.
            above, below = (0 if is_edge else cache.height for is_edge in (cache.has_first, cache.has_last))
            return thumb(height, cache.height, above + len(cache.rows) + below, above + cache.top)
        return thumb(height, cache.height, cache.source.total(), cache.base + cache.top)

    def _draw_row(self, key: str, row: R, look: RowLook, old: DrawnRow | None, now: float, tall: int) -> DrawnRow:
        is_current = old is not None and old.row is row and old.look == look and old.epoch == self._epoch
        is_current = is_current and old is not None and len(old.lines) == tall
        if old is not None and is_current and (old.expires is None or old.expires > now):
            return old
        drawing = self._drawing
        drawing.span_us = 0
        lines = [self._draw(row, look, line) for line in range(tall)]
        if look.faint:
            lines = [on_panel(parts, look.width) for parts in lines]
        expires = time.monotonic() + draw_again_in(drawing.span_us) if drawing.span_us else None
        drawn = DrawnRow(key, row, look, self._epoch, lines, expires)
        if old is not None and old.lines == lines and (old.look.width, old.look.cursor) == (look.width, look.cursor):
            drawn.strips = old.strips
        return drawn


def _has_shape_of(old: DrawnRow, new: DrawnRow) -> bool:
    """Return whether two rows have as many lines, and both the cursor or neither."""
    return len(old.lines) == len(new.lines) and old.look.cursor == new.look.cursor


def _regions(lines: Sequence[int], size: Size) -> Iterator[Region]:
    """Yield whole lines of the widget, those that follow each other in one region."""
    for _, run in groupby(enumerate(lines), lambda each: each[1] - each[0]):
        ys = [y for _, y in run if y < size.height]
        if ys:
            yield Region(0, ys[0], size.width, len(ys))


def _changed(old: DrawnRow, new: DrawnRow, y: int, width: int) -> list[Region]:
    """Return the columns that differ between two rows whose first line is at `y`."""
    spans = [changed_span(*lines, width) for lines in zip(old.lines, new.lines, strict=True)]
    return [Region(first, y + line, end - first, 1) for line, (first, end) in enumerate(spans) if end > first]
