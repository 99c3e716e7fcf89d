"""The list: all tasks of one list in its order, with the detail of the task under the cursor, and moving them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.tui import layout
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.list.list_lines import ListLines, side_width
from tui_tasks.tui.list.list_rows import SortedTasks, TaskRows, TasksOfList
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context, Hint
from tui_tasks.tui.tasks.filter_actions import MatchCounter
from tui_tasks.tui.tasks.task_actions import in_order_with_next, moves_beside
from tui_tasks.tui.tasks.task_pane import Detail, TaskPane
from tui_tasks.tui.widgets.filter_bar import FilterBar
from tui_tasks.tui.widgets.needs_lines import NeedsLines
from tui_tasks.tui.widgets.textual_overrides import TransparentContainer

# The line above the rows.
_RULE = 1
# The least lines of the detail below the rows.
_LEAST_DETAIL = 3
# The rows left for quick add, before the detail gets what the rows leave.
_SPARE = 2

TasksInOrder: TypeAlias = TasksOfList | SortedTasks


class ListMoves(Controller):
    """Moves the marked tasks of a pane, else the one under the cursor, or the dragged one, in the list."""

    def __init__(self, pane: ListPane) -> None:
        self._pane = pane
        self._rows = pane.row_list
        self._context = pane.context

    @override
    def why_not(self, action: Action) -> str | None:
        """A sorted list cannot be rearranged."""
        return self._pane.sort_actions.why_not_move()

    async def do_move_down(self) -> None:
        """Move below the next task."""
        await self._step(1)

    async def do_move_up(self) -> None:
        """Move above the previous task."""
        await self._step(-1)

    async def _step(self, by: int) -> None:
        source = self._rows.source
        if source is not None:
            tasks, near = in_order_with_next(source, source.find(self._pane.selection()).values(), by)
            if near is not None:
                await self._move_beside(tasks, near, after=by > 0)

    def drop(self, event: VirtualList.Dropped) -> None:
        """Move the dragged task to where it was dropped."""
        region = self._rows.region
        over = self._rows.row_at(event.at.y - region.y) if region.contains_point(event.at) else None
        dragged = list_pages.line(self._context.db, event.key)
        if over is None or dragged is None or over.uid == dragged.uid:
            return
        if self._context.link.read_only:
            self._context.say("Moving a task: read only")
        elif why := self._pane.sort_actions.why_not_move():
            self._context.say(why)
        else:
            self._context.run(self._move_beside([dragged], over, after=over.rank > dragged.rank))

    async def _move_beside(self, tasks: Sequence[TaskLine], other: TaskLine, *, after: bool) -> None:
        await self._context.link.commit(*moves_beside(tasks, other, after=after))


class ListPane(TaskPane):
    """Pane 1. On a small screen the detail replaces the list (`-open`)."""

    NAME = "list"
    SCOPES = ("rows", "tasks")
    FOOTER = ("status", "new", "edit", "filter", "mark", "asks", "agents", "undo", "quit", "help")
    FOOTER_SMALL = ("status", "filter", "asks", "help")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    row_list: VirtualList[TaskLine]

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self._drawing = TaskRows(context, lambda: self.only)
        self.row_list = VirtualList(context, self._drawing, id="tasks")
        self._drawing.no_match = lambda: self.filter_bar.no_match(is_searching=self.row_list.is_searching)
        self.detail = Detail(context, id="detail")
        self._lines = ListLines(
            context, lambda: self.app.size, lambda: self.only.sort, lambda: len(self.row_list.marks)
        )
        self._moves = ListMoves(self)
        self.controllers = (*self.controllers, self._moves)
        self._matches = MatchCounter(self)
        self._asking: set[str] = set()
        self._number_width = 0
        self._detail_lines = 0

    def compose(self) -> ComposeResult:
        """Compose rule, list and detail."""
        yield self._lines.rule
        with TransparentContainer(id="list-main"):
            yield self.filter_bar
            yield self.quick_add
            yield self.row_list
            yield self._lines.foot
        yield self.detail

    def on_mount(self) -> None:
        """Show the App's list."""
        self._lay_out()
        self.refreshed()
        if not layout.is_compact(self.app.size):
            # Read now, so that the first paint includes it.
            self.detail.show_now(self.row_list.cursor)

    # Content

    @override
    def focus_target(self) -> Widget:
        """The rows."""
        return self.row_list

    def _detail_height(self) -> int:
        """Return the lines of the detail below the rows: a quarter of the screen and at most a third of the pane; where
        the rows leave more, all that they leave, so that spare lines are at the foot.
        """
        height, home = self.app.size.height - layout.around(self.app.size), self.context.state.current_list
        left = self.size.height or height - self._lines_above()
        rows = home.total if home is not None else 0
        return max(_LEAST_DETAIL, min(-(-height // 4), left // 3), left - _RULE - rows - _SPARE)

    def _lines_above(self) -> int:
        """Return how many lines what needs the human will take above the pane, before there is a layout."""
        size = self.app.size
        return sum(lines.get_content_height(size, size, size.width) for lines in self.screen.walk_children(NeedsLines))

    @override
    def footer(self, small: bool) -> tuple[str, ...]:
        """The detail and an empty list have keys of their own."""
        if self.is_inside:
            return ("edit", "status", "note", "back", *(() if small else ("help",)))
        if self.has_class("-empty"):
            return ("new", "palette", "quit", "help")
        return super().footer(small)

    @override
    def hints(self) -> Sequence[Hint]:
        """Beside the rows, the text of a task is left by the key that leads to it."""
        is_beside_rows = self.detail.has_focus_within and not self.is_open
        return (("Tab", "Back to list", ""),) if is_beside_rows else ()

    @override
    def hold_rows(self, by: int) -> None:
        self.row_list.hold_rows(by)

    @property
    @override
    def is_inside(self) -> bool:
        return self.is_open or self.detail.has_focus_within

    def on_descendant_focus(self) -> None:
        """Update the keys in the footer."""
        self.context.redraw_feet()

    def on_resize(self) -> None:
        """Put the detail beside the list or below it, or hide it."""
        self._lay_out()

    def _lay_out(self) -> None:
        self.set_class(self._is_empty, "-empty")
        side = side_width(self.context.state.current_list, self.app.size)
        self.set_class(bool(side), "-beside")
        self.detail.styles.width = side or "1fr"
        self._detail_lines = self._detail_height()
        self.detail.styles.height = "1fr" if side or self.is_open else self._detail_lines
        self.detail.brief, self.detail.is_beside = not side and not self.is_open, bool(side)
        self.screen.set_class(self.is_open and layout.is_compact(self.app.size), "-opened")
        self._lines.redraw()

    @property
    def _is_empty(self) -> bool:
        home = self.context.state.current_list
        return home is None or not home.total

    @override
    def changed(self, changes: StateChanges) -> None:
        """Update the rows that were touched."""
        asking, before, selection = self._needing(), self.target(), self.selection()
        if changes.all:
            self.row_list.reload()
        else:
            # What a filter finds by a question is found when it opens, though that is no change of its task.
            self.row_list.change(changes.tasks() | (asking ^ self._asking if self.only else set()))
        self.unread.note(before, selection, changes)
        wider, self._number_width = self._number_width, self.context.state.number_width
        if changes.all or asking != self._asking or wider != self._number_width:
            self._asking = asking
            self.row_list.redraw()
        self._lay_out_if_changed()
        self._matches.count_again()
        self.detail.changed(changes)
        self._lines.redraw()

    def _needing(self) -> set[str]:
        """Return the tasks whose rows differ by more than the task: those that wait for the human, and the next."""
        state = self.context.state
        return state.asking | state.needing | ({state.suggested} if state.suggested is not None else set())

    @override
    def refreshed(self) -> None:
        """Read the list again, or another one if the App shows that."""
        self._asking = self._needing()
        source = self.row_list.source
        only = self.sort_actions.applied(self.only)
        if not isinstance(source, TasksInOrder) or source.list_id != self.context.state.list_id:
            self.row_list.show(self._source(only), self.context.state.cursors.get(self.context.state.list_id))
            self._matches.count(only)
        elif only != self.only:
            here = self.target()
            self.show_matching(only)
            if here is not None:
                self.select(here)
        else:
            self.row_list.reload()
            self._matches.count_again()
        self._lay_out_if_changed()
        self.detail.read()
        self._lines.redraw()

    @override
    def tasks_on_screen(self) -> set[str]:
        if self.is_open and not side_width(self.context.state.current_list, self.app.size):
            return {uid for uid in (self.target(),) if uid is not None}
        return set(self.row_list.keys_on_screen)

    @override
    def marks_changed(self) -> None:
        self.row_list.redraw()
        self._lines.redraw()

    def _lay_out_if_changed(self) -> None:
        """Adapt to a list that is empty now or no more, or leaves more or fewer lines to the detail.

        Before the first layout only an empty list counts: that layout sets the lines.
        """
        has_other_height = self.size.height and self._detail_height() != self._detail_lines
        if has_other_height or self._is_empty != self.has_class("-empty"):
            self._lay_out()

    def _source(self, only: Filter) -> TasksInOrder:
        self.only = only
        state = self.context.state
        if only.sort:
            return SortedTasks(self.context.db, state.list_id, only)
        return TasksOfList(self.context.db, state, state.list_id, only)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Show the task under the cursor in the detail."""
        event.stop()
        self.remember_cursor()
        self.detail.show(event.key)
        if self.context.state.works.reviewable or self.context.state.asking:
            # The foot names the review, or the answer, only on such a task.
            self.context.redraw_feet()

    def on_virtual_list_marked(self, event: VirtualList.Marked) -> None:
        """Show how many are marked."""
        event.stop()
        self._lines.redraw()

    # Opening and going back

    @override
    def show_in_full(self) -> None:
        if not side_width(self.context.state.current_list, self.app.size):
            self.add_class("-open")
            self._lay_out()
        self.mark_opened()
        self.detail.focus_text()

    @override
    def left(self) -> None:
        """The list is shown again the next time."""
        super().left()
        self._close()

    @override
    def uncover(self) -> None:
        self._close()

    def _close(self) -> None:
        if self.is_open:
            self.remove_class("-open")
            self._lay_out()

    def do_back(self) -> None:
        """Leave one layer: a drag, quick add, the detail, marks, the filter, a list that was gone to."""
        if self.row_list.let_go():
            return
        if self.quick_add.is_open:
            self.quick_add.close()
        elif self.is_inside:
            self._close()
            self.focus_rows()
            self.take_way_back(was_inside=True)
        else:
            self.leave_rows()

    @override
    def select(self, uid: str) -> None:
        self.row_list.move_to(uid)

    @override
    def go_to(self, uid: str) -> None:
        """A filter that hides the task is removed."""
        if not self.row_list.move_to(uid):
            self.filter_bar.clear()
            self.show_matching(self.sort_actions.applied())
            self.row_list.move_to(uid)

    # Moving by mouse

    def on_virtual_list_dragged(self, event: VirtualList.Dragged) -> None:
        """Do nothing: the rows show the drag themselves."""
        event.stop()

    def on_virtual_list_dropped(self, event: VirtualList.Dropped) -> None:
        """Move the task that was dragged."""
        event.stop()
        self._moves.drop(event)

    # The filter

    @override
    def nearby(self) -> Sequence[TaskLine]:
        return self.row_list.rows_on_screen

    @override
    def show_matching(self, only: Filter) -> None:
        """Show the tasks that match, from the first one on."""
        self.row_list.refilter(self._source(only))
        # Nothing moves where nothing matches.
        self.detail.show(self.target())
        self._matches.count(only)
        self._lines.redraw()

    def on_filter_bar_opened(self, event: FilterBar.Opened) -> None:
        """Count the tasks that match."""
        event.stop()
        self._matches.count(self.only)

    def on_filter_bar_cleared(self, event: FilterBar.Cleared) -> None:
        """Show all tasks, with the cursor where it was before the filter unless it was moved since."""
        event.stop()
        has_turned = self.filter_actions.turn_back()
        goes_back = event.typing or has_turned or not self.row_list.rows_on_screen
        cursor = self.filter_actions.cursor_before if goes_back else self.row_list.cursor
        self.row_list.refilter(self._source(self.sort_actions.applied()), cursor)
        self._matches.stop()
        self.focus_rows()
        self._lines.redraw()
