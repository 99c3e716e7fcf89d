"""Scrolling by wheel and keys, for widgets with more rows than fit."""

from __future__ import annotations

from typing import Final, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from tui_tasks.tui.keys.actions import Controller

WHEEL: Final = 3
"""The rows that one notch of the wheel scrolls."""
FAR: Final = 2**31
"""More rows than anything has: it is scrolled to its end."""


def thumb(height: int, shown: int, total: int, first: int) -> range:
    """Return the lines of `height` that the scroll mark covers: `shown` of `total` rows, from row `first`.

    Empty when all rows are shown.
    """
    if total <= shown:
        return range(0)
    size = max(1, height * shown // total)
    top = min((height - size) * first // max(1, total - shown), height - size)
    return range(top, top + size)


def with_thumb(strip: Strip, width: int, style: Style) -> Strip:
    """Return a line of `width` cells that ends with the scroll mark."""
    return Strip([*strip.crop(0, width - 1), Segment("▐", style)], width)


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


class Scrolled(Protocol):
    """Interface of what keys scroll."""

    @property
    def page_rows(self) -> int:
        """The rows of a page: those shown, less those that stay visible."""
        ...

    def scroll_rows(self, by: int) -> None:
        """Scroll by rows, down when `by` is above 0, at most to the end."""


class ScrollKeys(Controller):
    """Scrolls a widget without a cursor by the keys that otherwise move a cursor."""

    def __init__(self, scrolled: Scrolled) -> None:
        self._scrolled = scrolled

    def do_down(self) -> None:
        """A row on."""
        self._scrolled.scroll_rows(1)

    def do_up(self) -> None:
        """A row back."""
        self._scrolled.scroll_rows(-1)

    def do_page_down(self) -> None:
        """A page on."""
        self._scrolled.scroll_rows(max(1, self._scrolled.page_rows))

    def do_page_up(self) -> None:
        """A page back."""
        self._scrolled.scroll_rows(-max(1, self._scrolled.page_rows))

    def do_first(self) -> None:
        """To the first row."""
        self._scrolled.scroll_rows(-FAR)

    def do_last(self) -> None:
        """To the last row."""
        self._scrolled.scroll_rows(FAR)
