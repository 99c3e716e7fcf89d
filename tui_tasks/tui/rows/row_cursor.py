"""The rows around those on screen, and where the cursor and the screen stand in them.

Nothing here knows a terminal. Only a few screens of rows are held, whatever the source has, and a change touches
nothing but the rows it is about. The cursor and the place on screen belong to keys, so that nothing moves them but the
human.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from typing import TypeVar

from tui_tasks.tui.rows.row_cache import RowCache, Source

R = TypeVar("R")


class Rows(RowCache[R]):
    """Rows that are held, with a cursor on one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor: str | None = None
        self._cursor_row: R | None = None
        self._loaded = False

    def show(self, source: Source[R] | None, cursor: str | None = None, *, from_end: bool = False) -> None:
        """Take another source, with the cursor on the row of that key, else on the first, or `from_end` on the last."""
        self._from_end = from_end
        self.source, self.cursor, self._cursor_row = source, cursor, None
        self.rows, self._at, self.top, self.base = [], {}, 0, -1
        self._loaded = False
        self.load()

    def reload(self) -> None:
        """Read again; the cursor's row stays on its line of the screen."""
        line = self.cursor_line
        self._loaded = False
        self.load(line)

    def resize(self, height: int) -> None:
        """Show so many rows; the cursor stays on screen if it was."""
        line, was = self.cursor_line, self.height
        self.height = height
        if not height:
            return
        self.load()
        if line is not None and 0 <= line < was and line >= height:
            self.top += line - height + 1
        self._extend()
        self._clamp()

    @property
    def row(self) -> R | None:
        """The row that the cursor is on; as it was last seen, where it is far from the screen."""
        at = self._at.get(self.cursor) if self.cursor is not None else None
        return self._cursor_row if at is None else self.rows[at]

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows; what was not read yet is not known to be so."""
        return self._loaded and not self.rows

    @property
    def cursor_line(self) -> int | None:
        """How many rows the cursor is below the top of the screen; None where it is far off."""
        at = self._at.get(self.cursor) if self.cursor is not None else None
        return None if at is None else at - self.top

    # Moving

    def move(self, by: int) -> None:
        """Move the cursor by rows, as far as there are any."""
        at = self._reach(by)
        if at is not None:
            self._put(at)

    def page(self, by: int) -> None:
        """Move the cursor and the screen by screens."""
        line = self.cursor_line
        at = self._reach(by * max(1, self.height - 1))
        if at is not None:
            self._put(at, line if line is not None and 0 <= line < self.height else self.height // 2)

    def first(self) -> None:
        """Put the cursor on the first row."""
        self.load()
        if self.source is not None and self.rows:
            if not self._at_start:
                self._take(self.source.first(self._wanted), start=True)
            if self.rows:
                self._put(0)

    def last(self) -> None:
        """Put the cursor on the last row."""
        self.load()
        if self.source is not None and self.rows:
            if not self._at_end:
                self._take(self.source.last(self._wanted), start=False)
            if self.rows:
                self._put(len(self.rows) - 1)

    def go(self, key: str) -> bool:
        """Put the cursor on the row of that key, wherever it is; False where there is none."""
        self.load()
        if key in self._at:
            self._put(self._at[key])
            return True
        if self.source is None or key not in self.source.find([key]):
            return False
        self.cursor, self._cursor_row, self._loaded = key, None, False
        self.load(self.height // 2)
        return True

    def scroll(self, by: int) -> None:
        """Move the screen by rows; the cursor stays where it is, on screen or not."""
        self.load()
        self._read_to(self.top + by)
        self._read_to(self.top + by + self.height - 1)
        self.top += by
        self._clamp()
        self._extend()

    def neighbour(self, by: int) -> R | None:
        """The row that many places from the cursor's, where there is one."""
        here = self._at.get(self.cursor) if self.cursor is not None else None
        at = self._reach(by)
        if at is None or here is None or self._at.get(self.cursor or "", at) + by != at:
            return None
        return self.rows[at]

    # What comes in

    def change(self, keys: Iterable[str]) -> None:
        """Rows of these keys may have come, changed or gone: see to them and to nothing else."""
        if self.source is None or not self._loaded:
            return
        keys = set(keys)
        found = self.source.find(keys)
        moved = {key for key in keys if self._is_moved(key, found.get(key))}
        for key in keys & self._at.keys() - moved:
            self.rows[self._at[key]] = found[key]
        if self.cursor in found:
            self._cursor_row = found[self.cursor]
        if moved:
            self._rearrange(moved, found)
        self._note_base()

    def proceed(self) -> None:
        """Go on where reading was broken off."""
        if not self.pending or self.source is None:
            return
        self.pending = False
        if self.rows:
            self._extend()
            self._clamp()
        else:
            self._take_edge()
        if self.cursor is None:
            self._seat()

    def grow(self) -> None:
        """There are more rows at the end: they are read once the screen comes near."""
        self._at_end = False
        if self._loaded and not self.rows:
            self._take_edge()
            self._seat()
        self._extend()
        self._clamp()

    def load(self, line: int | None = None) -> None:
        """Read the rows around the cursor, where none are read; the cursor goes to that line of the screen."""
        if self._loaded or self.source is None or not self.height:
            return
        self.pending = False
        row = self.source.find([self.cursor]).get(self.cursor) if self.cursor is not None else None
        if row is not None:
            self._cursor_row = row
        if self._cursor_row is None:
            self._take_edge()
        else:
            self._take_around(self._cursor_row, row)
        # Where it cannot be read, the next one who wants rows tries again.
        self._loaded = True
        self._seat()
        at = self._at.get(self.cursor, 0) if self.cursor is not None else 0
        self.top = at - (line if line is not None else self.height // 2)
        self._clamp()

    def _reach(self, by: int) -> int | None:
        """The index of the row `by` rows from the cursor's, or of the last that way; read first where need be."""
        self.load()
        if self.rows and self.cursor not in self._at:
            self._loaded = False
            self.load()
        if not self.rows or self.cursor is None:
            return None
        self._read_to(self._at[self.cursor] + by)
        return min(max(self._at[self.cursor] + by, 0), len(self.rows) - 1)

    def _put(self, at: int, line: int | None = None) -> None:
        """Put the cursor on the row at an index, on that line of the screen, else where the screen need not move."""
        self._cursor_row = self.rows[at]
        self.cursor = self.key(self._cursor_row)
        if line is not None:
            self.top = at - line
        else:
            self.top = max(min(self.top, at), at - self.height + 1)
        self._extend()
        self._clamp()

    def _seat(self) -> None:
        """Put the cursor on the row that took the place of its own, which is gone; if it had none, on an edge."""
        assert self.source is not None
        if self.cursor in self._at or not self.rows:
            self._cursor_row = self.rows[self._at[self.cursor]] if self.cursor in self._at and self.rows else None
            self.cursor = self.cursor if self.rows else None
            return
        at = len(self.rows) - 1 if self._from_end else 0
        if self._cursor_row is not None:
            at = bisect_left(self.rows, self.source.order(self._cursor_row), key=self.source.order)
        near = None
        if (at == 0 and not self._at_start) or (at == len(self.rows) and not self._at_end):
            # It was far from the screen, and so is what took its place.
            place = self._cursor_row if self._cursor_row is not None else self.rows[0]
            near = next(iter([*self.source.after(place, 1), *self.source.before(place, 1)]), None)
        self._cursor_row = near if near is not None else self.rows[min(at, len(self.rows) - 1)]
        self.cursor = self.key(self._cursor_row)

    def _rearrange(self, moved: Collection[str], found: dict[str, R]) -> None:
        """Take rows out, put them in where they belong now; what the eye is on stays on its line."""
        anchor, line = self._anchor(moved)
        cursor_line = self.cursor_line
        old, old_top = self.rows, self.top
        self.rows = [row for row in old if self.key(row) not in moved]
        for key in moved & found.keys():
            self._insert(found[key])
        self._index()
        seen = cursor_line is not None and 0 <= cursor_line < self.height
        if seen and self.cursor in found and self.cursor not in self._at:
            # The row that the eye is on has gone far: go with it.
            self._loaded = False
            self.load(cursor_line)
            return
        if self.cursor is None or (self.cursor in moved and self.cursor not in found):
            self._seat()
        at = self._at.get(anchor) if anchor is not None else None
        if at is None:
            later = (self._at.get(self.key(row)) for row in old[old_top:])
            at, line = next((at for at in later if at is not None), len(self.rows)), 0
        self.top = at - line
        if seen and self.cursor in moved and self.cursor in found:
            self.top = max(min(self.top, self._at[self.cursor]), self._at[self.cursor] - self.height + 1)
        self._extend()
        self._clamp()

    def _anchor(self, moved: Collection[str]) -> tuple[str | None, int]:
        """The key that stays on its line, and the line: the cursor's, else the topmost that is not moved itself."""
        line = self.cursor_line
        if line is not None and 0 <= line < self.height and self.cursor not in moved:
            return self.cursor, line
        for at, row in enumerate(self.on_screen):
            if self.key(row) not in moved:
                return self.key(row), at
        return None, 0
