"""What is typed above the board: the filter, and a new task. And what is opened below it: the detail of a card."""

from __future__ import annotations

from collections.abc import Iterable

from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.tui.board.board_moves import BoardMoves
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.tasks.detail import Detail
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.task_inputs import TaskWords


class BoardWords(TaskWords, BoardMoves):
    """Filtering, adding and opening. The pane says how cards are shown (`show_wanted`, `go_to`)."""

    only: Filter = ALL

    def wanted(self) -> Filter:
        """The filter that the cards are read with."""
        return self.only

    # The filter

    def do_filter(self) -> None:
        """Begin to filter, or go on."""
        self.query_one(FilterBar).open()

    def filter_by(self, text: str) -> None:
        """As `Pane.filter_by`."""
        self.query_one(FilterBar).open(text)

    def nearby(self) -> Iterable[TaskLine]:
        """As `TaskWords.nearby`."""
        return (row for column in self.columns for row in column.window.rows_held)

    def on_filter_bar_kept(self, event: FilterBar.Kept) -> None:
        """Back to the cards, with the filter."""
        event.stop()
        self.focus()

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """All cards again."""
        event.stop()
        self.show_wanted(ALL)
        self.focus()

    # A new task

    def do_new(self) -> None:
        """Add below the cursor."""
        self.query_one(QuickAdd).open(self.window.cursor, above=False)

    def do_new_above(self) -> None:
        """Add above the cursor."""
        self.query_one(QuickAdd).open(self.window.cursor, above=True)

    def show_added(self, uid: str) -> None:
        """As `TaskActions.show_added`; the new card is in a column of its own."""
        self.go_to(uid)

    def on_quick_add_closed(self, event: QuickAdd.Closed) -> None:
        """Back to the cards."""
        event.stop()
        self.focus()

    # The detail

    @property
    def detail(self) -> Detail:
        """The detail below the columns, or on a small screen in their place."""
        return self.query_one(Detail)

    def do_open(self) -> None:
        """Show the detail; where it is shown, go into it."""
        if self.is_open or self.host.is_compact:
            self.add_class("-open")
            self.detail.focus_text()
        else:
            self.add_class("-open")
        self.detail.show(self.target())
        self.host.frame_again()

    def do_back(self) -> None:
        """One layer: a drag, the detail's text, the detail, marks, the filter."""
        bar = self.query_one(FilterBar)
        if any(column.window.let_go() for column in self.columns):
            self.end_drag()
        elif self.detail.has_focus_within and not self.host.is_compact:
            self.focus()
        elif self.is_open:
            self.remove_class("-open")
            self.focus()
        elif self.window.marks:
            self.window.clear_marks()
        elif bar.is_open:
            bar.clear()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """The detail follows the cursor, and the keys that move a card say where to."""
        event.stop()
        self.show_detail()
        self.keys_again()

    def keys_again(self) -> None:
        """Say where a card would go now."""
        raise NotImplementedError

    def show_detail(self) -> None:
        """Show the card under the cursor in the detail, where that is open."""
        if self.is_open:
            self.detail.show(self.target())

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """A double click opens."""
        event.stop()
        self.do_open()

    def footer(self, small: bool) -> tuple[str, ...]:
        """As `Pane.footer`; for the detail there are other things to tell."""
        if self.is_open:
            return ("edit", "status", "note", "back")
        return super().footer(small)
