"""A widget over a window of rows that are fetched by key: ten rows and a million cost the same.

No widget stands for a row. What a row looks like is drawn when the row or its standing changes, and a line is painted
only when it differs from what is there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_tasks.tui.actions import Hosted
from tui_tasks.tui.format import cell_len, draw_again_in
from tui_tasks.tui.ink import Ink, Part
from tui_tasks.tui.rows import Rows, Source

R = TypeVar("R")

_WHEEL: Final = 3


@dataclass(frozen=True, slots=True)
class RowLook:
    """How a row stands when it is drawn. `place` counts from 1, 0 where it is not known."""

    cursor: bool
    marked: bool
    focused: bool
    dragged: bool
    drop: bool
    """A row that is being dragged would be dropped here."""
    place: int
    width: int


@dataclass(slots=True)
class _Drawn:
    row: Any
    look: RowLook
    epoch: int
    lines: list[Sequence[Part]]


class RowMessage(Message):
    """Something about one row of a window; `key` names it."""

    def __init__(self, window: RowWindow[Any], key: str) -> None:
        super().__init__()
        self.window = window
        self.key = key

    @property
    def control(self) -> RowWindow[Any]:
        """The window it comes from."""
        return self.window


class RowWindow(Hosted, Widget, Generic[R], can_focus=True):
    """Rows of a `Source`, drawn line by line. Subclasses say how a row is drawn (`draw`)."""

    row_height: int = 1

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

    class Opened(RowMessage):
        """A row was opened by a double click."""

    class Dragged(RowMessage):
        """A row is being dragged; `at` is where on the screen."""

        def __init__(self, window: RowWindow[Any], key: str, at: Offset) -> None:
            super().__init__(window, key)
            self.at = at

    class Dropped(Dragged):
        """A row was let go of, elsewhere than where it was; `at` is where on the screen."""

    DEFAULT_CSS: ClassVar[str] = "RowWindow { height: 1fr; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._held: Rows[R] = Rows()
        self._marks: dict[str, None] = {}
        self._drawn: list[_Drawn] = []
        self._ink: Ink | None = None
        self._thumb = range(0)
        self._epoch = 0
        self._told: str | None = None
        self._due: float | None = None
        self._alarm: Timer | None = None
        self._going_on: Timer | None = None
        self._pressed: str | None = None
        self._dragging: str | None = None
        self._drop: str | None = None
        self._fitted = Size(0, 0)

    # What subclasses say

    def draw(self, row: R, look: RowLook, line: int) -> Sequence[Part]:
        """The parts of one line of a row, from left to right; what is left of `look.width` stays empty."""
        raise NotImplementedError

    def draw_empty(self, line: int) -> Sequence[Part]:
        """The parts of a line where there are no rows at all."""
        return ()

    def lasts(self, span_us: int) -> None:
        """Say, while drawing, for how many microseconds what is drawn stays true (`format.age_lasts`)."""
        at = time.monotonic() + draw_again_in(span_us)
        self._due = at if self._due is None else min(self._due, at)

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

    def again(self) -> None:
        """Draw again what is on screen: something that all rows show has changed. Equal lines are not painted."""
        self._epoch += 1
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

    # Drawing

    def _repaint(self, *, painting: bool = False) -> None:
        """Draw the rows whose looks have changed, and have the lines painted that differ, unless all are just now."""
        held = self._held
        held.load()
        if held.pending and self._going_on is None:
            self._going_on = self.set_timer(0.001, self._go_on)
        if held.cursor != self._told:
            self._told = held.cursor
            self.post_message(self.Moved(self, held.cursor))
        if not self.size.height or not self.is_attached:
            return
        tall, width = self.row_height, self.size.width
        fresh: list[_Drawn] = []
        dirty: set[int] = set()
        for number, row in enumerate(held.on_screen):
            old = self._drawn[number] if number < len(self._drawn) else None
            drawn = self._draw(row, self._look(row, number), old)
            fresh.append(drawn)
            if drawn is not old and (old is None or _differs(old, drawn)):
                dirty.add(number)
        dirty.update(range(len(fresh), len(self._drawn)))
        thumb = self._thumb_now()
        if thumb != self._thumb:
            dirty.update(y // tall for y in {*thumb} ^ {*self._thumb})
        if bool(fresh) != bool(self._drawn):
            dirty.update(range(-(-self.size.height // tall)))
        self._drawn, self._thumb = fresh, thumb
        if dirty and not painting:
            self.refresh(*(Region(0, number * tall, width, tall) for number in sorted(dirty)))
        self._set_alarm()

    def _draw(self, row: R, look: RowLook, old: _Drawn | None) -> _Drawn:
        if old is not None and old.row is row and old.look == look and old.epoch == self._epoch:
            return old
        return _Drawn(row, look, self._epoch, [self.draw(row, look, line) for line in range(self.row_height)])

    def _look(self, row: R, number: int) -> RowLook:
        held = self._held
        key = held.key(row)
        return RowLook(
            cursor=key == held.cursor,
            marked=key in self._marks,
            focused=self.has_focus,
            dragged=key == self._dragging,
            drop=key == self._drop and self._dragging not in (None, key),
            place=held.base + held.top + number + 1 if held.base >= 0 else 0,
            width=self.size.width,
        )

    def _thumb_now(self) -> range:
        """The lines on which the mark of where one is in the list is drawn: none where all of it is on screen."""
        held, height = self._held, self.size.height
        total = held.source.total() if held.source is not None else -1
        if held.base < 0 or total <= held.height or height < 2:
            return range(0)
        size = max(1, height * held.height // total)
        first = held.base + held.top
        top = (height - size) * first // max(1, total - held.height)
        return range(min(top, height - size), min(top, height - size) + size)

    def render_line(self, y: int) -> Strip:
        """Paint one line of what was drawn."""
        self._fit(painting=True)
        number, line = divmod(y, self.row_height)
        width, ink = self.size.width, Ink.of(self.app)
        on_cursor = False
        parts: Sequence[Part] = ()
        if number < len(self._drawn):
            drawn = self._drawn[number]
            parts, on_cursor = drawn.lines[line], drawn.look.cursor
        elif not self._drawn:
            parts = self.draw_empty(y)
        segments = [Segment(text, ink.style(name, cursor=on_cursor)) for text, name in parts]
        used = sum(cell_len(text) for text, _ in parts)
        segments.append(Segment(" " * max(0, width - used), ink.style("", cursor=on_cursor)))
        strip = Strip(segments, max(used, width)).crop(0, width)
        if y in self._thumb:
            strip = Strip([*strip.crop(0, width - 1), Segment("▐", ink.style("$rule", cursor=on_cursor))], width)
        return strip

    def _go_on(self) -> None:
        """Read on, where reading was broken off to let a key through."""
        self._going_on = None
        self._held.proceed()
        self._repaint()

    def _set_alarm(self) -> None:
        """Wake when the first of the ages on screen says something else, and not before."""
        if self._alarm is not None:
            self._alarm.stop()
        self._alarm = None
        if self._due is not None and self._drawn:
            self._alarm = self.set_timer(max(0.01, self._due - time.monotonic()), self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = self._due = None
        if self.is_on_screen:
            self.again()

    def notify_style_update(self) -> None:
        """Another theme: paint all of it again. The focus, too, has styles looked at, but then the inks stay."""
        super().notify_style_update()
        ink = Ink.of(self.app)
        if ink is not self._ink:
            self._ink, self._drawn = ink, []

    # What the terminal says

    def on_resize(self) -> None:
        """Keep the cursor on screen. What is painted at another size is painted whole."""
        self._fit()

    def _fit(self, *, painting: bool = False) -> None:
        """Have as many rows as there is room for, drawn as wide as they may be."""
        if self._fitted != self.size:
            self._fitted = self.size
            self._held.resize(self.size.height // self.row_height)
            self._drawn = []
        if not self._drawn:
            self._repaint(painting=painting)

    def on_focus(self) -> None:
        """The cursor is drawn stronger."""
        self._repaint()

    def on_blur(self) -> None:
        """The cursor is drawn weaker."""
        self._repaint()

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


def _differs(old: _Drawn, new: _Drawn) -> bool:
    return old.lines != new.lines or old.look.cursor != new.look.cursor
