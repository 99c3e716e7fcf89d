"""A widget over a window of rows that are fetched by key: ten rows and a million cost the same.

No widget stands for a row: `row_paint` draws them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar

from textual import events
from textual.geometry import Offset
from textual.message import Message

from tui_tasks.tui.rows.row_cache import Source
from tui_tasks.tui.rows.row_painter import RowPainter
from tui_tasks.tui.widgets.painting import Focusable
from tui_tasks.tui.widgets.scrolling import WheelScrolling

R = TypeVar("R")


class RowMessage(Message):
    """Something about one row of a window; `key` names it."""

    def __init__(self, window: VirtualList[Any], key: str) -> None:
        super().__init__()
        self.window = window
        self.key = key

    @property
    def control(self) -> VirtualList[Any]:
        """The window it comes from."""
        return self.window


class VirtualList(WheelScrolling, Focusable, RowPainter[R], can_focus=True):
    """Rows of a `Source`, drawn line by line. Subclasses say how a row is drawn (`draw`)."""

    class Moved(Message):
        """The cursor is on another row, or on none."""

        def __init__(self, window: VirtualList[Any], key: str | None) -> None:
            super().__init__()
            self.window = window
            self.key = key

        @property
        def control(self) -> VirtualList[Any]:
            """The window it comes from."""
            return self.window

    class Opened(RowMessage):
        """A row was opened by a double click."""

    class Dragged(RowMessage):
        """A row is being dragged; `at` is where on the screen."""

        def __init__(self, window: VirtualList[Any], key: str, at: Offset) -> None:
            super().__init__(window, key)
            self.at = at

    class Dropped(Dragged):
        """A row was let go of, elsewhere than where it was; `at` is where on the screen."""

    DEFAULT_CSS: ClassVar[str] = "VirtualList { height: 1fr; }"

    _pressed: str | None = None

    def moved(self, key: str | None) -> Message:
        """As `RowPainter.moved`."""
        return self.Moved(self, key)

    # What is shown

    def show(self, source: Source[R] | None, cursor: str | None = None, *, from_end: bool = False) -> None:
        """Show other rows, with the cursor on the one of that key, else on the first, or `from_end` on the last."""
        self._marks.clear()
        self._told = None
        if not self._held.height:
            # Before there is a layout, so that its first paint has rows.
            self._held.resize(self.app.size.height // self.row_height)
        self._held.show(source, cursor, from_end=from_end)
        self._repaint()

    def refilter(self, source: Source[R], cursor: str | None = None) -> None:
        """Show more or fewer of the same rows: marks stay."""
        self._told = None
        self._held.show(source, cursor)
        self._repaint()

    def reload(self) -> None:
        """Read again what is on screen; cursor, marks and the place on screen stay."""
        self._held.reload()
        self.again()

    def change(self, keys: Iterable[str]) -> None:
        """Rows of these keys may have come, changed or gone: see to them and to nothing else."""
        keys = list(keys)
        self._held.change(keys)
        source = self._held.source
        marked = [key for key in keys if key in self._marks]
        if marked and source is not None:
            there = source.find(marked)
            for key in marked:
                if key not in there:
                    del self._marks[key]
        self._repaint()

    def grow(self) -> None:
        """There are more rows at the end: they are read once the screen comes near."""
        self._held.grow()
        self._repaint()

    # What others ask

    @property
    def source(self) -> Source[R] | None:
        """Where its rows come from."""
        return self._held.source

    @property
    def cursor(self) -> str | None:
        """The key of the row that the cursor is on."""
        return self._held.cursor

    @property
    def row(self) -> R | None:
        """The row that the cursor is on."""
        return self._held.row

    @property
    def marks(self) -> list[str]:
        """The keys that are marked, in the order of marking."""
        return list(self._marks)

    @property
    def rows_on_screen(self) -> list[R]:
        """The rows on screen, from the top."""
        return self._held.on_screen

    @property
    def keys_on_screen(self) -> list[str]:
        """The keys of the rows on screen, from the top."""
        return [self._held.key(row) for row in self._held.on_screen]

    @property
    def has_rows(self) -> bool:
        """Whether it has rows at all, as far as is known."""
        self._held.load()
        return bool(self._held.rows)

    def row_at(self, y: int) -> R | None:
        """The row at a line of the widget."""
        at = self._held.top + y // self.row_height
        return self._held.rows[at] if y >= 0 and at < len(self._held.rows) else None

    def neighbour(self, by: int) -> R | None:
        """The row that many places from the cursor's, where there is one."""
        return self._held.neighbour(by)

    def focus(self, scroll_visible: bool = True, **_: Any) -> Self:
        """Take the focus at once, before the next key is looked at."""
        self.screen.set_focus(self, scroll_visible)
        return self

    # Moving

    def move(self, by: int) -> None:
        """Move the cursor by rows, as far as there are any."""
        self._held.move(by)
        self._repaint()

    def move_page(self, by: int) -> None:
        """Move the cursor by screens, and what is on screen with it."""
        self._held.page(by)
        self._repaint()

    def move_first(self) -> None:
        """Put the cursor on the first row."""
        self._held.first()
        self._repaint()

    def move_last(self) -> None:
        """Put the cursor on the last row."""
        self._held.last()
        self._repaint()

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row of that key, wherever it is; False where there is none."""
        there = self._held.go(key)
        self._repaint()
        return there

    def scroll_rows(self, by: int) -> None:
        """Move what is on screen by rows; the cursor stays where it is, on screen or not."""
        self._held.scroll(by)
        self._repaint()

    # Marks

    def mark(self, keys: Iterable[str], *, on: bool | None = None) -> None:
        """Mark rows, or take their marks away; by default each is turned."""
        for key in keys:
            if on if on is not None else key not in self._marks:
                self._marks[key] = None
            else:
                self._marks.pop(key, None)
        self._repaint()

    def clear_marks(self) -> None:
        """Take all marks away."""
        self._marks.clear()
        self._repaint()

    # What the terminal says

    def on_resize(self) -> None:
        """Keep the cursor on screen. What is painted at another size is painted whole."""
        self._fit(self.size)

    def follow_focus(self) -> None:
        """Draw the cursor stronger or weaker, as the focus is here or not."""
        self._repaint()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor there; a drag may begin."""
        row = self.row_at(event.y)
        if row is not None and event.button == 1:
            self._pressed = self._held.key(row)
            self.capture_mouse()
            self.move_to(self._pressed)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the row that was pressed."""
        if self._pressed is None:
            return
        inside = 0 <= event.x < self.size.width
        row = self.row_at(event.y) if inside and event.y < self.size.height else None
        over = self._held.key(row) if row is not None else None
        if over == self._pressed and self._dragging is None:
            return
        self._dragging, self._drop = self._pressed, over
        if event.y < 0 or event.y >= self.size.height:
            self._held.scroll(1 if event.y > 0 else -1)
        self._repaint()
        self.post_message(self.Dragged(self, self._pressed, event.screen_offset))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go of what was dragged."""
        dragged = self._dragging
        self.let_go()
        if dragged is not None:
            self.post_message(self.Dropped(self, dragged, event.screen_offset))

    def let_go(self) -> bool:
        """End a drag without a drop; False where there was none."""
        was = self._dragging is not None
        self._dragging = self._pressed = self._drop = None
        self.release_mouse()
        if was:
            self._repaint()
        return was

    def on_click(self, event: events.Click) -> None:
        """A double click opens."""
        row = self.row_at(event.y)
        if event.chain == 2 and row is not None:
            self.post_message(self.Opened(self, self._held.key(row)))
