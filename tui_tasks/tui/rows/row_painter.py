"""What a window of rows paints: each row is drawn when it or its standing changes, and a line is painted only when it
differs from what is there. A row that moves on the screen is not drawn anew.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from tui_tasks.text.times import draw_again_in
from tui_tasks.tui.rows.row_cursor import Rows
from tui_tasks.tui.widgets.painting import LinePainter, changed_span, strip_of
from tui_tasks.tui.widgets.scrolling import thumb, with_thumb
from tui_tasks.tui.widgets.styles import Part, StyleCache

if TYPE_CHECKING:
    from tui_tasks.tui.app.context import Context

R = TypeVar("R")


class RowLook(NamedTuple):
    """How a row stands when it is drawn. `place` counts from 1, 0 where it is not known."""

    cursor: bool
    marked: bool
    focused: bool
    dragged: bool
    drop: bool
    """A row that is being dragged would be dropped here."""
    place: int
    width: int
    digits: int = 1
    """What the longest of the places takes, where that makes a difference to all rows."""


@dataclass(slots=True)
class Drawn:
    """A row as it was drawn: the parts of its lines, and the lines made of them where they were painted."""

    key: str
    row: Any
    look: RowLook
    epoch: int
    lines: list[Sequence[Part]]
    due: float | None
    """When it says something else, by the monotonic clock; None: not before something changes."""
    strips: dict[int, Strip] = field(default_factory=dict)


class RowPainter(LinePainter, Generic[R]):
    """The part of a window that draws. Subclasses say how a row is drawn (`draw`), and `told` of the cursor."""

    row_height: int = 1

    def __init__(self, context: Context | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, id=id, classes=classes)
        self._held: Rows[R] = Rows()
        self._marks: dict[str, None] = {}
        self._drawn: list[Drawn] = []
        self._is_stale = False
        self._ink: StyleCache | None = None
        self._thumb = range(0)
        self._is_empty = False
        self._epoch = 0
        self._fitted = Size(0, 0)
        self._across, self._has_keys = 0, False
        self._told: str | None = None
        self._drawing_due: float | None = None
        self._alarm: Timer | None = None
        self._going_on: Timer | None = None
        self._dragging: str | None = None
        self._drop: str | None = None

    # What subclasses say

    def draw(self, row: R, look: RowLook, line: int) -> Sequence[Part]:
        """The parts of one line of a row, from left to right; what is left of `look.width` stays empty."""
        raise NotImplementedError

    def draw_empty(self, line: int) -> Sequence[Part]:
        """The parts of a line where there are no rows at all."""
        return ()

    def moved(self, key: str | None) -> Message:
        """What to tell when the cursor is on another row, or on none."""
        raise NotImplementedError

    def lasts(self, span_us: int) -> None:
        """Say, while drawing, for how many microseconds what is drawn stays true (`format.age_lasts`)."""
        at = time.monotonic() + draw_again_in(span_us)
        self._drawing_due = at if self._drawing_due is None else min(self._drawing_due, at)

    # Drawing

    @property
    def takes_keys(self) -> bool:
        """Whether the focus is here, or on what this is a part of: at once, and not when the widget is told of it."""
        focused = self.screen.focused
        return focused is not None and focused in self.ancestors_with_self

    def again(self) -> None:
        """Draw again what is on screen: something that all rows show has changed. Equal lines are not painted."""
        self._epoch += 1
        self._repaint()

    def _repaint(self, *, painting: bool = False) -> None:
        """Draw the rows whose looks have changed, and have the lines painted that differ, unless all are just now."""
        held = self._held
        held.load()
        if held.pending and self._going_on is None:
            self._going_on = self.set_timer(0.001, self._go_on)
        if held.cursor != self._told:
            self._told = held.cursor
            self.post_message(self.moved(held.cursor))
        if not self.size.height or not self.is_attached:
            # Not on screen: seen to once it is painted.
            self._is_stale = True
            return
        self._is_stale = False
        tall, width = self.row_height, self.size.width
        # Once for all rows: to ask for either goes through the whole tree of widgets.
        self._across, self._has_keys = width, self.takes_keys
        known = {drawn.key: drawn for drawn in self._drawn}
        fresh: list[Drawn] = []
        now = time.monotonic()
        dirty: set[int] = set()
        changed: list[Region] = []
        for number, row in enumerate(held.on_screen):
            key = held.key(row)
            drawn = self._draw(key, row, self._look(row, number), known.get(key), now)
            fresh.append(drawn)
            there = self._drawn[number] if number < len(self._drawn) else None
            if there is None or drawn.look.cursor != there.look.cursor:
                dirty.add(number)
            elif drawn is not there:
                changed += _changed(there, drawn, number * tall, width)
        dirty.update(range(len(fresh), len(self._drawn)))
        thumb = self._thumb_now()
        if thumb != self._thumb:
            dirty.update(y // tall for y in {*thumb} ^ {*self._thumb})
        if bool(fresh) != bool(self._drawn) or held.is_empty != self._is_empty:
            dirty.update(range(-(-self.size.height // tall)))
        self._drawn, self._thumb, self._is_empty = fresh, thumb, held.is_empty
        if (dirty or changed) and not painting:
            self.refresh(*(Region(0, number * tall, width, tall) for number in sorted(dirty)), *changed)
        self._set_alarm()

    def _draw(self, key: str, row: R, look: RowLook, old: Drawn | None, now: float) -> Drawn:
        stands = old is not None and old.row is row and old.look == look and old.epoch == self._epoch
        if old is not None and stands and (old.due is None or old.due > now):
            return old
        self._drawing_due = None
        lines = [self.draw(row, look, line) for line in range(self.row_height)]
        drawn = Drawn(key, row, look, self._epoch, lines, self._drawing_due)
        if old is not None and old.look.width == look.width and not _differs(old, drawn):
            drawn.strips = old.strips
        return drawn

    def _look(self, row: R, number: int) -> RowLook:
        held = self._held
        key = held.key(row)
        cursor = key == held.cursor
        return RowLook(
            cursor=cursor,
            marked=key in self._marks,
            focused=cursor and self._has_keys,
            dragged=key == self._dragging,
            drop=key == self._drop and self._dragging not in (None, key),
            place=held.base + held.top + number + 1 if held.base >= 0 else 0,
            width=self._across,
        )

    def _thumb_now(self) -> range:
        """The lines on which the mark of where one is in the list is drawn: none where all of it is on screen."""
        held, height = self._held, self.size.height
        total = held.source.total() if held.source is not None else -1
        if held.base < 0 or height < 2:
            return range(0)
        return thumb(height, held.height, total, held.base + held.top)

    def render_line(self, y: int) -> Strip:
        """Paint one line of what was drawn."""
        self._fit(self.own_size, painting=True)
        number, line = divmod(y, self.row_height)
        width, ink = self.own_size.width, StyleCache.of(self.app)
        on_cursor = False
        if number < len(self._drawn):
            drawn = self._drawn[number]
            on_cursor = drawn.look.cursor
            strip = drawn.strips.get(line)
            if strip is None:
                strip = drawn.strips[line] = strip_of(drawn.lines[line], width, ink, cursor=on_cursor)
        else:
            strip = strip_of(self.draw_empty(y) if self._held.is_empty else (), width, ink)
        if y in self._thumb:
            strip = with_thumb(strip, width, ink.style("$rule", cursor=on_cursor))
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
        due = min((drawn.due for drawn in self._drawn if drawn.due is not None), default=None)
        if due is not None:
            self._alarm = self.set_timer(max(0.01, due - time.monotonic()), self._on_alarm)

    def _on_alarm(self) -> None:
        """Draw the rows anew that say something else by now."""
        self._alarm = None
        if self.is_on_screen:
            self._repaint()
        else:
            self._is_stale = True

    def notify_style_update(self) -> None:
        """Another theme: paint all of it again. The focus, too, has styles looked at, but then the inks stay."""
        super().notify_style_update()
        ink = StyleCache.of(self.app)
        if ink is not self._ink:
            self._ink, self._drawn = ink, []

    def _fit(self, size: Size, *, painting: bool = False) -> None:
        """Have as many rows as there is room for, drawn as wide as they may be."""
        if self._fitted != size:
            self._fitted, self._drawn = size, []
            self._held.resize(size.height // self.row_height)
        if self._is_stale or not self._drawn:
            self._repaint(painting=painting)


def _changed(old: Drawn, new: Drawn, y: int, width: int) -> list[Region]:
    """What of a row is to be painted, its first line standing at `y`."""
    spans = [changed_span(*lines, width) for lines in zip(old.lines, new.lines, strict=True)]
    return [Region(first, y + line, end - first, 1) for line, (first, end) in enumerate(spans) if end > first]


def _differs(old: Drawn, new: Drawn) -> bool:
    return old.lines != new.lines or old.look.cursor != new.look.cursor
