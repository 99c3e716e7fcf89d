"""The base of the list and the board: a cursor on a task, a filter, quick add and a detail, and the actions that its
keys perform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import PRESS_AGAIN, LateController, RowMoves
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.filter_actions import FilterActions, SortActions
from tui_tasks.tui.tasks.landing import UnreadTasks
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.task_actions import TaskActions
from tui_tasks.tui.tasks.task_detail import Detail
from tui_tasks.tui.widgets.screen_bases import Pane

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.add_actions import AddActions
    from tui_tasks.tui.tasks.links import LinkActions
    from tui_tasks.tui.tasks.mark_actions import MarkActions
    from tui_tasks.tui.work.work_actions import WorkActions


class TaskPane(Pane):
    """A pane of tasks. Subclasses arrange its parts, and show the tasks that match a filter."""

    HAS_TASKS = True

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
            self.marks_changed({uid})
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
        return self.target() in self.context.state.reviewable

    def focus_rows(self) -> None:
        """Focus the rows, before the next key is handled; the foot shows their keys."""
        self.screen.set_focus(self.focus_target())
        self.context.redraw_feet()

    @override
    def lay_way_back(self, go: Callable[[], None]) -> None:
        self._way_back = self.target(), self.is_inside, go

    @property
    @override
    def has_way_back(self) -> bool:
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

    @override
    def list_turned(self) -> None:
        if self.filter_bar.names_list:
            self.filter_bar.clear()

    @override
    def filter_by(self, text: str) -> None:
        self.filter_actions.open(text, kept=True)

    @override
    async def take_filter(self, other: Pane) -> None:
        if isinstance(other, TaskPane) and other.filter_bar.text != self.filter_bar.text:
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
