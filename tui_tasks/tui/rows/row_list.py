"""The list widget over a `Source` of rows.

Its cost does not depend on the number of rows, as no widget is a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from textual import events
from textual.geometry import Offset, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from tui_tasks.tui.painting.line_painter import LinePainter, WheelScrolling
from tui_tasks.tui.painting.styles import StyleCache
from tui_tasks.tui.rows.row_cache import RowCache, Source
from tui_tasks.tui.rows.row_cursor import RowCursor, RowMarks
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook, RowPainter
from tui_tasks.tui.widgets.textual_overrides import Focusable

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

R = TypeVar("R")

# Seconds before a read that ended early continues, in which keys are handled.
_RESUME_AFTER = 0.001


class ListMessage(Message):
    """A message about a list, or about its row with the key `key`."""

    def __init__(self, row_list: VirtualList[Any], key: str | None) -> None:
        super().__init__()
        self.row_list = row_list
        self.key = key


class RowMessage(ListMessage):
    """A message about one row of a list."""

    key: str

    def __init__(self, row_list: VirtualList[Any], key: str) -> None:
        super().__init__(row_list, key)


class VirtualList(WheelScrolling, Focusable, LinePainter, Generic[R], can_focus=True):
    """Rows of a `Source`. `drawing` draws them, line by line; `focusable`: whether keys can go here."""

    class Moved(ListMessage):
        """The cursor moved to another row, or there is none any more."""

    class Marked(ListMessage):
        """Another number of rows is marked."""

    class Scrolled(ListMessage):
        """The human scrolled."""

    class Resumed(ListMessage):
        """A read that had ended early has continued; `is_searching` is whether it has ended early again."""

    class Opened(RowMessage):
        """A row was double-clicked."""

    class Dragged(RowMessage):
        """A row is being dragged; `at` is the position on the screen."""

        def __init__(self, row_list: VirtualList[Any], key: str, at: Offset) -> None:
            super().__init__(row_list, key)
            self.at = at

    class Dropped(Dragged):
        """A row was dropped; `at` is the position on the screen."""

    DEFAULT_CSS: ClassVar[str] = "VirtualList { height: 1fr; }"

    row_height: int = 1
    """Lines to a row."""

    def __init__(
        self, context: Context, drawing: RowDrawing[R], *, id: str | None = None, focusable: bool = True
    ) -> None:
        super().__init__(context, id=id)
        self.can_focus = focusable
        self._drawing = drawing
        self._cache: RowCache[R] = RowCache()
        self._cursor = RowCursor(self._cache)
        self._painter = RowPainter(self._cache, drawing, self.look_of, self.row_height)
        self._marks: RowMarks[R] = RowMarks()
        self._posted_marks = 0
        self._pressed: str | None = None
        self._dragged: str | None = None
        self._drop: str | None = None
        # The cursor last posted with `Moved`; the size, width and theme for which rows are cached and drawn.
        self._posted: str | None = None
        self._fitted = Size(0, 0)
        self._row_width = 0
        self._styles: StyleCache | None = None
        self._is_stale = False
        self._has_keys = False
        self._expiry: Timer | None = None
        self._resuming: Timer | None = None

    def look_of(self, row: R, number: int) -> RowLook:
        """Return the look of a row on screen; `number`: how many rows are above it there."""
        cache = self._cache
        key = cache.key(row)
        cursor = key == self._cursor.key
        return RowLook(
            cursor=cursor,
            marked=key in self._marks,
            focused=cursor and self._has_keys,
            dragged=key == self._dragged,
            drop=key == self._drop and self._dragged not in (None, key),
            width=self._row_width,
        )

    # Content

    def show(self, source: Source[R] | None, cursor: str | None = None, *, from_end: bool = False) -> None:
        """Show other rows, with the cursor on the row of a key, else on the first or the last row."""
        self._marks.clear()
        if not self._cache.height:
            # Before the first layout: a guess, so that the first paint has rows.
            self._cursor.resize(self._capacity(self.app.size.height))
        self._posted = None
        self._cursor.show(source, cursor, from_end=from_end)
        self._update()

    def refilter(self, source: Source[R], cursor: str | None = None) -> None:
        """Show more or fewer of the same rows; marks stay."""
        self._posted = None
        self._cursor.show(source, cursor)
        self._update()

    def reload(self) -> None:
        """Read what is on screen again; cursor, marks and scroll position stay."""
        self._cursor.reload()
        self.redraw()

    def change(self, keys: Iterable[str]) -> None:
        """Apply that rows of these keys were added, changed or removed; no other row is read or drawn."""
        keys = list(keys)
        self._cursor.change(keys)
        if self.source is not None:
            self._marks.forget_gone(keys, self.source)
        self._update()

    def grow(self) -> None:
        """Apply that there are more rows at the end, which are read when the screen is near them."""
        self._cursor.grow()
        self._update()

    def redraw(self) -> None:
        """Draw every row again, as something that all show has changed. Equal lines are not painted."""
        self._painter.outdate()
        self._update()

    def set_row_height(self, lines: int, gap: int) -> None:
        """Set the height of rows, in lines, and how many empty lines follow each."""
        self.row_height, self._painter.row_height, self._painter.gap = lines, lines, gap
        self._painter.forget()
        self._cursor.resize(self._capacity(self.size.height))

    def _capacity(self, height: int) -> int:
        """Return how many rows of the usual height fit."""
        return (height + self._painter.gap) // (self.row_height + self._painter.gap)

    def row_heights(self) -> Sequence[int] | None:
        """Return how many lines each row on screen has; None where all have `row_height`."""
        return None

    def row_gaps(self) -> Sequence[int] | None:
        """Return how many empty lines follow each row on screen, after `row_heights`; None where all have as many."""
        return None

    # State

    @property
    def source(self) -> Source[R] | None:
        """The source of the rows."""
        return self._cache.source

    @property
    def cursor(self) -> str | None:
        """The key of the cursor's row."""
        return self._cursor.key

    @property
    def row(self) -> R | None:
        """The cursor's row."""
        return self._cursor.row

    @property
    def marks(self) -> list[str]:
        """The keys of the marked rows, in the order in which they were marked."""
        return self._marks.keys

    @property
    def rows_on_screen(self) -> list[R]:
        """The rows on screen, from the top."""
        return self._cache.on_screen

    @property
    def rows_held(self) -> list[R]:
        """The rows on screen and some around them."""
        return self._cache.rows

    @property
    def keys_on_screen(self) -> list[str]:
        """The keys of the rows on screen, from the top."""
        return [self._cache.key(row) for row in self._cache.on_screen]

    @property
    def at_end(self) -> bool:
        """Whether the last row is on screen."""
        return self._cache.at_end

    @property
    def is_on_last(self) -> bool:
        """Whether the cursor is on the last row."""
        rows = self._cache.rows
        return self._cache.at_end and bool(rows) and self._cursor.key == self._cache.key(rows[-1])

    @property
    def is_searching(self) -> bool:
        """Whether a read in steps is still looking for rows."""
        return self._cache.is_cut

    def row_at(self, y: int) -> R | None:
        """Return the row at a line of the widget."""
        at = self._cache.top + self._painter.number_at(y)
        return self._cache.rows[at] if y >= 0 and at < len(self._cache.rows) else None

    # Moving

    def focus(self, scroll_visible: bool = True, **_: Any) -> Self:
        """Take the focus at once, before the next key is handled; `Widget.focus` defers it."""
        self.screen.set_focus(self, scroll_visible)
        return self

    def move(self, by: int) -> None:
        """Move the cursor by rows, at most to the end."""
        self._cursor.move(by)
        self._update()

    def move_page(self, by: int) -> None:
        """Move cursor and screen by pages."""
        self._cursor.move_page(by)
        self._update()

    def move_first(self) -> None:
        """Put the cursor on the first row."""
        self._cursor.move_first()
        self._update()

    def move_last(self) -> None:
        """Put the cursor on the last row."""
        self._cursor.move_last()
        self._update()

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row of a key; return False when there is none."""
        is_there = self._cursor.move_to(key)
        self._update()
        return is_there

    def scroll_rows(self, by: int) -> None:
        """Scroll by rows; the cursor stays on its row, even off screen. In a list of one line it moves instead."""
        if self.size.height == 1:
            self.move(1 if by > 0 else -1)
            return
        self._cursor.scroll(by)
        self._update()
        self.post_message(self.Scrolled(self, self._cursor.key))

    def hold_rows(self, by: int) -> None:
        """Scroll so that rows of one line stay where they are on the terminal, as the widget will begin `by` lines
        lower; as far as there are rows for it, and the cursor stays on screen.
        """
        if self.row_height == 1 and self.row_heights() is None and self._cache.height:
            self._cursor.hold_rows(by)
            self._update()

    # Marks

    @property
    def range_ends(self) -> tuple[str, ...]:
        """The keys of the rows that were marked last by themselves: see `RowMarks`."""
        return self._marks.range_ends

    def mark(self, keys: Iterable[str], *, on: bool | None = None) -> None:
        """Mark or unmark rows; `on=None` toggles each."""
        self._marks.set(keys, on=on)
        self._update()

    def mark_here(self) -> None:
        """Mark the cursor's row, from which a range then begins; or unmark it."""
        if (key := self._cursor.key) is not None:
            self._marks.toggle(key)
            self._update()

    def clear_marks(self) -> None:
        """Unmark all rows."""
        self.mark(self.marks, on=False)

    # Painting

    def _update(self, *, is_painting: bool = False) -> None:
        """Update what is drawn, and request a repaint of what differs, unless all is being painted now."""
        self._cursor.load()
        if self._cache.is_cut and self._resuming is None:
            self._resuming = self.set_timer(_RESUME_AFTER, self._resume)
        if len(self._marks) != self._posted_marks:
            self._posted_marks = len(self._marks)
            self.post_message(self.Marked(self, self._cursor.key))
        if self._cursor.key != self._posted:
            self._posted = self._cursor.key
            self.post_message(self.Moved(self, self._posted))
        self._is_stale = not self.size.height or not self.is_attached
        if self._is_stale:
            # Not laid out: drawn when it is painted.
            return
        # Whether it or an ancestor has the focus: once for all rows, as Textual walks the tree of widgets for it.
        focused = self.screen.focused
        self._has_keys = focused is not None and focused in self.ancestors_with_self
        self._row_width = self.size.width
        heights = self.row_heights()
        regions = self._painter.update(self.size, is_empty=self._cursor.is_empty, heights=heights, gaps=self.row_gaps())
        if regions and not is_painting:
            self.refresh(*regions)
        self._wake_later()

    def _fit(self, size: Size, *, is_painting: bool = False) -> None:
        """Cache as many rows as fit, drawn in the full width."""
        if self._fitted != size:
            self._fitted = size
            self._painter.forget()
            self._cursor.resize(self._capacity(size.height))
        if self._is_stale or not self._painter.has_drawn:
            self._update(is_painting=is_painting)

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        self._fit(self.own_size, is_painting=True)
        width, styles = self.own_size.width, StyleCache.of(self.app)
        strip = self._painter.strip(y, width, styles)
        if strip is None:
            parts = self._drawing.draw_blank(y, width) if self._cursor.is_empty else ()
            strip = self._painter.blank(parts, y, width, styles)
        return strip

    def _resume(self) -> None:
        self._resuming = None
        self._cursor.resume()
        self._update()
        self.post_message(self.Resumed(self, self._posted))

    def _wake_later(self) -> None:
        """Set the timer for the first age on screen that changes."""
        if self._expiry is not None:
            self._expiry.stop()
        seconds = self._painter.expires_in()
        self._expiry = self.set_timer(seconds, self._on_expiry) if seconds is not None else None

    def _on_expiry(self) -> None:
        self._expiry = None
        if self.is_on_screen:
            self._update()
        else:
            self._is_stale = True

    def notify_style_update(self) -> None:
        """Draw all rows again for another theme. Textual also calls this for the focus, which changes no style here."""
        super().notify_style_update()
        styles = StyleCache.of(self.app)
        if styles is not self._styles:
            self._styles = styles
            self._painter.forget()

    def on_resize(self) -> None:
        """Keep the cursor on screen; Textual repaints a resized widget whole."""
        self._fit(self.size)

    def follow_focus(self) -> None:
        """Draw the cursor in the style for a list with or without focus."""
        self._update()

    # The mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor on the pressed row; a drag may begin."""
        row = self.row_at(event.y)
        if row is not None and event.button == 1:
            self._pressed = self._cache.key(row)
            self.capture_mouse()
            self.move_to(self._pressed)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the pressed row; beyond an edge the list scrolls."""
        if self._pressed is None:
            return
        is_inside = 0 <= event.x < self.size.width and event.y < self.size.height
        row = self.row_at(event.y) if is_inside else None
        over = self._cache.key(row) if row is not None else None
        if over == self._pressed and self._dragged is None:
            return
        self._dragged, self._drop = self._pressed, over
        if event.y < 0 or event.y >= self.size.height:
            self._cursor.scroll(1 if event.y > 0 else -1)
        self._update()
        self.post_message(self.Dragged(self, self._pressed, event.screen_offset))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Drop the dragged row."""
        dragged = self._dragged
        self.let_go()
        if dragged is not None:
            self.post_message(self.Dropped(self, dragged, event.screen_offset))

    def let_go(self) -> bool:
        """Cancel a drag; return False when there was none."""
        was_dragging = self._dragged is not None
        self._dragged = self._pressed = self._drop = None
        self.release_mouse()
        if was_dragging:
            self._update()
        return was_dragging

    def on_click(self, event: events.Click) -> None:
        """Open a row with a double click."""
        row = self.row_at(event.y)
        if event.chain == 2 and row is not None:
            self.post_message(self.Opened(self, self._cache.key(row)))
