"""Scrolling by wheel and by keys, for what has more rows than fit."""

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
    """Return the lines of `height` that mark where one is: `shown` of `total` rows from row `first`, all counts.

    There are none where all of it is shown.
    """
    if total <= shown:
        return range(0)
    size = max(1, height * shown // total)
    top = min((height - size) * first // max(1, total - shown), height - size)
    return range(top, top + size)


def with_thumb(strip: Strip, width: int, style: Style) -> Strip:
    """Return a line as wide as `width` with the mark at its end."""
    return Strip([*strip.crop(0, width - 1), Segment("▐", style)], width)


class Scrolling:
    """Mixed into what can be scrolled."""

    def scroll_rows(self, by: int) -> None:
        """Scroll by so many rows, down where `by` is above 0, as far as there is anything."""
        raise NotImplementedError


class WheelScrolling(Scrolling):
    """Mixed into widgets that draw their own rows: the wheel scrolls them, and nothing around them."""

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll; a cursor stays."""
        event.stop()
        self.scroll_rows(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll; a cursor stays."""
        event.stop()
        self.scroll_rows(-WHEEL)


class Scrolled(Protocol):
    """What keys scroll."""

    @property
    def page_rows(self) -> int:
        """How many rows a page is: what is shown, less what stays in sight."""
        ...

    def scroll_rows(self, by: int) -> None:
        """Scroll by so many rows, down where `by` is above 0, as far as there is anything."""


class ScrollKeys(Controller):
    """The keys that move a cursor scroll what has none."""

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
