"""A task in full: beside the list, below it, or in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.glyphs import sign
from tui_tasks.tui.keys.actions import FAR
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import ScrollLines, TextDrawing
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.core.snapshots import Task
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.tasks.detail_text import DetailText, TaskDetails


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
        self._uid: str | None = None
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

    @property
    def uid(self) -> str | None:
        """The uid of the task that is shown or about to be read."""
        return self._uid

    def show(self, uid: str | None) -> None:
        """Show another task soon; of several calls in a row, only the last one reads."""
        if uid == self._uid:
            return
        self._uid = uid
        if not self._is_reading:
            self._is_reading = self.call_later(self._read)

    def changed(self, changes: StateChanges) -> None:
        """Read the task again if the changes touch what is shown."""
        if self._details is None or self._details.is_outdated_by(changes):
            self._read()

    def refreshed(self) -> None:
        """Read the task again, as anything may have changed while it was not on screen."""
        self._read()

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

    def _read(self) -> None:
        self._is_reading = False
        self._is_outdated = not self.size.width
        if not self._is_outdated:
            self.show_now(self._uid)

    def show_now(self, uid: str | None) -> None:
        """Read and show a task now, even before the first layout."""
        self._uid = uid
        was = self._details.task.uid if self._details else None
        task = task_queries.any_task(self.context.db, self._uid) if self._uid else None
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
        if self._is_outdated or self._details is None or self._details.task.uid != self._uid:
            self._read()
        else:
            self.redraw()
