"""The inbox: all that needs the human, the most urgent kind first, each kind from the oldest.

Questions stand together by agent (docs: protocol, section 7, `ask`). Each other kind of row has a source.

An answer always goes to the question under the cursor. A question that is answered elsewhere or withdrawn stays under
the cursor and shows that, until the human goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import ask_queries, views
from tui_tasks.core.read.agents import activity
from tui_tasks.hooks.replies.outbox import why_unanswerable
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.agents.answering import LOOK_SECONDS, AskView, Given, OptionKeys, Reading, WholeRequests
from tui_tasks.tui.app.list_actions import ProjectActions
from tui_tasks.tui.inbox.ask_answers import AskAnswers, Reply, UnsentAnswers
from tui_tasks.tui.inbox.ask_detail import AskDetail, PageKeys, RowsAndDetail, RowsRead
from tui_tasks.tui.inbox.ask_rows import (
    AskedTasks,
    AskGroups,
    FoldedAsks,
    InboxItem,
    InboxLine,
    InboxRows,
    RowSource,
    number_waiting,
    says,
    totals,
)
from tui_tasks.tui.inbox.held_tasks import HeldTasks
from tui_tasks.tui.inbox.inbox_keys import RowActions, inbox_hints
from tui_tasks.tui.inbox.row_kinds import FailedChecks, LeftTasks, StuckAgents, WorkToReview
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.line_painter import FrameLine, rule
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import RowMoves, VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets import frame
from tui_tasks.tui.widgets.bases import Overlay
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.work import terminal

KEPT: Final = "inbox"
"""Under this key `views` keeps what was put off, and answers typed half."""


class Inbox(Overlay):
    """The screen. `listed`: what waits, and the question under the cursor even when it has been closed."""

    NAME = "inbox"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "inbox", "agents")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Inbox #asks { height: 30%; min-height: 3; }
    Inbox.-wide.-tall #asks { width: 11fr; height: 1fr; }
    Inbox.-narrow #asks, Inbox.-short #asks { height: 1; min-height: 1; }
    Inbox.-narrow #inbox-head, Inbox.-short #inbox-head { display: none; }
    Inbox.-narrow #under-head, Inbox.-short #under-head { display: none; }
    """

    def __init__(self, context: Context, ask: str | None = None) -> None:
        """`ask` is the uid of the question on which the cursor starts."""
        super().__init__(context)
        self._first = ask
        self._groups = AskGroups()
        self.listed: InMemorySource[InboxLine] = InMemorySource(lambda line: line.uid, self._order)
        sources = self._make_sources()
        self.sources: Mapping[str, RowSource[Any]] = {source.KIND: source for source in sources}
        # Read here, since a key may leave before the screen is mounted, and keeps what is known then.
        self.unsent = UnsentAnswers(views.get(context.db, KEPT) or {})
        self.tasks = AskedTasks(context)
        self._drawing = InboxRows(context, self.listed, self.tasks, self.unsent.later, lambda: self.small, self.sources)
        self.window = VirtualList(context, self._drawing, id="asks")
        self._head = FrameLine(context, self._title, self._totals, id="inbox-head")
        self._asked = AskDetail(context, lambda: frame.is_wide(self.size))
        self._detail = TextLines(context, self._asked, id="ask-detail")
        self._both = RowsAndDetail(context, self.window, self._detail)
        self.reading = Reading(context)
        self._rows_read = RowsRead(self.reading, self.sources, self.window, self._both)
        agents_here = AgentActions(context, self.agent_here)
        self._answers = AskAnswers(self, agents_here)
        self._reply = Reply(context, self._why_not_sent, self.unsent.drafts, id="reply")
        self.controllers = (
            self._answers,
            OptionKeys(
                context,
                lambda: self.view,
                self._answers.give,
                self._answers.why_not,
                self.pick,
                self._answers.takes_key,
            ),
            *sources,
            RowActions(self),
            agents_here,
            PageKeys(self._both),
            RowMoves(lambda: self.window),
            ProjectActions(context),
        )
        self._under: str | None = None
        self._wholes = WholeRequests(context, self._show)
        # What is drawn.
        self._shown: AskView | None = None

    def _make_sources(self) -> Sequence[RowSource[Any]]:
        """Return the kinds of rows beside questions, the most urgent first."""

        def here() -> InboxItem | None:
            return self.item

        context = self.context
        return (
            LeftTasks(context, here, self._has_stood),
            StuckAgents(context, here, self._has_stood),
            FailedChecks(context, here, self._has_stood),
            WorkToReview(context, here, self._has_stood),
            HeldTasks(
                context,
                here,
                self._has_stood,
                self._marked,
                self._read_again,
                lambda: self._both.show_beginning(),
            ),
        )

    def compose(self) -> ComposeResult:
        """Compose head, questions, the detail of the one under the cursor, and the input for an answer."""
        yield self._head
        yield rule(self.context, id="under-head")
        yield self._both
        yield self._reply
        yield FootLine(self.context, id="foot")

    def _title(self, width: int) -> Sequence[Part]:
        """` Needs you   2 waiting, most urgent first`."""
        waiting = number_waiting(self.listed.rows)
        words = f"{waiting} waiting{', most urgent first' if waiting > 1 else ''}" if waiting else "nothing waits"
        if self._drawing.filter:
            words += f', with "{safe_line(self._drawing.filter, 20)}"'
        if marked := len(self.window.marks):
            words += f", {marked} marked"
        return [(" Needs you", "bold"), (f"   {words}", "$muted"), *self.context.state.projects.alone_parts()]

    def _totals(self, width: int) -> Sequence[Part]:
        """`Tab 2 questions  1 failed`: how many there are of each kind, if there are several kinds and room."""
        key, words = self.context.keymap.key_of("inbox_part"), totals(self.listed.rows, self.sources)
        if not words or len(words) > width - 50:
            return ()
        return [(f"{key} ", "$key bold"), (f"{words} ", "$state-needs-you")]

    def on_mount(self) -> None:
        """Read the questions; the cursor is on the oldest question that was not put off."""
        named = next((ask for ask in self._asks() if ask.uid == self._first), None)
        if named is not None:
            self._groups.unfold(named.agent)
        self.listed.replace(self._lines())
        first = next((ask.uid for ask in self.listed.rows if ask.uid not in self.unsent.later), None)
        self.window.show(self.listed, first if self.listed.get(self._first) is None else self._first)
        self.window.focus()
        self.watch(self._both.scroll, "scroll_y", self._paint_soon, init=False)
        self.set_interval(LOOK_SECONDS, self._look)
        self._show()

    def on_resize(self) -> None:
        """Draw the foot line again, which depends on the width."""
        self.window.again()
        self._show()

    # State

    @property
    def ask(self) -> Ask | None:
        """The question that keys act on."""
        line = self.listed.get(self.window.cursor)
        return line if isinstance(line, Ask) else None

    @property
    def item(self) -> InboxItem | None:
        """The row under the cursor that is no question."""
        line = self.listed.get(self.window.cursor)
        return line if isinstance(line, InboxItem) else None

    @property
    def filter(self) -> str:
        """The words that hide other rows."""
        return self._drawing.filter

    @property
    def is_replying(self) -> bool:
        """Whether an answer is being typed."""
        return self._reply.is_open

    def marks_changed(self) -> None:
        """Draw again how many rows are marked."""
        self._head.again()

    @property
    def row(self) -> Any:
        """What the source of the row under the cursor has read."""
        return self.item.row if self.item is not None else None

    @property
    def folded(self) -> FoldedAsks | None:
        """The folded questions under the cursor."""
        line = self.listed.get(self.window.cursor)
        return line if isinstance(line, FoldedAsks) else None

    @property
    def view(self) -> AskView | None:
        """The question that keys act on, as it is shown."""
        return self.view_of(self.ask) if self.ask is not None else None

    def view_of(self, ask: Ask) -> AskView:
        """Return a question as it is shown now."""
        why = why_unanswerable(self.context.db, ask) if ask.state == "open" else None
        whole = self._wholes.of(ask) if why is None else None
        task = self.tasks.of(ask)
        return AskView(
            ask,
            whole,
            self.unsent.given.get(ask.uid, ()),
            why,
            self.unsent.picked.get(ask.uid, frozenset()),
            about=task.name if task is not None else "",
            edited=self.unsent.edited.get(ask.uid),
        )

    def is_read(self, ask: Ask) -> bool:
        """Return whether a question has been shown to its end."""
        return self.reading.is_read(self.view_of(ask).version)

    def pick(self, view: AskView, option: int) -> None:
        """Choose an option of a question that takes several, or choose it no longer."""
        self.unsent.pick(view.ask.uid, option)
        self._show()

    def edit(self, ask: Ask, given: dict[str, Any]) -> None:
        """Show what the human gives a tool in place of what it asked for."""
        self.unsent.edited[ask.uid] = given
        self._both.show_beginning()
        self._show()

    def ask_next(self, ask: Ask, given: tuple[Given, ...]) -> None:
        """Ask the next of several questions, or one before it again, after these answers."""
        self.unsent.go_on(ask.uid, given)
        self.context.say("")
        if self._reply.is_open:
            self._reply.close()
        self._both.show_beginning()
        self._show()

    def forget(self, ask: Ask) -> None:
        """Drop what is held of a question that was answered."""
        self.unsent.forget(ask.uid)
        self._wholes.forget(ask)

    def _why_not_sent(self, uid: str) -> str | None:
        return self._answers.why_not_sent(self.view_of(ask_queries.ask(self.context.db, uid)))

    def _look(self) -> None:
        """Draw again where a program has stopped waiting for the answer."""
        if self.view != self._shown:
            self._show()

    def _paint_soon(self) -> None:
        self.call_after_refresh(self._note_painted)

    def _note_painted(self) -> None:
        # What changes below a dialog cannot be read.
        if self.is_active and self.is_mounted:
            self._rows_read.painted(self.item, self._shown, self._asked)

    def _has_stood(self, item: InboxItem) -> bool:
        return self._rows_read.has_stood(item)

    def shown_asks(self, agent: str) -> list[str]:
        """Return the uids of an agent's questions that were listed for long enough when the key was pressed."""
        own = [ask.uid for ask in self.context.state.asks if ask.agent == agent]
        return [uid for uid in own if self._rows_read.was_listed(uid)]

    def on_screen_resume(self) -> None:
        """Note what can be read again."""
        self._paint_soon()

    def agent_here(self) -> str | None:
        """Return the agent of the row under the cursor."""
        line = self.listed.get(self.window.cursor)
        if isinstance(line, InboxItem):
            return line.who or None
        return line.agent if line is not None else None

    def changed(self, changes: StateChanges) -> None:
        """Update after questions were asked, answered elsewhere or withdrawn; typed text stays."""
        if changes.all or self.tasks.holds_any(changes.tasks()):
            self.tasks.forget()
            self.window.again()
        self._read_again()

    def agents_changed(self) -> None:
        """Update after an agent has come, gone or got stuck."""
        self._read_again()

    def _read_again(self) -> None:
        """Read and draw the rows again."""
        marks = len(self.window.marks)
        self.window.change(self._read())
        if len(self.window.marks) < marks:
            self._rows_read.marks_lost()
        self._show()

    def _order(self, line: InboxLine) -> tuple[Any, ...]:
        """Return what rows are sorted by: their urgency, then their age."""
        if isinstance(line, InboxItem):
            return line.rank, line.at, line.uid
        return 0, *self._groups.order(line)

    def _marked(self) -> list[Any]:
        """Return the marked rows as their source has read them."""
        lines = (self.listed.get(key) for key in self.window.marks)
        return [line.row for line in lines if isinstance(line, InboxItem)]

    def _lines(self) -> list[InboxLine]:
        """Read all rows that match the filter."""
        items = [item for source in self.sources.values() for item in source.items()]
        words = self._drawing.filter.casefold().split()
        asks = self._asks()
        self._rows_read.listed(asks)
        lines: list[InboxLine] = [*self._groups.lines(asks), *items]
        return [line for line in lines if all(word in says(line) for word in words)]

    def _asks(self) -> list[Ask]:
        projects = self.context.state.projects
        return [ask for ask in self.context.state.asks if projects.shows(projects.of_ask(ask))]

    def _read(self) -> set[str]:
        rows = self._lines()
        under = self.ask
        if under is not None and all(line.uid != under.uid for line in rows):
            # It may be missing when the database was replaced or the past is shown.
            with contextlib.suppress(NotFound):
                rows.append(ask_queries.ask(self.context.db, under.uid))
        return self.listed.replace(rows)

    def on_virtual_list_scrolled(self) -> None:
        """Note which rows can be read now."""
        self._paint_soon()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Drop a closed question and close the input, as the cursor has moved elsewhere."""
        reply = self._reply
        if self._under not in (None, event.key) and self.listed.get(self._under) is not None:
            self.context.say("")  # it was about the question before, and hides the keys of this one
        if reply.is_open and reply.uid != event.key:
            reply.close()
        left, self._under = self.listed.get(self._under), event.key
        if isinstance(left, Ask) and left.state != "open" and left.uid != event.key:
            self.window.change(self._read())
        # At once: the scroll position belongs to the question shown before.
        self._both.show_beginning()
        self._show()

    def _show(self) -> None:
        ask = self.ask
        task = self.tasks.of(ask) if ask is not None else None
        working = activity.working(self.context.db).get(ask.agent) if ask is not None else None
        agent = ask_queries.agent(self.context.db, ask.agent) if ask is not None else None
        is_begun = ask is not None and ask.uid in self.unsent.drafts
        self._shown = self.view
        self._asked.folded, item = self.folded, self.item
        self._asked.item_lines = None
        if item is not None:
            self._asked.item_lines = lambda width: self.sources[item.kind].lines(item.row, width)
        self._asked.put(self._shown, task, working, agent, draft=is_begun)
        self._detail.again()
        self._paint_soon()
        self._reply.show_state(ask)
        self._head.again()
        self.hints_again()

    def hints_again(self) -> None:
        """Show at the foot the keys for the row under the cursor, or for the input."""
        self.hint(*(self._reply.hints if self._reply.is_open else inbox_hints(self)))

    # Actions

    def put_off(self, ask: Ask) -> None:
        """Put a question off and go to the next; take it up again when it was put off."""
        later = self.unsent.later
        later ^= {ask.uid}
        self.window.again()
        if ask.uid in later:
            self.go_to_next()

    def is_for_terminal(self, ask: Ask) -> bool:
        """Return whether a question can be answered in its agent's terminal alone, and there is a way to that."""
        return self.view_of(ask).why_closed is not None and terminal.why_not(self.context, ask.agent) is None

    def unfold(self, folded: FoldedAsks) -> None:
        """List each of the folded questions."""
        self._groups.unfold(folded.agent)
        self.listed.replace(self._lines())
        self.window.refilter(self.listed, folded.asks[0].uid)
        self._show()

    def do_back(self) -> None:
        """Go back to the pane; what was put off and what was typed half is kept."""
        reply = self._reply
        if reply.is_open:
            reply.close()
            return
        if self._drawing.filter:
            self.filter_by("")
            return
        if self.window.marks:
            self.window.clear_marks()
            self._head.again()
            return
        kept = self.unsent.to_keep({ask.uid for ask in self.context.state.asks})
        if kept != (UnsentAnswers({}).to_keep(set()) | (views.get(self.context.db, KEPT) or {})):
            self.context.run(self.context.link.remember(KEPT, kept))
        super().do_back()

    def filter_by(self, text: str) -> None:
        """List only the rows that contain each of these words."""
        self._drawing.filter = text
        self.listed.replace(self._lines())
        self.window.refilter(self.listed, self.window.cursor)
        self._show()

    def go_to_next(self) -> None:
        """Go to the next row that was not put off; without one, back to the pane."""
        rows = self.listed.rows
        at = next((at for at, line in enumerate(rows) if line.uid == self.window.cursor), -1)
        around = rows[at + 1 :] + rows[: max(at, 0)]
        wanted = next((line for line in around if self._waits(line)), None)
        if wanted is None:
            self.do_back()
        else:
            self.window.move_to(wanted.uid)

    def _waits(self, line: InboxLine) -> bool:
        return not isinstance(line, Ask) or (line.state == "open" and line.uid not in self.unsent.later)

    def on_reply_given(self, event: Reply.Given) -> None:
        """Send the typed answer."""
        self._answers.send_reply(event)

    def on_reply_closed(self, event: Reply.Closed) -> None:
        """Give the keys back to the screen."""
        self.window.focus()
        self._show()
