"""A widget over a window of rows that are fetched by key: ten rows and a million cost the same.

No widget stands for a row, and no change reads or draws again what it did not touch. The cursor, the marks and the
place on screen belong to keys (uids), so nothing that comes in moves them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_tasks.tui.format import SECOND, cell_len
from tui_tasks.tui.ink import Ink, Part

R = TypeVar("R")

# Rows kept beyond those on screen, in screens.
_AHEAD = 1
_KEPT = 6
_WHEEL = 3


class Source(Protocol[R]):
    """Where rows come from: an ordered set, read by key. Rows that are equal are drawn alike."""

    def first(self, limit: int) -> list[R]:
        """The first rows, in order."""

    def last(self, limit: int) -> list[R]:
        """The last rows, in order."""

    def after(self, row: R, limit: int) -> list[R]:
        """The rows that follow one, in order; the row itself may be gone by now."""

    def before(self, row: R, limit: int) -> list[R]:
        """The rows that come right before one, in order."""

    def find(self, keys: Collection[str]) -> dict[str, R]:
        """Those of the keys that are in the set, with their rows."""

    def key(self, row: R) -> str:
        """What names a row for good."""

    def order(self, row: R) -> Any:
        """What sorts it."""

    def place(self, row: R) -> int:
        """How many rows come before it, where that is known at little cost; else -1."""

    def total(self) -> int:
        """How many rows there are, where that is known at little cost; else -1."""


@dataclass(frozen=True, slots=True)
class RowLook:
    """How a row stands when it is drawn. `place` counts from 1, 0 where it is not known."""

    cursor: bool
    marked: bool
    focused: bool
    dragged: bool
    place: int


class RowWindow(Widget, Generic[R], can_focus=True):
    """Rows of a `Source`, drawn line by line. Subclasses say how a row is drawn (`draw`)."""

    row_height: int = 1

    class _Row(Message):
        """Something about one row; `key` names it."""

        def __init__(self, window: RowWindow[Any], key: str) -> None:
            super().__init__()
            self.window = window
            self.key = key

        @property
        def control(self) -> RowWindow[Any]:
            """The window it comes from."""
            return self.window

    class Moved(Message):
        """The cursor is on another row, or on none."""

        def __init__(self, window: RowWindow[Any], key: str | None) -> None:
            super().__init__()
            self.window = window
            self.key = key

        @property
        def control(self) -> RowWindow[Any]:
            """The window it comes from."""
            return self.window

    class Opened(_Row):
        """A row was opened by a double click."""

    class Dragged(_Row):
        """A row is being dragged; `at` is where on the screen."""

        def __init__(self, window: RowWindow[Any], key: str, at: Offset) -> None:
            super().__init__(window, key)
            self.at = at

    class Dropped(Dragged):
        """A row was let go of elsewhere than on itself; `at` is where on the screen."""

    DEFAULT_CSS: ClassVar[str] = "RowWindow { height: 1fr; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._source: Source[R] | None = None
        self._rows: list[R] = []
        self._at: dict[str, int] = {}
        self._top = 0
        self._base = -1
        self._at_start = self._at_end = True
        self._cursor: str | None = None
        self._cursor_row: R | None = None
        self._loaded = False
        self._marks: dict[str, None] = {}
        self._drawn: list[tuple[Any, list[Sequence[Part]]]] = []
        self._epoch = 0
        self._tick: Timer | None = None
        self._tick_at = 0
        self._dragging: str | None = None
        self._pressed: str | None = None

    # What subclasses say

    def draw(self, row: R, look: RowLook, line: int) -> Sequence[Part]:
        """The parts of one line of a row, from left to right; what is left of the width stays empty."""
        raise NotImplementedError

    def lasts(self, span_us: int) -> None:
        """Say, while drawing, for how many microseconds what is drawn stays true (`format.age_lasts`)."""
        self._tick_at = min(self._tick_at or span_us, span_us)

    # What is shown

    def show(self, source: Source[R] | None, cursor: str | None = None) -> None:
        """Show other rows, with the cursor on one of them, else on the first."""
        self._source = source
        self._marks.clear()
        self._cursor, self._cursor_row = cursor, None
        self._loaded = False
        self._settle()

    def reload(self) -> None:
        """Read again what is on screen; cursor, marks and the place on screen stay."""
        line = self._cursor_line()
        self._loaded = False
        self._settle(line)

    def change(self, keys: Iterable[str]) -> None:
        """Rows of these keys may have come, changed or gone: see to them and to nothing else."""
        source = self._source
        if source is None or not self._loaded:
            return
        keys = set(keys)
        found = source.find(keys)
        for gone in keys - found.keys():
            self._marks.pop(gone, None)
        moved = [key for key in keys if self._is_moved(key, found.get(key))]
        for key in keys & found.keys():
            if key in self._at and key not in moved:
                self._rows[self._at[key]] = found[key]
        if moved:
            self._rearrange(moved, found)
        self._note_base()
        self._repaint()

    def again(self) -> None:
        """Draw again what is on screen: something that all rows show has changed. Equal lines are not painted."""
        self._epoch += 1
        self._repaint()

    # What others ask

    @property
    def source(self) -> Source[R] | None:
        """Where its rows come from."""
        return self._source

    @property
    def cursor(self) -> str | None:
        """The key of the row that the cursor is on."""
        return self._cursor

    @property
    def row(self) -> R | None:
        """The row that the cursor is on."""
        self._settle()
        if self._cursor in self._at:
            return self._rows[self._at[self._cursor]]
        return self._cursor_row

    @property
    def marks(self) -> list[str]:
        """The keys that are marked, in the order of marking."""
        return list(self._marks)

    @property
    def keys_on_screen(self) -> list[str]:
        """The keys of the rows on screen, from the top."""
        assert self._source is not None
        return [self._source.key(row) for row in self._on_screen()]

    @property
    def has_rows(self) -> bool:
        """Whether it has rows at all."""
        self._settle()
        return bool(self._rows)

    def row_at(self, y: int) -> R | None:
        """The row at a line of the widget."""
        at = self._top + y // self.row_height
        return self._rows[at] if 0 <= at < len(self._rows) and y >= 0 else None

    def neighbour(self, by: int) -> R | None:
        """The row that many places from the cursor's, where there is one."""
        self._settle()
        at = self._reach(by)
        return None if at is None else self._rows[at]

    def place_of(self, key: str) -> int:
        """The place of a row on screen, counted from 1; 0 where it is not known."""
        return self._base + self._at[key] + 1 if self._base >= 0 and key in self._at else 0

    # Moving

    def move(self, by: int) -> None:
        """Move the cursor by rows, as far as there are any."""
        self._settle()
        at = self._reach(by, clamp=True)
        if at is not None:
            self._put_cursor(at)

    def move_page(self, by: int) -> None:
        """Move the cursor by screens, and what is on screen with it."""
        self._settle()
        if not self._rows:
            return
        rows = self._height_rows()
        line = self._cursor_line() or 0
        at = self._reach(by * max(1, rows - 1), clamp=True)
        assert at is not None
        self._put_cursor(at, line)

    def move_first(self) -> None:
        """Put the cursor on the first row."""
        self._settle()
        if self._rows:
            if not self._at_start:
                self._take(self._require().first(self._wanted()), start=True)
            self._put_cursor(0)

    def move_last(self) -> None:
        """Put the cursor on the last row."""
        self._settle()
        if self._rows:
            if not self._at_end:
                self._take(self._require().last(self._wanted()), start=False)
            self._put_cursor(len(self._rows) - 1)

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row of that key, wherever it is; False where there is none."""
        self._settle()
        if key not in self._at:
            if self._source is None or key not in self._source.find([key]):
                return False
            self._cursor, self._cursor_row, self._loaded = key, None, False
            self._settle(self._height_rows() // 2)
            self.post_message(self.Moved(self, key))
            return True
        self._put_cursor(self._at[key])
        return True

    def scroll_rows(self, by: int) -> None:
        """Move what is on screen by rows; the cursor stays where it is, on screen or not."""
        self._settle()
        self._extend(self._top + by)
        self._top += by
        self._clamp_top()
        self._repaint()

    # Marks

    def mark(self, keys: Iterable[str], *, on: bool | None = None) -> None:
        """Mark rows, or take their marks away; by default each is turned."""
        for key in keys:
            if (on is None and key in self._marks) or on is False:
                self._marks.pop(key, None)
            else:
                self._marks[key] = None
        self._repaint()

    def clear_marks(self) -> None:
        """Take all marks away."""
        self._marks.clear()
        self._repaint()

    # The buffer of rows

    def _require(self) -> Source[R]:
        assert self._source is not None
        return self._source

    def _height_rows(self) -> int:
        return max(1, self.size.height // self.row_height)

    def _wanted(self) -> int:
        return (self.size.height // self.row_height or 50) * (1 + 2 * _AHEAD)

    def _settle(self, line: int | None = None) -> None:
        """Read a first window of rows around the cursor, where none is read; the cursor goes to that line."""
        if self._loaded or self._source is None:
            return
        if not self.size.height:
            return
        self._loaded = True
        source, wanted = self._source, self._wanted()
        row = source.find([self._cursor]).get(self._cursor) if self._cursor is not None else None
        row = row or self._cursor_row
        if row is None:
            self._take(source.first(wanted), start=True)
        else:
            before, after = source.before(row, wanted), source.after(row, wanted)
            here = list(source.find([source.key(row)]).values())
            self._rows = [*before, *here, *after]
            self._at_start, self._at_end = len(before) < wanted, len(after) < wanted
            self._index()
            self._note_base()
        self._seat_cursor()
        at = self._at.get(self._cursor, 0) if self._cursor is not None else 0
        self._top = at - (line if line is not None else self._height_rows() // 2)
        self._clamp_top()
        self._repaint()

    def _seat_cursor(self, near: int = 0) -> None:
        """Put the cursor on a row, where its own is not there."""
        was = self._cursor
        if self._cursor not in self._at:
            source = self._require()
            at = near
            if self._cursor_row is not None and self._rows:
                order = source.order(self._cursor_row)
                at = bisect_left(self._rows, order, key=source.order)
            at = min(max(at, 0), len(self._rows) - 1)
            self._cursor = source.key(self._rows[at]) if self._rows else None
        self._cursor_row = self._rows[self._at[self._cursor]] if self._cursor in self._at else None
        if self._cursor != was:
            self.post_message(self.Moved(self, self._cursor))

    def _take(self, rows: list[R], *, start: bool) -> None:
        complete = len(rows) < self._wanted()
        self._rows = rows
        self._at_start, self._at_end = start or complete, not start or complete
        self._top = 0 if start else len(rows) - self._height_rows()
        self._index()
        self._note_base()
        self._clamp_top()

    def _index(self) -> None:
        key = self._require().key
        self._at = {key(row): at for at, row in enumerate(self._rows)}

    def _note_base(self) -> None:
        self._base = self._require().place(self._rows[0]) if self._rows else 0

    def _extend(self, top: int) -> None:
        """Read on where the screen from row `top` comes near an end of what is read."""
        source, rows, ahead = self._require(), self._height_rows(), self._wanted()
        if not self._rows:
            return
        if top < rows * _AHEAD and not self._at_start:
            more = source.before(self._rows[0], ahead)
            self._at_start = len(more) < ahead
            self._rows = more + self._rows
            self._top += len(more)
            if self._base >= 0:
                self._base -= len(more)
            self._index()
        elif top + rows * (1 + _AHEAD) > len(self._rows) and not self._at_end:
            more = source.after(self._rows[-1], ahead)
            self._at_end = len(more) < ahead
            self._rows += more
            self._index()
        self._trim()

    def _trim(self) -> None:
        """Forget rows that are far from the screen."""
        rows = self._height_rows()
        if len(self._rows) <= _KEPT * rows + self._wanted():
            return
        low, high = max(0, self._top - _KEPT // 2 * rows), self._top + (1 + _KEPT // 2) * rows
        if high < len(self._rows):
            del self._rows[high:]
            self._at_end = False
        if low > 0:
            del self._rows[:low]
            self._top -= low
            self._base += low if self._base >= 0 else 0
            self._at_start = False
        self._index()

    def _is_moved(self, key: str, row: R | None) -> bool:
        at = self._at.get(key)
        if at is None or row is None:
            return at is not None or row is not None
        order = self._require().order
        return bool(order(self._rows[at]) != order(row))

    def _rearrange(self, moved: Collection[str], found: dict[str, R]) -> None:
        """Take rows out and put them in where they belong now; the row that the eye is on stays on its line."""
        source = self._require()
        anchor, line = self._anchor()
        old_rows, old_at = self._rows, self._at
        self._rows = [row for row in old_rows if source.key(row) not in moved]
        for key in moved:
            if key in found:
                self._insert(found[key])
        self._index()
        if self._cursor in moved and self._cursor in found and self._cursor not in self._at:
            # The human's own row has gone far: go with it.
            self._loaded = False
            self._settle(line)
            return
        self._seat_cursor()
        at = self._at.get(anchor) if anchor is not None else None
        if at is None and anchor is not None:
            later = old_rows[old_at[anchor] :]
            at = next((self._at[key] for row in later if (key := source.key(row)) in self._at), len(self._rows) - 1)
        self._top = (at or 0) - line
        self._extend(self._top)
        self._clamp_top()

    def _insert(self, row: R) -> None:
        order = self._require().order
        at = bisect_left(self._rows, order(row), key=order)
        if (at > 0 or self._at_start) and (at < len(self._rows) or self._at_end):
            self._rows.insert(at, row)

    def _anchor(self) -> tuple[str | None, int]:
        """The key that stays on its line, and the line: the cursor's, else the topmost."""
        line = self._cursor_line()
        if line is not None and 0 <= line < self._height_rows():
            return self._cursor, line
        if self._top < len(self._rows):
            return self._require().key(self._rows[self._top]), 0
        return None, 0

    def _cursor_line(self) -> int | None:
        return self._at[self._cursor] - self._top if self._cursor in self._at else None

    def _reach(self, by: int, *, clamp: bool = False) -> int | None:
        """The index of the row `by` rows from the cursor's, read first where it is not yet."""
        if not self._rows:
            return None
        if self._cursor not in self._at:
            self._loaded = False
            self._settle()
        for _ in range(abs(by) // max(1, self._wanted()) + 2):
            at = self._at.get(self._cursor or "", 0) + by
            if 0 <= at < len(self._rows):
                break
            before = len(self._rows), self._at_start, self._at_end
            self._extend(at)
            if before == (len(self._rows), self._at_start, self._at_end):
                break
        at = self._at.get(self._cursor or "", 0) + by
        if clamp:
            return min(max(at, 0), len(self._rows) - 1)
        return at if 0 <= at < len(self._rows) else None

    def _put_cursor(self, at: int, line: int | None = None) -> None:
        was = self._cursor
        self._cursor_row = self._rows[at]
        self._cursor = self._require().key(self._cursor_row)
        rows = self._height_rows()
        if line is not None:
            self._top = at - line
        elif at < self._top:
            self._top = at
        elif at >= self._top + rows:
            self._top = at - rows + 1
        self._extend(self._top)
        self._clamp_top()
        self._repaint()
        if self._cursor != was:
            self.post_message(self.Moved(self, self._cursor))

    def _clamp_top(self) -> None:
        self._top = max(0, min(self._top, len(self._rows) - self._height_rows()))

    # Drawing

    def _on_screen(self) -> list[R]:
        height = -(-self.size.height // self.row_height)
        return self._rows[self._top : self._top + height]

    def _repaint(self) -> None:
        """Draw the rows whose looks have changed, and have only the lines painted that differ."""
        if not self.size.height or not self.is_attached:
            return
        fresh: list[tuple[Any, list[Sequence[Part]]]] = []
        dirty: list[Region] = []
        width, tall = self.size.width, self.row_height
        self._tick_at = 0 if self._epoch_is_new() else self._tick_at
        for number, row in enumerate(self._on_screen()):
            look = self._look(row, number)
            state = (row, look, width, self._epoch)
            old = self._drawn[number] if number < len(self._drawn) else None
            if old is not None and old[0] == state:
                fresh.append(old)
                continue
            lines = [self.draw(row, look, line) for line in range(tall)]
            fresh.append((state, lines))
            if old is None or old[1] != lines or old[0][1].cursor != look.cursor or old[0][1].focused != look.focused:
                dirty.append(Region(0, number * tall, width, tall))
        gone = range(len(fresh), len(self._drawn))
        dirty += [Region(0, number * tall, width, tall) for number in gone]
        self._drawn = fresh
        if dirty:
            self.refresh(*dirty)
        self._set_tick()

    def _epoch_is_new(self) -> bool:
        return not self._drawn or self._drawn[0][0][3] != self._epoch

    def _look(self, row: R, number: int) -> RowLook:
        key = self._require().key(row)
        return RowLook(
            cursor=key == self._cursor,
            marked=key in self._marks,
            focused=self.has_focus,
            dragged=key == self._dragging,
            place=self._base + self._top + number + 1 if self._base >= 0 else 0,
        )

    def render_line(self, y: int) -> Strip:
        """Paint one line of what was drawn."""
        self._settle()
        if not self._drawn:
            self._repaint()
        number, line = divmod(y, self.row_height)
        width = self.size.width
        ink = Ink.of(self.app)
        if number >= len(self._drawn):
            return Strip.blank(width, ink.style(""))
        state, lines = self._drawn[number]
        on_cursor = state[1].cursor
        segments = [Segment(text, ink.style(name, cursor=on_cursor)) for text, name in lines[line]]
        used = sum(cell_len(text) for text, _ in lines[line])
        segments.append(Segment(" " * max(0, width - used), ink.style("", cursor=on_cursor)))
        return Strip(segments, max(used, width)).crop(0, width)

    def _set_tick(self) -> None:
        """Draw again when the first of the ages on screen says something else, and not before."""
        if self._tick is not None:
            self._tick.stop()
            self._tick = None
        if self._tick_at:
            self._tick = self.set_timer(max(self._tick_at, SECOND) / SECOND, self._on_tick)

    def _on_tick(self) -> None:
        self._tick = None
        if self.is_on_screen:
            self.again()

    # Keys, mouse and the rest of the terminal

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        line = self._cursor_line()
        self._drawn = []
        if self._loaded and self._rows:
            self._extend(self._top)
            rows = self._height_rows()
            if line is not None and line >= rows:
                self._top += line - rows + 1
            self._clamp_top()
        self._settle()
        self.refresh()
        self._repaint()

    def on_focus(self) -> None:
        """The cursor is drawn stronger."""
        self._repaint()

    def on_blur(self) -> None:
        """The cursor is drawn weaker."""
        self._repaint()

    def notify_style_update(self) -> None:
        """Another theme: draw all of it again."""
        super().notify_style_update()
        self._drawn = []

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll; the cursor stays."""
        event.stop()
        self.scroll_rows(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll; the cursor stays."""
        event.stop()
        self.scroll_rows(-_WHEEL)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor there; a drag may begin."""
        row = self.row_at(event.y)
        if row is not None and event.button == 1:
            self._pressed = self._require().key(row)
            self._put_cursor(self._at[self._pressed])
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the row that was pressed."""
        if self._pressed is None:
            return
        row = self.row_at(event.y)
        elsewhere = row is None or self._require().key(row) != self._pressed
        if elsewhere or self._dragging:
            self._dragging = self._pressed
            self._repaint()
            self.post_message(self.Dragged(self, self._pressed, event.screen_offset))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go of what was dragged."""
        dragged, self._dragging, self._pressed = self._dragging, None, None
        self.release_mouse()
        if dragged is not None:
            self._repaint()
            self.post_message(self.Dropped(self, dragged, event.screen_offset))

    def on_click(self, event: events.Click) -> None:
        """A double click opens."""
        if event.chain == 2 and self._cursor is not None:
            self.post_message(self.Opened(self, self._cursor))
