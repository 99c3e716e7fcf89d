"""The list: every task of one list in its own order, with what the cursor is on beside or below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.tui.app.actions import bindings
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.list.list_moves import ListMoves
from tui_tasks.tui.list.list_rows import ListFoot, ListHead, ListRule, SideFoot, TaskWindow, side_width
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.tasks.detail import Detail
from tui_tasks.tui.tasks.match_counter import MatchCounter
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.tasks_of_list import TasksOfList
from tui_tasks.tui.widgets.pane import TransparentContainer


class ListPane(ListMoves):
    """Pane 1. On a small screen the detail takes the list's place (`-open`)."""

    NAME = "list"
    SCOPES = ("rows", "tasks", "list")
    FOOTER = ("help", "filter", "new", "status", "edit", "asks", "mark", "undo", "quit")
    FOOTER_SMALL = ("help", "asks", "filter", "status")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    window: TaskWindow

    def compose(self) -> ComposeResult:
        """Rule, list, detail."""
        yield ListRule(id="list-rule")
        with TransparentContainer(id="list-body"):
            with TransparentContainer(id="list-main"):
                yield ListHead(id="list-head")
                yield FilterBar(self.known_words, id="filter")
                yield QuickAdd(self.numbered, id="quick-add")
                self.window = TaskWindow(id="tasks")
                yield self.window
                yield ListFoot(id="list-foot")
            with TransparentContainer(id="list-side"):
                yield Detail(id="detail")
                yield SideFoot(id="side-foot")

    def on_mount(self) -> None:
        """Show the App's list."""
        self._before_filter: str | None = None
        self._asking: set[str] = set()
        self._matches = MatchCounter(self)
        self._lay_out()
        self.refreshed()
        if not self.host.is_compact:
            # Read at once, so that the first paint has it.
            self.detail.show_now(self.window.cursor)

    # What is shown

    def focus_target(self) -> Widget:
        """The rows."""
        return self.window

    @property
    def detail(self) -> Detail:
        """The detail beside the list."""
        return self.query_one(Detail)

    def footer(self, small: bool) -> tuple[str, ...]:
        """As `Pane.footer`; for the detail and an empty list there are other things to tell."""
        if self.is_open or self.detail.has_focus_within:
            return ("edit", "status", "note", "back")
        if self.has_class("-empty"):
            return ("help", "new", "palette", "quit")
        return super().footer(small)

    def on_descendant_focus(self) -> None:
        """The footer tells of other keys."""
        self.host.frame_again()

    def on_resize(self) -> None:
        """Put the detail beside the list, below it, or away."""
        self._lay_out()

    def _lay_out(self) -> None:
        found = self.host.current_list
        self.set_class(found is None or not found.total, "-empty")
        wide = side_width(self.host, self.host.size.width)
        side = self.query_one("#list-side")
        side.styles.width = wide or "1fr"
        self.detail.brief = not wide and not self.is_open
        self.screen.set_class(self.is_open and self.host.is_compact, "-opened")
        self._lines_again()

    def _lines_again(self) -> None:
        for line in (ListRule, ListHead, ListFoot, SideFoot):
            self.query_one(line).again()

    def changed(self, changes: Changes) -> None:
        """See to the rows that were touched."""
        if changes.all:
            self.window.reload()
        else:
            self.window.change(changes.tasks())
        if changes.all or self.host.situation.asking != self._asking or changes.places:
            self._asking = set(self.host.situation.asking)
            self.window.again()
        self._show_empty()
        self.detail.changed(changes)
        self._lines_again()

    def refreshed(self) -> None:
        """Look anew, at another list where the App has another."""
        self._asking = set(self.host.situation.asking)
        source = self.window.source
        if not isinstance(source, TasksOfList) or source.list_id != self.host.list_id:
            self.window.show(self._source(self.wanted()))
        else:
            self.window.reload()
        self._show_empty()
        self.detail.refreshed()
        self._lines_again()

    def _show_empty(self) -> None:
        found = self.host.current_list
        if (found is None or not found.total) != self.has_class("-empty"):
            self._lay_out()

    def _source(self, only: Filter) -> TasksOfList:
        self.window.filtered = bool(only)
        return TasksOfList(self.host.bridge.db, self.host.situation, self.host.list_id, only)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """The detail follows the cursor."""
        event.stop()
        self.detail.show(event.key)

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """A double click opens."""
        event.stop()
        self.do_open()

    # Opening and going back

    def do_open(self) -> None:
        """Go into the detail."""
        if not side_width(self.host, self.host.size.width):
            self.add_class("-open")
            self._lay_out()
        self.detail.focus_text()

    def left(self) -> None:
        """As `Pane.left`: the list comes back as a list."""
        if self.is_open:
            self.remove_class("-open")
            self._lay_out()

    def do_back(self) -> None:
        """One layer: a drag, the detail, marks, the filter."""
        bar = self.query_one(FilterBar)
        if self.window.let_go():
            return
        if self.is_open or self.detail.has_focus_within:
            self.remove_class("-open")
            self._lay_out()
            self.screen.set_focus(self.window)
        elif self.window.marks:
            self.window.clear_marks()
        elif bar.is_open:
            bar.clear()

    def select(self, uid: str) -> None:
        """As `Pane.select`."""
        self.window.move_to(uid)

    def go_to(self, uid: str) -> None:
        """As `Pane.go_to`."""
        if not self.window.move_to(uid):
            self.query_one(FilterBar).clear()
            self.show_wanted(ALL)
            self.window.move_to(uid)

    # The filter

    def wanted(self) -> Filter:
        """The filter that the rows are read with."""
        source = self.window.source
        return source.only if isinstance(source, TasksOfList) else ALL

    def do_filter(self) -> None:
        """Begin to filter, or go on."""
        self.filter_by(None)

    def filter_by(self, text: str | None) -> None:
        """As `Pane.filter_by`."""
        bar = self.query_one(FilterBar)
        if not bar.is_open:
            self._before_filter = self.window.cursor
        bar.open(text)
        self.query_one(ListHead).display = False

    def nearby(self) -> Sequence[TaskLine]:
        """As `TaskWords.nearby`."""
        return self.window.rows_on_screen

    def show_wanted(self, only: Filter) -> None:
        """Show what is wanted, from the first on."""
        self.window.refilter(self._source(only))
        self._matches.count(only)

    def on_filter_bar_kept(self, event: FilterBar.Kept) -> None:
        """Back to the rows, with the filter."""
        event.stop()
        self.screen.set_focus(self.window)

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """All rows again, with the cursor where it was before, or where it is if the human moved it."""
        event.stop()
        cursor = self._before_filter if event.typing else self.window.cursor
        self._show_head()
        self.window.refilter(self._source(ALL), cursor)
        self._matches.stop()
        self.screen.set_focus(self.window)
        self._lines_again()

    # Adding and placing

    def _show_head(self) -> None:
        """What is typed takes the head's place."""
        self.query_one(ListHead).display = not (self.query_one(FilterBar).is_open or self.query_one(QuickAdd).is_open)

    def do_new(self) -> None:
        """Add below the cursor."""
        self._add_at(above=False)

    def do_new_above(self) -> None:
        """Add above the cursor."""
        self._add_at(above=True)

    def _add_at(self, *, above: bool) -> None:
        self.query_one(ListHead).display = False
        self.query_one(QuickAdd).open(self.window.cursor, above=above)

    def on_quick_add_closed(self, event: QuickAdd.Closed) -> None:
        """Back to the rows."""
        event.stop()
        self._show_head()
        self.screen.set_focus(self.window)
