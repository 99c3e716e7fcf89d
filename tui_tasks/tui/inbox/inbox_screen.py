"""The inbox: all that needs the human in one list, the most urgent kind first, each kind from the oldest; and the row
under the cursor in full.

Of an agent that asks many questions, only the oldest have a line each. Each other kind of row has a source.

An answer always goes to the question under the cursor, and the cursor then to the question that takes its place. A key
pressed late could answer that one: no key acts on it before it has stood on screen. A question that is answered
elsewhere or withdrawn stays under the cursor and shows that, until the human goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.unjournaled import local_values
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.app.list_actions import ProjectActions
from tui_tasks.tui.asks.answer_keys import LOOK_SECONDS, NumberKeys, Reading
from tui_tasks.tui.asks.ask_answers import AskAnswers
from tui_tasks.tui.asks.ask_detail import AskDetail, folded_lines
from tui_tasks.tui.asks.ask_views import AskedTasks, AskViews, UnsentAnswers
from tui_tasks.tui.asks.reply_input import Reply
from tui_tasks.tui.inbox.failure_rows import FailedChecks, FailedJobs, FailedTasks
from tui_tasks.tui.inbox.held_tasks import HeldTasks
from tui_tasks.tui.inbox.inbox_keys import RowActions, inbox_hints
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLines, RowSource
from tui_tasks.tui.inbox.inbox_rows import InboxList, InboxRows
from tui_tasks.tui.inbox.questions import Questions
from tui_tasks.tui.inbox.row_sources import LeftTasks, StuckAgents, WorkToReview
from tui_tasks.tui.inbox.rows_and_detail import DetailHeading, ListedRows, PageKeys, RowsAndDetail, RowsRead
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextLines
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.needs_lines import ROWS_AND_DETAIL
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

KEPT: Final = local_values.INBOX
_PUT_OFF: Final = "Put off for an hour, behind all others. {undo} takes it back."
# The lines below the head that are neither of the list nor of the detail: a rule, and the foot with a blank line.
_AROUND: Final = 3


class Inbox(Overlay):
    """The screen. `listed`: what waits, and the question under the cursor even when it has been closed."""

    NAME = "inbox"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "inbox", "agents")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Inbox.-narrow #inbox-title, Inbox.-short #inbox-title,
    Inbox #inbox-rule { display: none; }
    """

    def __init__(self, context: Context, first: str | None = None, words: str = "") -> None:
        """`first` is the key of the row on which the cursor starts: the uid of a question, or that of another need;
        `words` hide other rows.
        """
        super().__init__(context)
        self._first = first
        sources = self._make_sources()
        self.sources: Mapping[str, RowSource[Any]] = {source.KIND: source for source in sources}
        # Read here, since a key may leave before the screen is mounted, and keeps what is known then.
        self.unsent = UnsentAnswers(local_values.get(context.db, KEPT) or {})
        self.tasks = AskedTasks(context)
        self._lines = InboxLines(context, self.sources, self.tasks)
        self.listed = self._lines.listed
        views = AskViews(context, self.tasks, self.unsent, self._request_comes)
        self._drawing = InboxRows(context, self.listed, self.tasks, self.sources)
        self.window = InboxList(context, self._drawing)
        self.rows = ListedRows(
            self._lines, self._drawing, self.window, self._room, lambda asks: self._rows_read.listed(asks)
        )
        self.rows.filter_by(words)
        self._head = ScreenHead(context, self._title, id="inbox", kinds=lambda: (), below=ROWS_AND_DETAIL)
        self._asked = AskDetail(context, self.tasks, lambda: self._both.room)
        for source in sources:
            source.lasts = self._asked.lasts
            source.open_task = self.open_task
        self._detail = TextLines(context, self._asked, id="ask-detail")
        self._heading = DetailHeading(context, self.tasks, self.sources, self._drawing, lambda: self._asked.meanwhile)
        self._both = RowsAndDetail(context, self.window, self._detail, self._heading.rule)
        self.reading = Reading(context)
        self._rows_read = RowsRead(self.reading, self.sources, self.window, self._both)
        agents_here = AgentActions(context, self.rows.agent_here, self._agent_has_stood)
        self._reply = Reply(context, self._why_not_sent, self.unsent.drafts, id="reply")
        self.questions = Questions(
            context,
            self.rows,
            views,
            self.unsent,
            self.reading,
            self._both,
            self._asked,
            self._reply,
            show=self._show,
        )
        self._answers = AskAnswers(self, self.questions, self._reply)
        self.controllers = (
            self._answers,
            NumberKeys(context, lambda: self.questions.view, self._answers, self.questions.pick),
            *sources,
            RowActions(self),
            agents_here,
            PageKeys(self._both),
            RowMoves(lambda: self.window),
            ProjectActions(context),
        )
        # The row that was under the cursor before.
        self._under: str | None = None

    def _make_sources(self) -> Sequence[RowSource[Any]]:
        """Return the kinds of rows beside questions, the most urgent first."""
        each = self.context, lambda: self.item, lambda item: self._rows_read.has_stood(item)
        return (
            FailedChecks(*each),
            HeldTasks(*each, lambda: self.rows.marked(), self._read_again, lambda: self._both.show_beginning()),
            WorkToReview(*each, self._files_come),
            LeftTasks(*each),
            StuckAgents(*each),
            FailedTasks(*each),
            FailedJobs(*each),
        )

    def compose(self) -> ComposeResult:
        """Compose head, rows, the detail of the one under the cursor, and the input for an answer."""
        yield from self._head.compose()
        yield self._both
        yield self._reply
        yield FootLine(self.context, id="foot")

    def _title(self, width: int) -> Sequence[Part]:
        return [*self._lines.title(len(self.window.marks)), *self.context.state.projects.alone_parts()]

    def on_mount(self) -> None:
        """Read the rows; the cursor is on the oldest question that was not put off."""
        self._lines.unfold_of(self._first)
        self.questions.take_up()
        self.rows.read()
        first = next((line.uid for line in self.listed.rows if not self._lines.is_put_off(line)), None)
        self.window.show(self.listed, first if self.listed.get(self._first) is None else self._first)
        self.rows.fit()
        self.window.focus()
        for what in ("scroll_y", "virtual_size"):
            self.watch(self._both.scroll, what, self._paint_soon, init=False)
        self.set_interval(LOOK_SECONDS, self._look)
        self._show()

    def on_resize(self) -> None:
        """Draw again what depends on the size."""
        self.rows.redraw()
        self._show()

    def _room(self) -> int:
        """Return how many lines rows and detail have together."""
        return self.app.size.height - self._head.height(self.app.size) - _AROUND

    # State

    @property
    def ask(self) -> Ask | None:
        """The question that keys act on."""
        return self.questions.here

    @property
    def item(self) -> InboxItem | None:
        """The row under the cursor that is no question."""
        return self.rows.item

    @property
    def is_replying(self) -> bool:
        """Whether an answer is being typed."""
        return self._reply.is_open

    def marks_changed(self) -> None:
        """Draw again how many rows are marked."""
        self._head.redraw()

    def _why_not_sent(self, uid: str) -> str | None:
        return self._answers.why_not_sent(self.questions.view_of(ask_queries.ask(self.context.db, uid)))

    def _look(self) -> None:
        """Draw again where a program has stopped waiting for the answer, and what was put off for long enough."""
        if self.questions.take_up():
            self._refilter(self.window.cursor)
            self.window.redraw()
        elif self.questions.view != self.questions.drawn:
            self._show()

    def _paint_soon(self) -> None:
        self.call_after_refresh(self._note_painted)

    def _note_painted(self) -> None:
        # What changes below a dialog cannot be read.
        if self.is_active and self.is_open:
            was_to_read = self.questions.is_to_read
            self._both.painted()
            self._rows_read.painted(self.item, self.questions.drawn, self._asked)
            if self.questions.is_to_read != was_to_read:
                self.hints_again()

    def _agent_has_stood(self) -> bool:
        if self.item is not None:
            return self._rows_read.has_stood(self.item)
        view = self.questions.view
        return view is None or view.ask.state != "open" or self.reading.has_stood(view.version)

    def shown_asks(self, agent: str) -> list[str]:
        """Return the uids of an agent's questions that were listed for long enough when the key was pressed."""
        own = [ask.uid for ask in self.context.state.asks if ask.agent == agent]
        return [uid for uid in own if self._rows_read.was_listed(uid)]

    def on_screen_resume(self) -> None:
        """Note what can be read again."""
        self._paint_soon()

    def changed(self, changes: StateChanges) -> None:
        """Update after questions were asked, answered elsewhere or withdrawn; typed text stays."""
        if changes.all or self.tasks.holds_any(changes.tasks()):
            self.tasks.forget()
            self.window.redraw()
        self._read_again()

    def agents_changed(self) -> None:
        """Update after an agent has come, gone or got stuck, or another screen has put a question off."""
        self.window.redraw()
        self._read_again()

    def all_seen(self) -> None:
        """Update after something was dismissed or brought back: the cursor goes to a question that waits again."""
        again = self.questions.waiting_again()
        if again is not None:
            self._refilter(again)
        self._read_again()

    def _request_comes(self) -> None:
        """Draw a request that has been read whole."""
        if self.is_open:
            self._show()

    def _files_come(self) -> None:
        """Draw the files of a work that have been read."""
        if self.is_open:
            self._drawing.fit()
            self.rows.redraw()
            self._show()

    def _read_again(self) -> None:
        """Read and draw the rows again."""
        marks = len(self.window.marks)
        self.rows.change(self.ask)
        if len(self.window.marks) < marks:
            self._rows_read.marks_lost()
        self._show()

    def on_virtual_list_scrolled(self) -> None:
        """Note which rows can be read now."""
        self._paint_soon()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Drop a closed question and close the input, as the cursor has moved elsewhere."""
        reply = self._reply
        is_by_hand = self.questions.moved_to(event.key)
        if is_by_hand and self._under not in (None, event.key) and self.listed.get(self._under) is not None:
            self.context.say("")  # it was about the question before, and hides the keys of this one
        if reply.is_open and reply.uid != event.key:
            reply.close()
        left, self._under = self.listed.get(self._under), event.key
        if isinstance(left, Ask) and left.state != "open" and left.uid != event.key:
            self.rows.change(self.ask)
        # At once: the scroll position belongs to the question shown before.
        self._both.show_beginning()
        self._show_row()

    def _show(self) -> None:
        self._show_row()
        self._head.redraw()

    def _show_row(self) -> None:
        ask, item, folded = self.ask, self.item, self.rows.folded
        lines = partial(self._item_lines, item) if item is not None else None
        if folded is not None:
            lines = partial(folded_lines, folded, ascii_only=self.context.ascii_only)
        self.questions.drawn = self.questions.view
        self._asked.put(
            self.questions.drawn,
            other=lines,
            task=self._task_of(ask, item),
            draft=ask is not None and ask.uid in self.unsent.drafts,
        )
        self._heading.put(self.rows.here)
        self._both.redraw()
        self._paint_soon()
        self._reply.show_state(ask)
        self.hints_again()

    def _task_of(self, ask: Ask | None, item: InboxItem | None) -> str | None:
        """Return the uid of the task that a row is about."""
        if ask is not None:
            return self.context.state.asked_about.get(ask.uid)
        return item.need.task if item is not None else None

    def _item_lines(self, item: InboxItem, room: int) -> list[Drawn]:
        return self.sources[item.kind].lines(item.row, room, self._heading.is_whole(room))

    def hints_again(self) -> None:
        """Show at the foot the keys for the row under the cursor, or for the input."""
        self.hint(*(self._reply.hints if self._reply.is_open else inbox_hints(self)))

    # Actions

    def put_off(self, ask: Ask) -> None:
        """Put a question off for an hour, behind all others, and go to the next; take it up again when it was put
        off.
        """
        is_off = self.questions.put_off(ask)
        wanted = self.questions.next_after(ask) if is_off else ask.uid
        if wanted is None:
            self.do_back()
        else:
            self._refilter(wanted)
        if is_off:
            # A move of the cursor takes messages away.
            words = _PUT_OFF.format(undo=self.context.keymap.key_of("undo"))
            self.app.call_after_refresh(self.context.say, words)

    def unfold(self, folded: FoldedAsks) -> None:
        """List each of the folded questions."""
        self._lines.unfold(folded)
        self._refilter(folded.asks[0].uid)

    def do_back(self) -> None:
        """Go back to the pane; what was typed half is kept."""
        reply = self._reply
        if reply.is_open:
            reply.close()
            return
        if self.rows.filter:
            self.filter_by("")
            return
        if self.window.marks:
            self.window.clear_marks()
            self._head.redraw()
            return
        super().do_back()

    @override
    def left(self) -> None:
        """Keep what was typed half."""
        if self._reply.is_open:
            self._reply.close()
        kept = self.unsent.to_keep({ask.uid for ask in self.context.state.asks})
        if kept != (UnsentAnswers({}).to_keep(set()) | (local_values.get(self.context.db, KEPT) or {})):
            self.context.run(self.context.link.remember(KEPT, kept))

    def open_task(self, uid: str) -> None:
        """Show a task in full; Back leads to a screen that shows the same as this one."""
        cursor, words = self.window.cursor, self.rows.filter
        self.context.navigation.open_task(uid, lambda: Inbox(self.context, cursor, words))

    def filter_by(self, text: str) -> None:
        """List only the rows that contain each of these words."""
        self.rows.filter_by(text)
        self._refilter(self.window.cursor)

    def _refilter(self, cursor: str | None) -> None:
        self.rows.refilter(cursor)
        self._show()

    def go_to_next(self) -> None:
        """Go to the next row that was not put off; without one, back to the pane."""
        wanted = self._lines.next_after(self.window.cursor)
        if wanted is None:
            self.do_back()
        else:
            self.window.move_to(wanted)

    def on_reply_given(self, event: Reply.Given) -> None:
        """Send the typed answer."""
        self._answers.send_reply(event)

    def on_reply_closed(self, event: Reply.Closed) -> None:
        """Give the keys back to the screen."""
        self.window.focus()
        self._show()
