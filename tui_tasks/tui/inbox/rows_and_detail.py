"""Rows, and the text of the one under the cursor beside or below them."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll

from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.painting.text_lines import Divider, TextLines
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context


class RowsAndDetail(Container):
    """Shows `rows`, which have the focus, and `detail`, which is scrolled by pages (`PageKeys`)."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    RowsAndDetail { height: 1fr; layout: vertical; }
    RowsAndDetail VirtualList { height: 40%; min-height: 3; }
    RowsAndDetail VerticalScroll { height: 1fr; width: 1fr; }
    RowsAndDetail Divider { display: none; }
    Screen.-wide.-tall RowsAndDetail { layout: horizontal; }
    Screen.-wide.-tall RowsAndDetail VirtualList { width: 12fr; height: 1fr; }
    Screen.-wide.-tall RowsAndDetail VerticalScroll { width: 9fr; }
    Screen.-wide.-tall RowsAndDetail > FrameLine { display: none; }
    Screen.-wide.-tall RowsAndDetail Divider { display: block; }
    """

    def __init__(self, context: Context, rows: VirtualList[Any], detail: TextLines) -> None:
        super().__init__()
        self.context = context
        self._rows = rows
        self.scroll = VerticalScroll(detail, can_focus=False)

    def compose(self) -> ComposeResult:
        """Compose the rows and the text, with a rule or a divider between them."""
        yield self._rows
        yield rule(self.context)
        yield Divider(self.context)
        yield self.scroll

    def show_beginning(self) -> None:
        """Scroll to the beginning at once, as the text is another."""
        self.scroll.scroll_home(animate=False, immediate=True)

    @property
    def seen_lines(self) -> int:
        """How many lines of the text, from its beginning, are on screen or above it; 0 where it has no room."""
        return round(self.scroll.scroll_y) + self.scroll.size.height if self.scroll.size.height else 0


class PageKeys(Controller):
    """Scrolls the text beside rows by pages; other keys move the cursor in the rows."""

    def __init__(self, both: RowsAndDetail) -> None:
        self._both = both

    def do_page_down(self) -> None:
        """Scroll a page down."""
        self._both.scroll.scroll_page_down(animate=False)

    def do_page_up(self) -> None:
        """Scroll a page up."""
        self._both.scroll.scroll_page_up(animate=False)
