"""The base of the list and the board: a cursor on a task, a filter, quick add, what keys do; and the detail of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Vertical
from typing_extensions import override

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.glyphs import sign
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import FAR, PRESS_AGAIN, LateController, RowMoves
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import ScrollLines, TextDrawing
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.filter_actions import FilterActions, SortActions
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.task_actions import TaskActions
from tui_tasks.tui.tasks.task_guards import UnreadTasks
from tui_tasks.tui.widgets.filter_bar import FilterBar
from tui_tasks.tui.widgets.screen_bases import Pane
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.core.snapshots import Task
    from tui_tasks.tui.tasks.add_actions import AddActions
    from tui_tasks.tui.tasks.detail_text import DetailText, TaskDetails
    from tui_tasks.tui.tasks.links import LinkActions
    from tui_tasks.tui.tasks.mark_actions import MarkActions
    from tui_tasks.tui.work.work_actions import WorkActions


class TaskPane(Pane):
    """A pane of tasks. Subclasses arrange its parts, and show the tasks that match a filter.

    Its cursor is on a task of the list that is shown, and goes along to another such pane.
    """

    row_list: VirtualList[Any]
    """The list that keys are about: rows of tasks by their uids."""
    detail: Detail

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        # Leads to the screen or the list from which a task was shown here; with that task, and whether it was in full.
        self._way_back: tuple[str | None, bool, Callable[[], None]] | None = None
        self.only: Filter = ALL
        """The filter that rows are read with."""
        self.unread = UnreadTasks(self)
        self.task_actions = TaskActions(self)
        self.mark_actions = LateController(self._make_mark_actions, "mark", "mark_all", may_refuse=False)
        self.add_actions = LateController(self._make_add_actions, "new", "new_above", may_refuse=False)
        self.filter_actions = FilterActions(self)
        of_work = ("work_start", "work_peek", "work_record", "work_end", "work_restore")
        self.work_actions = LateController(self._make_work_actions, *of_work)
        self.sort_actions = SortActions(self)
        self.controllers = (
            RowMoves(lambda: self.row_list),
            self.task_actions,
            self.mark_actions,
            self.add_actions,
            self.filter_actions,
            self.sort_actions,
            LateController(self._make_link_actions, "open_links"),
            self.work_actions,
        )
        self.filter_bar = FilterBar(self.context, self.filter_actions.completions)
        self.quick_add = QuickAdd(context, self.filter_actions.completions)

    def _make_mark_actions(self) -> MarkActions:
        from tui_tasks.tui.tasks.mark_actions import MarkActions

        return MarkActions(self)

    def _make_add_actions(self) -> AddActions:
        from tui_tasks.tui.tasks.add_actions import AddActions

        return AddActions(self)

    def _make_work_actions(self) -> WorkActions:
        from tui_tasks.tui.work.work_actions import WorkActions

        return WorkActions(self)

    def _make_link_actions(self) -> LinkActions:
        from tui_tasks.tui.tasks.links import LinkActions

        return LinkActions(self)

    # For subclasses

    def show_matching(self, only: Filter) -> None:
        """Show the tasks that match a filter."""
        raise NotImplementedError

    def nearby(self) -> Iterable[TaskLine]:
        """Return the tasks whose tags and domains are offered for completion."""
        raise NotImplementedError

    def marks_changed(self) -> None:
        """Draw tasks again that are not new to the human any more."""
        raise NotImplementedError

    def show_in_full(self) -> None:
        """Show the task under the cursor in full."""
        raise NotImplementedError

    def uncover(self) -> None:
        """Close a detail that is shown instead of rows, filter and quick add."""
        raise NotImplementedError

    def show_added(self, uid: str) -> None:
        """Put the cursor on a task that the human has added, which keys may change at once."""
        self.unread.landing.forget()
        if not self.row_list.move_to(uid):
            self.context.say("Added; the filter hides it.")

    # What actions act on

    @override
    def action_act(self, id: str) -> None:
        """Change no task that came under the cursor just now by itself, move none on whose status somebody else has set
        just now; what is typed on for it presses no keys.
        """
        action = ACTIONS[id]
        if action.moves:
            self.unread.landing.forget()
        why = self.unread.why_too_early(action)
        if not why:
            super().action_act(id)
            return
        refused = f"{why}: {PRESS_AGAIN}"
        if action.takes_words:
            self.context.words.expect_words(refused, id, keeps=action.takes_text)
        else:
            self.context.words.expect_more(id, refused)
        self.context.say(refused)

    def do_open(self) -> None:
        """Review the work that waits for it, else show the detail, or go into it."""
        if not (self._opens_review and self.work_actions.made.open_review()):
            self.show_in_full()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """Do as Enter does, on a double click."""
        event.stop()
        self.do_open()

    def target(self) -> str | None:
        """Return the uid of the task under the cursor."""
        return self.row_list.cursor

    def mark_opened(self) -> None:
        """Count the task under the cursor as seen, as the human has opened it."""
        uid = self.target()
        if uid is not None and not self.context.link.read_only and self.context.state.seen.read(uid):
            self.marks_changed()
            self.context.redraw_frame()

    def remember_cursor(self) -> None:
        """Keep the task under the cursor for the next time that the list is shown, also after a restart."""
        if (row := self.row_list.row) is not None:
            self.context.state.cursors.pop(row.list_id, None)
            self.context.state.cursors[row.list_id] = row.uid

    def selection(self) -> list[str]:
        """Return the uids of the marked tasks, else of the task under the cursor."""
        target = self.target()
        return self.row_list.marks or ([target] if target is not None else [])

    @override
    def shows(self, kind: str) -> bool:
        return not kind.startswith("job.")

    @property
    @override
    def is_busy(self) -> bool:
        return self.quick_add.is_open or self.filter_bar.is_open or bool(self.row_list.marks)

    @override
    def footer(self, small: bool) -> tuple[str, ...]:
        """The key that opens a task comes first where it opens the review of its work."""
        ids = super().footer(small)
        return ("open", *ids) if self._opens_review else ids

    @override
    def short(self, action: Action) -> str:
        if action.id == "note" and self.task_actions.writes_to_agent:
            return "Message"
        return "Review" if action.id == "open" and self._opens_review else super().short(action)

    @property
    def _opens_review(self) -> bool:
        return self.target() in self.context.state.works.reviewable

    def focus_rows(self) -> None:
        """Focus the rows, before the next key is handled; the foot shows their keys."""
        self.screen.set_focus(self.focus_target())
        self.context.redraw_feet()

    @override
    def lay_way_back(self, go: Callable[[], None]) -> None:
        self._way_back = self.target(), self.is_inside, go

    @property
    def has_way_back(self) -> bool:
        """Whether Back from the task under the cursor leads elsewhere."""
        return self._way_back is not None and self._way_back[0] == self.target()

    @override
    def left(self) -> None:
        self._way_back = None

    def take_way_back(self, *, was_inside: bool) -> bool:
        """Go back to the screen or the list from which the task under the cursor was shown, if it was shown so."""
        if self._way_back is None or self._way_back[1] != was_inside or not self.has_way_back:
            return False
        (*_, go), self._way_back = self._way_back, None
        go()
        return True

    def leave_rows(self) -> None:
        """Leave one layer of the rows: marks, the filter, a list that was gone to; else say how they are sorted."""
        if self.row_list.marks:
            self.mark_actions.made.unmark_all()
        elif self.filter_bar.is_open:
            self.filter_bar.clear()
        elif not self.take_way_back(was_inside=False):
            self.sort_actions.say_order()

    # The filter and quick add

    def list_turned(self) -> None:
        """Handle that a key has turned to another list: a filter that names a list does not apply to it."""
        if self.filter_bar.names_list:
            self.filter_bar.clear()

    @override
    def filter_by(self, text: str) -> None:
        self.filter_actions.open(text, kept=True)

    async def take_filter(self, other: TaskPane) -> None:
        """Show the matches of the filter of another pane of tasks: list and board have one filter."""
        if other.filter_bar.text != self.filter_bar.text:
            self.filter_actions.follow(other.filter_actions)
            parsed = await self.filter_bar.take(other.filter_bar.text)
            self.show_matching(self.sort_actions.applied(self.filter_actions.filter_of(parsed)))

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Show the matching tasks."""
        event.stop()
        self.show_matching(self.sort_actions.applied(self.filter_actions.filter_of(event.parsed)))

    def on_filter_bar_submitted(self, event: FilterBar.Submitted) -> None:
        """Return to the rows, with the filter."""
        event.stop()
        self.focus_rows()

    def on_filter_bar_save(self, event: FilterBar.Save) -> None:
        """Save the filter under a name."""
        event.stop()
        self.filter_actions.save(event.text)

    def on_quick_add_add(self, event: QuickAdd.Add) -> None:
        """Add what was typed."""
        event.stop()
        self.add_actions.made.add_typed(event)

    def on_quick_add_closed(self, event: QuickAdd.Closed) -> None:
        """Return to the rows."""
        event.stop()
        self.focus_rows()


class Detail(ResilientMessages, Vertical, NoRelayout):
    """Shows one task below a rule with its title and facts. `brief`: in a few lines; `is_beside`: it stands beside
    something else, so its head is no rule.
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context
        # Made for the first task: an empty list, or a small screen, is painted without.
        self._drawing: DetailText | None = None
        self._head = FrameLine(context, self._title, self._state, id="detail-head")
        self.text = ScrollLines(context, TextDrawing(context), id="detail-text")
        self.brief = False
        self.is_beside = False
        self._details: TaskDetails | None = None
        self.uid: str | None = None
        """The uid of the task that is shown or about to be read."""
        self._is_reading = False
        self._is_outdated = False

    def compose(self) -> ComposeResult:
        """Compose head and text."""
        yield self._head
        yield self.text

    def _title(self, width: int) -> Sequence[Part]:
        """`─ #5 Ship auth flow · claude-1 · started 14m ago · !high #auth ─── ◐ in progress ─`; `>` begins it where the
        keys go to the text and there are rows beside it.
        """
        details, drawing = self._details, self._drawing
        is_here = self.has_focus_within and (self.brief or self.is_beside)
        cursor: Part | None = (sign("cursor"), "$key") if is_here else None
        if details is None or drawing is None:
            return () if self.is_beside else rule_parts(self.context, width)
        head, _ = drawing.head_and_rest(details, width, self._head.lasts)
        if self.is_beside:
            return [cursor or (" ", ""), *head]
        rule = rule_parts(self.context, width, head, [drawing.state_of(details)])
        return [cursor, (" ", ""), *rule[1:]] if cursor is not None else rule

    def _state(self, width: int) -> Sequence[Part]:
        if self._details is None or self._drawing is None or not self.is_beside:
            return ()
        return [(" ", ""), self._drawing.state_of(self._details), (" ", "")]

    def show(self, uid: str | None) -> None:
        """Show another task soon; of several calls in a row, only the last one reads."""
        if uid == self.uid:
            return
        self.uid = uid
        if not self._is_reading:
            self._is_reading = self.call_later(self.read)

    def changed(self, changes: StateChanges) -> None:
        """Read the task again if the changes touch what is shown."""
        if self._details is None or self._details.is_outdated_by(changes):
            self.read()

    def redraw(self) -> None:
        """Draw again."""
        drawing, details = self._drawing, self._details
        if drawing is not None:
            if drawing.links is None and details is not None and details.task.links:
                from tui_tasks.tui.tasks.links import LinkLines  # few tasks have links

                drawing.links = LinkLines(self.context, self, self.text.redraw)
            if drawing.links is not None:
                drawing.links.read(details.task if details is not None else None)
            drawing.brief, drawing.is_beside, drawing.details = self.brief, self.is_beside, details
        self._head.redraw()
        self.text.redraw()

    def on_descendant_focus(self) -> None:
        """Show that the keys go to the text."""
        self._head.redraw()

    def on_descendant_blur(self) -> None:
        """Show that the keys go elsewhere."""
        self._head.redraw()

    def focus_text(self) -> None:
        """Focus the text, to scroll it."""
        self.screen.set_focus(self.text)

    def read(self) -> None:
        """Read the task again, once there is room for it."""
        self._is_reading = False
        self._is_outdated = not self.size.width
        if not self._is_outdated:
            self.show_now(self.uid)

    def show_now(self, uid: str | None) -> None:
        """Read and show a task now, even before the first layout."""
        self.uid = uid
        was = self._details.task.uid if self._details else None
        task = task_queries.any_task(self.context.db, self.uid) if self.uid else None
        line = list_pages.line(self.context.db, task.uid) if task is not None else None
        self._details = self._read_details(task, line) if task and line and not task.deleted else None
        if (self._details.task.uid if self._details else None) != was:
            self.text.scroll_rows(-FAR)
        self.redraw()

    def _read_details(self, task: Task, line: TaskLine) -> TaskDetails:
        from tui_tasks.tui.tasks.detail_text import DetailText, TaskDetails

        if self._drawing is None:
            self._drawing = DetailText(self.context)
            self.text.draw_by(self._drawing)
        return TaskDetails(self.context, task, line)

    def on_resize(self) -> None:
        """Draw; read the task first if it was not read for lack of room, as while another pane is shown."""
        if self._is_outdated or self._details is None or self._details.task.uid != self.uid:
            self.read()
        else:
            self.redraw()
