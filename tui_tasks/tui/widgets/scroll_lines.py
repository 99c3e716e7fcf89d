"""Lines of text in a fixed height, scrolled by keys and wheel. Changes cause no layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.strip import Strip

from tui_tasks.tui.keys.actions import Actor, bindings
from tui_tasks.tui.widgets.painting import Focusable
from tui_tasks.tui.widgets.scrolling import ScrollKeys, WheelScrolling, thumb, with_thumb
from tui_tasks.tui.widgets.styles import StyleCache
from tui_tasks.tui.widgets.text_lines import Drawn, TextLines

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class ScrollLines(WheelScrolling, Actor, Focusable, TextLines, can_focus=True):
    """Shows as many lines as fit, from the scroll position on."""

    SCOPES = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("rows")]
    DEFAULT_CSS = "ScrollLines { height: 1fr; }"

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.first = 0
        self.controllers = (ScrollKeys(self),)

    def again(self) -> None:
        """Draw again; paint only visible lines that differ."""
        width = self.size.width
        if not width:
            return
        old, old_first = self._on_screen(), self.first
        self._draw(width)
        self.first = self._clamped(self.first)
        now = self._on_screen()
        if old_first != self.first or (len(now) < len(self._shown)) != (len(old) < len(self._shown)):
            self.refresh()
        else:
            self._refresh_changed(old, now)
        self._redraw_in_time()

    def scroll_rows(self, by: int) -> None:
        """Scroll, at most to the end."""
        first = self._clamped(self.first + by)
        if first != self.first:
            self.first = first
            self.refresh()

    def on_resize(self) -> None:
        """Draw for the new size; Textual paints it all."""
        self.again()

    def render_line(self, y: int) -> Strip:
        """Paint one line, with the scroll mark at its end."""
        strip = super().render_line(y + self.first)
        width, height = self.own_size
        if y in thumb(height, height, len(self._shown), self.first):
            return with_thumb(strip, width, StyleCache.of(self.app).style("$rule"))
        return strip

    def _on_screen(self) -> list[Drawn]:
        return self._shown[self.first : self.first + self.size.height]

    def _clamped(self, first: int) -> int:
        return max(0, min(first, len(self._shown) - self.size.height))

    @property
    def page_rows(self) -> int:
        """The lines of a page: one less than are visible."""
        return self.size.height - 1
