"""The actions that move the cursor in a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.rows.row_list import VirtualList


class RowMoves(Controller):
    """Moves in the list that `row_list` returns, the one that keys act on at that moment."""

    def __init__(self, row_list: Callable[[], VirtualList[Any]]) -> None:
        self._row_list = row_list

    def do_down(self) -> None:
        """Next row."""
        self._row_list().move(1)

    def do_up(self) -> None:
        """Previous row."""
        self._row_list().move(-1)

    def do_first(self) -> None:
        """First row."""
        self._row_list().move_first()

    def do_last(self) -> None:
        """Last row."""
        self._row_list().move_last()

    def do_page_down(self) -> None:
        """A screen down."""
        self._row_list().move_page(1)

    def do_page_up(self) -> None:
        """A screen up."""
        self._row_list().move_page(-1)
