"""The cursor in a `RowCache`, and where it came to be when its row went; and the marked rows. Cursor and screen are
tied to keys, so that only the human moves them.

Nothing here depends on a terminal. Rows are read when they are asked for, so a hidden list reads none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from tui_tasks.tui.rows.row_cache import RowCache, Source

R = TypeVar("R")


class RowCursor(Generic[R]):
    """The row that keys act on. `key` names it; None: there are no rows."""

    def __init__(self, cache: RowCache[R]) -> None:
        self.cache = cache
        self.key: str | None = None
        # The cursor's row as last read: its place matters even when the row is gone or far from the screen.
        self._row: R | None = None
        self._is_loaded = False
        self._from_end = False

    @property
    def row(self) -> R | None:
        """The cursor's row; as last read when it is far from the screen."""
        at = self.cache.index(self.key)
        return self._row if at is None else self.cache.rows[at]

    @property
    def line(self) -> int | None:
        """How many rows the cursor is below the top of the screen; None when it is far from it."""
        at = self.cache.index(self.key)
        return None if at is None else at - self.cache.top

    @property
    def is_on_screen(self) -> bool:
        """Whether the cursor's row is on screen."""
        line = self.line
        return line is not None and 0 <= line < self.cache.height

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows at all; False before the first read."""
        return self._is_loaded and not self.cache.rows

    # Content

    def show(self, source: Source[R] | None, key: str | None = None, *, from_end: bool = False) -> None:
        """Use another source, with the cursor on the row of `key`, else on the first or the last row."""
        self._from_end = from_end
        self.key, self._row = key, None
        self.cache.clear(source)
        self._is_loaded = False
        self.load()

    def load(self, line: int | None = None) -> None:
        """Read the rows around the cursor if needed; the cursor goes to `line` of the screen."""
        cache = self.cache
        if self._is_loaded or cache.source is None or not cache.height:
            return
        cache.is_cut = False
        row = cache.source.find([self.key]).get(self.key) if self.key is not None else None
        if row is not None:
            self._row = row
        if self._row is None:
            self._read_edge()
        else:
            cache.read_around(self._row, row)
        # Set last, so that the next call tries again after a failed read.
        self._is_loaded = True
        self._settle()
        cache.top = (cache.index(self.key) or 0) - (line if line is not None else cache.height // 2)
        cache.clamp()

    def reload(self) -> None:
        """Read the rows again; the cursor's row stays on its line."""
        line = self.line
        self._is_loaded = False
        self.load(line)

    def resize(self, height: int) -> None:
        """Set the number of rows on screen; a cursor on screen stays there."""
        cache, line = self.cache, self.line
        was_on_screen = self.is_on_screen
        cache.height = height
        if not height:
            return
        self.load()
        if line is not None and was_on_screen and line >= height:
            cache.top += line - height + 1
        cache.fill()

    def resume(self) -> None:
        """Continue a read that ended early (`RowCache.is_cut`)."""
        if not self.cache.is_cut or self.cache.source is None:
            return
        self.cache.is_cut = False
        if self.cache.rows:
            self.cache.fill()
        else:
            self._read_edge()
        if self.key is None:
            self._settle()

    # Moving

    def move(self, by: int) -> None:
        """Move the cursor by rows, at most to the end."""
        at = self._reach(by)
        if at is not None:
            self._put(at)

    def move_page(self, by: int) -> None:
        """Move cursor and screen by pages."""
        line = self.line if self.is_on_screen else self.cache.height // 2
        at = self._reach(by * max(1, self.cache.height - 1))
        if at is not None:
            self._put(at, line)

    def move_first(self) -> None:
        """Put the cursor on the first row."""
        self.load()
        if self.cache.rows and not self.cache.has_first:
            self.cache.read_first()
        if self.cache.rows:
            self._put(0)

    def move_last(self) -> None:
        """Put the cursor on the last row."""
        self.load()
        if self.cache.rows and not self.cache.has_last:
            self.cache.read_last()
        if self.cache.rows:
            self._put(len(self.cache.rows) - 1)

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row of a key; return False when there is none."""
        self.load()
        at = self.cache.index(key)
        if at is not None:
            self._put(at)
            return True
        if self.cache.source is None or key not in self.cache.source.find([key]):
            return False
        self.key, self._row, self._is_loaded = key, None, False
        self.load(self.cache.height // 2)
        return True

    def scroll(self, by: int) -> None:
        """Scroll by rows; the cursor stays on its row, even off screen."""
        self.load()
        self.cache.scroll(by)

    def hold_rows(self, by: int) -> None:
        """Scroll by rows, as far as the cursor stays on screen."""
        self.load()
        if (line := self.line) is not None and self.is_on_screen:
            by = max(line - self.cache.height + 1, min(by, line))
        self.cache.scroll(by)

    def _reach(self, by: int) -> int | None:
        """Return the index of the row `by` rows from the cursor's, or of the last one in that direction; read on if
        needed.
        """
        self.load()
        if self.cache.rows and self.cache.index(self.key) is None:
            self._is_loaded = False
            self.load()
        here = self.cache.index(self.key)
        if here is None:
            return None
        self.cache.read_to(here + by)
        here = self.cache.index(self.key) or 0
        return min(max(here + by, 0), len(self.cache.rows) - 1)

    def _put(self, at: int, line: int | None = None) -> None:
        """Put the cursor on the row at an index, and on a line of the screen; None: where the screen moves least."""
        cache = self.cache
        self._row = cache.rows[at]
        self.key = cache.key(self._row)
        if line is not None:
            cache.top = at - line
        else:
            cache.top = max(min(cache.top, at), at - cache.height + 1)
        cache.fill()

    def _read_edge(self) -> None:
        if self._from_end:
            self.cache.read_last()
        else:
            self.cache.read_first()

    def _settle(self) -> None:
        """Move the cursor to the row that replaced its own when that is gone; without any row before, to an edge."""
        cache = self.cache
        assert cache.source is not None
        at = cache.index(self.key)
        if at is not None or not cache.rows:
            self._row = cache.rows[at] if at is not None else None
            self.key = self.key if cache.rows else None
            return
        at = len(cache.rows) - 1 if self._from_end else 0
        if self._row is not None:
            at = cache.position(self._row)
        near = None
        if (at == 0 and not cache.has_first) or (at == len(cache.rows) and not cache.has_last):
            # The cursor was far from the screen, and so is the row that took its place.
            place = self._row if self._row is not None else cache.rows[0]
            near = next(iter([*cache.source.after(place, 1), *cache.source.before(place, 1)]), None)
        self._row = near if near is not None else cache.rows[min(at, len(cache.rows) - 1)]
        self.key = cache.key(self._row)

    # Changes

    def change(self, keys: Iterable[str]) -> None:
        """Apply that rows of these keys were added, changed or removed; no other row is read."""
        cache = self.cache
        if cache.source is None or not self._is_loaded:
            return
        keys = set(keys)
        rows = cache.source.find(keys)
        moved = cache.update(keys, rows)
        if self.key in rows:
            self._row = rows[self.key]
        if moved:
            self._rearrange(moved, rows)
        cache.update_base()

    def grow(self) -> None:
        """Apply that there are more rows at the end, which are read when the screen is near them."""
        self.cache.has_last = False
        if self._is_loaded and not self.cache.rows:
            self._read_edge()
            self._settle()
        self.cache.fill()

    def _rearrange(self, moved: set[str], found: dict[str, R]) -> None:
        """Move rows to their current places; the row that the human looks at stays on its line."""
        cache = self.cache
        anchor, line = self._anchor(moved)
        cursor_line, was_on_screen = self.line, self.is_on_screen
        below = cache.rows[cache.top :]
        cache.move(moved, found)
        has_lost_all = not cache.rows and not (cache.has_first and cache.has_last)
        if has_lost_all or (was_on_screen and self.key in found and cache.index(self.key) is None):
            # The cursor's own row moved far: the screen follows it. Or all rows that were held are gone.
            self._is_loaded = False
            self.load(cursor_line)
            return
        if self.key is None or (self.key in moved and self.key not in found):
            self._settle()
        top = cache.index(anchor)
        if top is None:
            # Every row on screen moved: the first of those that followed comes to the top.
            later = (cache.index(cache.key(row)) for row in below)
            top, line = next((index for index in later if index is not None), len(cache.rows)), 0
        cache.top = top - line
        at = cache.index(self.key) if self.key in moved else None
        if was_on_screen and at is not None:
            cache.top = max(min(cache.top, at), at - cache.height + 1)
        cache.fill()

    def _anchor(self, moved: set[str]) -> tuple[str | None, int]:
        """Return the key that stays on its line, and the line: the cursor's, else the topmost row that does not
        move.
        """
        if self.is_on_screen and self.key not in moved:
            return self.key, self.line or 0
        for line, row in enumerate(self.cache.on_screen):
            if self.cache.key(row) not in moved:
                return self.cache.key(row), line
        return None, 0


class RowMarks(Generic[R]):
    """The keys of the marked rows, in the order in which they were marked."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self.range_ends: tuple[str, ...] = ()
        """The keys of the rows that were marked last by themselves, at most two, the newest first: a range begins at
        the first on which the cursor is not.
        """

    @property
    def keys(self) -> list[str]:
        """All of them."""
        return list(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def set(self, keys: Iterable[str], *, on: bool | None = None) -> None:
        """Mark or unmark rows; `on=None` toggles each. No range begins at them."""
        for key in keys:
            if on if on is not None else key not in self._keys:
                self._keys[key] = None
            else:
                self._keys.pop(key, None)
        self.range_ends = ()

    def toggle(self, key: str) -> None:
        """Mark a row by itself, from which a range then begins; or unmark it."""
        before = self.range_ends[:1]
        self.set([key])
        self.range_ends = (key, *before) if key in self._keys else ()

    def clear(self) -> None:
        """Forget all marks; the ends of a range stay."""
        self._keys.clear()

    def forget_gone(self, keys: Iterable[str], source: Source[R]) -> None:
        """Forget those of some rows that are there no more."""
        marked = [key for key in keys if key in self._keys]
        rows = source.find(marked) if marked else {}
        for key in marked:
            if key not in rows:
                del self._keys[key]
