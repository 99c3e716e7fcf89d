"""The board: the tasks of one list in columns by status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import board_pages
from tui_tasks.core.read.pages.list_pages import MAX_SORTED, TaskLine
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.tui import layout
from tui_tasks.tui.board.board_columns import NARROW, WIDE, CardCounts, CardsOfColumn, ColumnSpec, columns_at, title_of
from tui_tasks.tui.board.card_actions import MOVES, CardMoves, ColumnActions
from tui_tasks.tui.board.card_column import BoardTabs, CardArea, Column, ColumnHead
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.task_pane import Detail, TaskPane
from tui_tasks.tui.widgets.filter_bar import FilterBar
from tui_tasks.tui.widgets.screen_head import ChangesRule


class BoardPane(TaskPane):
    """Pane 2. `area` has the columns; `at` is the index of the current one, whose cards are `row_list`."""

    NAME = "board"
    SCOPES = ("rows", "tasks")
    FOOTER = ("status", "card_left", "card_right", "new", "edit", "filter", "asks", "agents", "undo", "quit", "help")
    FOOTER_SMALL = ("status", "filter", "asks", "help")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    BoardPane #columns { height: 1fr; }
    BoardPane BoardTabs, BoardPane #board-keys { display: none; }
    BoardPane.-one BoardTabs, BoardPane.-one #board-keys { display: block; }
    BoardPane.-one ColumnHead { display: none; }
    BoardPane Detail { display: none; height: 40%; }
    BoardPane.-open Detail { display: block; }
    BoardPane.-one.-open Detail { height: 1fr; }
    BoardPane.-one.-open #columns, BoardPane.-one.-open BoardTabs, BoardPane.-one.-open ChangesRule,
    BoardPane.-one.-open #board-keys { display: none; }
    """

    row_list: VirtualList[Any]

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.at = 0
        self.detail = Detail(context)
        self._list_id = -1
        self._special: set[str] = set()
        self._counts = CardCounts(self, self._redraw_lines)
        self._number_width = 0
        parts = self._counts.text, self._no_match, self._covered
        self.area = CardArea(context, [Column(context, *parts) for _ in WIDE], id="columns")
        self._tabs = BoardTabs(context)
        self._rule = ChangesRule(context, self._title)
        self._moves = CardMoves(self)
        self._keys = FrameLine(context, self._moves.key_parts, id="board-keys")
        self.row_list = self.columns[0].cards
        self.controllers = (self._moves, ColumnActions(self), *self.controllers)

    def compose(self) -> ComposeResult:
        """Compose filter and quick add, the columns with dividers between them, and the detail."""
        yield self._tabs
        yield self._rule
        yield self.filter_bar
        yield self.quick_add
        yield self.area
        yield self.detail
        yield self._keys

    def _title(self) -> Sequence[Part]:
        """Return what stands in the rule."""
        return title_of(self.context, self.area.marked, self.only.sort, is_small=layout.is_compact(self.app.size))

    def _no_match(self) -> str:
        """Return that no card of any column matches the filter; empty if some does."""
        area = self.area
        return "" if area.has_cards else self.filter_bar.no_match(is_searching=area.is_searching)

    @override
    def focus_target(self) -> Widget:
        """The cards of all columns."""
        return self.area

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the focus to the cards at once, before the next key is handled."""
        self.screen.set_focus(self.area, scroll_visible)
        return self

    @property
    def columns(self) -> Sequence[Column]:
        """The columns that fit, from left to right."""
        return self.area.columns

    @property
    def specs(self) -> tuple[ColumnSpec, ...]:
        """What they hold."""
        return self.area.specs

    def _covered(self) -> int:
        """Return how many lines of the columns the detail covers."""
        return self.detail.outer_size.height if self.is_open and self.specs is not NARROW else 0

    def source(self, spec: ColumnSpec) -> CardsOfColumn:
        """Return the cards of a column that match the filter."""
        only, home = self.only, self.context.state.current_list
        if only.sort and home is not None and home.total > MAX_SORTED:
            only = msgspec.structs.replace(only, sort="")
        return CardsOfColumn(self.context.db, self._list_id, spec.parts, only, lambda: self.context.state.needing)

    # Content

    def on_mount(self) -> None:
        """Arrange the columns before the first layout."""
        self.on_resize()

    def on_resize(self) -> None:
        """Show five columns, three, or one at a time."""
        specs = columns_at(self.size.width or self.app.size.width)
        if specs is not self.specs or self._list_id < 0:
            self.area.specs = specs
            self._arrange()
        else:
            self._share_width(is_other=True)

    def _share_width(self, *, is_other: bool) -> None:
        """Divide the width among the columns, but for a filter, with which the columns stay."""
        if not self.only.terms:
            self.area.share_width(self.size.width or self.app.size.width, is_other=is_other)

    def _special_now(self) -> set[str]:
        """Return the tasks whose cards differ by more than the task: those that need the human, and the next."""
        state = self.context.state
        return state.needing | ({state.suggested} if state.suggested is not None else set())

    def _arrange(self) -> None:
        """Fill the columns; the cursor stays on its card."""
        state = self.context.state
        is_other = self._list_id != state.list_id
        remembered = state.cursors.get(state.list_id) if is_other else self.target()
        target = remembered or next((member.task.uid for member in state.members if member.task is not None), None)
        self._list_id, self._special = state.list_id, self._special_now()
        self.only = self.sort_actions.applied(self.only)
        self._counts.update(self.only)
        self.set_class(self.specs is NARROW, "-one")
        for spec, column in zip(self.specs, self.columns, strict=True):
            column.show(spec, self.source(spec))
        self.area.share_width(self.size.width or self.app.size.width, is_other=True)
        self.go(min(self.at, len(self.specs) - 1))
        self._follow(target)
        self._redraw_lines()

    @override
    def show_matching(self, only: Filter) -> None:
        """Marks stay, and so does the cursor if its card matches; else it goes to a column in which one does."""
        target, self.only = self.target(), only
        for column in self.columns:
            column.refilter(self.source(column.spec))
        if not self._follow(target) and not self.row_list.rows_held:
            at = self.area.column_with_cards(range(len(self.columns)))
            self.go(self.at if at is None else at)
        self._counts.update(only)
        self._redraw_lines()

    @override
    def refreshed(self) -> None:
        """Read again, or another list if the App shows another."""
        if self._list_id != self.context.state.list_id:
            self._arrange()
            return
        if (only := self.sort_actions.applied(self.only)) != self.only:
            self.show_matching(only)
        target = self.target()
        for column in self.columns:
            column.cards.reload()
        self._share_width(is_other=False)
        self._follow(target)
        if self.is_open:
            self.detail.read()
        self._counts.update(self.only)
        self._redraw_lines()

    @override
    def changed(self, changes: StateChanges) -> None:
        """Update the cards that were touched; the cursor follows its card."""
        target, selection = self.target(), self.selection()
        if changes.all:
            self.refreshed()
            self.unread.note(target, selection, changes)
            return
        # A task moves to another column when its agent leaves or comes back.
        were_special, self._special = self._special, self._special_now()
        uids = changes.tasks() | (were_special ^ self._special)
        wider, self._number_width = self._number_width, self.context.state.number_width
        for column in self.columns:
            column.cards.change(uids)
            if changes.touches("ask") or wider != self._number_width:
                column.cards.redraw()
        self._share_width(is_other=False)
        if target in uids and self.row_list.cursor != target:
            self._follow(target)
        self.unread.note(target, selection, changes)
        if self.is_open:
            self.detail.changed(changes)
        self._counts.update(self.only)
        self._redraw_lines()

    @override
    def tasks_on_screen(self) -> set[str]:
        if self.is_open:
            return {uid for uid in (self.target(),) if uid is not None}
        return {uid for column in self.columns for uid in column.cards.keys_on_screen}

    @override
    def marks_changed(self) -> None:
        for column in self.columns:
            column.cards.redraw()
        self._redraw_lines()

    @override
    def nearby(self) -> Iterable[TaskLine]:
        return (card for column in self.columns for card in column.cards.rows_held)

    @override
    def select(self, uid: str) -> None:
        self._follow(uid)

    @override
    def go_to(self, uid: str) -> None:
        """A filter that hides the card is removed."""
        if not self._follow(uid) and self.only:
            self.filter_bar.clear()
            self.show_matching(self.sort_actions.applied())
            self._follow(uid)

    @override
    def show_added(self, uid: str) -> None:
        """A new card may be in another column."""
        self.unread.landing.forget()
        self.go_to(uid)

    def _follow(self, uid: str | None) -> bool:
        """Put the cursor on a card in its current column; return False when it is in none."""
        needing = self.context.state.needing
        cards = board_pages.find(self.context.db, self._list_id, [uid], self.only, needing=needing) if uid else {}
        card = cards.get(uid or "")
        at = self.area.column_with(card) if card is not None else None
        if at is None or uid is None:
            return False
        self.columns[at].cards.move_to(uid)
        self.go(at)
        return True

    def _redraw_lines(self) -> None:
        self._rule.redraw()
        if self.only and not self.row_list.rows_held:
            # Whether anything matches follows from the other columns, too.
            self.row_list.redraw()
        for column in self.columns:
            column.head.redraw()
        self._tabs.show([(spec.state, self._counts.of_tab(spec)) for spec in self.specs], self.at)
        self._show_keys()

    def _show_keys(self) -> None:
        """Show where keys would move the card."""
        self._keys.redraw()
        self.context.redraw_feet()

    @override
    def short(self, action: Action) -> str:
        """Keys that move a card are named by their target column."""
        return self._moves.word(action.id) if action.id in MOVES else super().short(action)

    # The current column

    def go(self, at: int) -> None:
        """Make a column the current one."""
        self.at, self.row_list = at, self.columns[at].cards
        self.area.show_current(at)
        self._redraw_lines()
        self._show_detail()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Make the pressed column the current one."""
        at = self.area.column_at(event.screen_offset)
        if at not in (None, self.at):
            self.go(at)

    def on_board_tabs_chosen(self, event: BoardTabs.Chosen) -> None:
        """Go to the column whose tab was clicked."""
        event.stop()
        self.go(event.number)

    def on_column_head_clicked(self, event: ColumnHead.Clicked) -> None:
        """Go back to the cards."""
        event.stop()
        self.focus_rows()

    def on_virtual_list_marked(self, event: VirtualList.Marked) -> None:
        """Show how many are marked."""
        event.stop()
        self._rule.redraw()

    def on_virtual_list_resumed(self, event: VirtualList.Resumed) -> None:
        """A search in any column may have ended."""
        event.stop()
        self._redraw_lines()

    # Moving by mouse

    def on_virtual_list_dragged(self, event: VirtualList.Dragged) -> None:
        """Show where the card would be dropped."""
        event.stop()
        self._moves.drag(event)

    def on_virtual_list_dropped(self, event: VirtualList.Dropped) -> None:
        """Move the card that was dragged."""
        event.stop()
        self._moves.drop(event)

    # The filter

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """Show all cards."""
        event.stop()
        has_turned = self.filter_actions.turn_back()
        goes_back = event.typing or has_turned or not any(column.cards.rows_on_screen for column in self.columns)
        self.show_matching(self.sort_actions.applied())
        if goes_back and (cursor := self.filter_actions.cursor_before) is not None:
            self.select(cursor)
        self.focus_rows()

    # The detail, below the columns, or instead of them on a small screen

    @override
    def show_in_full(self) -> None:
        was_open = self.is_open
        self.add_class("-open")
        if was_open or layout.is_compact(self.app.size):
            self.detail.focus_text()
        self.detail.show(self.target())
        self.mark_opened()
        self.context.redraw_frame()

    def do_back(self) -> None:
        """Leave one layer: a drag, quick add, the detail's text, the detail, marks, the filter, a list gone to."""
        if any(column.cards.let_go() for column in self.columns):
            self._moves.end_drag()
        elif self.quick_add.is_open:
            self.quick_add.close()
        elif self.detail.has_focus_within and not layout.is_compact(self.app.size):
            self.focus_rows()
        elif self.is_open:
            self.remove_class("-open")
            self.focus_rows()
            self.take_way_back(was_inside=True)
        else:
            self.leave_rows()

    @override
    def uncover(self) -> None:
        if self.is_open and layout.is_compact(self.app.size):
            self.do_back()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Update the detail and the keys that move the card."""
        event.stop()
        self.remember_cursor()
        self._show_detail()
        self._show_keys()

    def _show_detail(self) -> None:
        if self.is_open:
            self.detail.show(self.target())

    @override
    def footer(self, small: bool) -> tuple[str, ...]:
        """The detail has keys of its own."""
        if not self.is_open:
            return super().footer(small)
        return ("edit", "status", "note", "back", *(() if small else ("help",)))
