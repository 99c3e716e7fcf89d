"""What is under the cursor of the inbox: the rows that are listed; of a question, the parts of its answer, whether it
was read, and the way to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.vocab import RESERVED_AGENTS
from tui_tasks.text.times import HOUR
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.asks.ask_detail import AskDetail
from tui_tasks.tui.asks.ask_views import AskView, AskViews, Given, UnsentAnswers
from tui_tasks.tui.asks.reply_input import Reply
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLine, InboxLines
from tui_tasks.tui.inbox.inbox_rows import InboxList, InboxRows
from tui_tasks.tui.inbox.rows_and_detail import RowsAndDetail
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.needs.open_needs import CAN_BE_HIDDEN
from tui_tasks.tui.state.context import Context

# The lines that the detail keeps.
_LEAST_DETAIL: Final = 7
# The lines of rows and detail from which an empty one stands between them.
_AIRY: Final = 30


class ListedRows:
    """The rows as they are read, filtered and drawn, and the one under the cursor."""

    def __init__(
        self,
        lines: InboxLines,
        drawing: InboxRows,
        window: InboxList,
        room: Callable[[], int],
        on_read: Callable[[Sequence[Ask]], None],
    ) -> None:
        """`room` returns how many lines rows and detail have together; `on_read` gets the questions that are listed."""
        self.lines = lines
        self.window = window
        self._drawing = drawing
        self._room = room
        self._on_read = on_read

    @property
    def here(self) -> InboxLine | None:
        """The row under the cursor."""
        return self.lines.listed.get(self.window.cursor)

    @property
    def item(self) -> InboxItem | None:
        """The same where it is no question."""
        return here if isinstance(here := self.here, InboxItem) else None

    @property
    def folded(self) -> FoldedAsks | None:
        """The folded questions under the cursor."""
        return here if isinstance(here := self.here, FoldedAsks) else None

    @property
    def can_hide(self) -> bool:
        """Whether the row under the cursor can be hidden: an agent, or a failure."""
        item = self.item
        return item is not None and item.need.kind in CAN_BE_HIDDEN and not item.need.is_rest

    def agent_here(self) -> str | None:
        """Return the agent of the row under the cursor."""
        here = self.here
        if isinstance(here, InboxItem):
            return here.who if here.who not in ("", *RESERVED_AGENTS) else None
        return here.agent if here is not None else None

    def marked(self) -> list[Any]:
        """Return the marked rows as their source has read them."""
        lines = (self.lines.listed.get(key) for key in self.window.marks)
        return [line.row for line in lines if isinstance(line, InboxItem)]

    @property
    def filter(self) -> str:
        """The words that hide other rows."""
        return self.lines.filter

    def filter_by(self, words: str) -> None:
        """List only the rows that contain each of these words, when they are read again."""
        self.lines.filter = self._drawing.filter = words

    def read(self, under: Ask | None = None) -> set[str]:
        """Read the rows; return the keys of those that changed. `under`, a question, stays when it is closed."""
        self._on_read(self.lines.asks())
        changed = self.lines.read(under)
        if self._drawing.fit():
            self.window.redraw()
        return changed

    def change(self, under: Ask | None) -> None:
        """Read the rows again, and draw those that changed."""
        self.window.change(self.read(under))
        self.fit()

    def refilter(self, cursor: str | None) -> None:
        """Read other rows, with the cursor on one of them."""
        self.read()
        self.fit()
        self.window.refilter(self.lines.listed, cursor)

    def redraw(self) -> None:
        """Draw them again, with the lines that they need."""
        self.fit()
        self.window.redraw()

    def fit(self) -> None:
        """Give the list the lines that its rows need: at most half of those that there are, or one for each row where
        the detail keeps enough.
        """
        room, is_small = self._room(), is_compact(self.window.app.size)
        self._drawing.is_small, self._drawing.wraps = is_small, room >= _AIRY
        says_no_match = bool(self.filter) and not self.lines.listed.rows
        is_one = is_small and not says_no_match
        self.window.fit(1 if is_one else room // 2, 1 if is_one else room - _LEAST_DETAIL, int(room >= _AIRY))


class Questions:
    """Answers belong to the question under the cursor; the cursor then goes to the one that takes its place."""

    def __init__(
        self,
        context: Context,
        rows: ListedRows,
        views: AskViews,
        unsent: UnsentAnswers,
        reading: Reading,
        both: RowsAndDetail,
        detail: AskDetail,
        reply: Reply,
        *,
        show: Callable[[], None],
    ) -> None:
        """`show` draws the screen again."""
        self._context = context
        self._rows = rows
        self._views = views
        self._unsent = unsent
        self._reading = reading
        self._both = both
        self._detail = detail
        self._reply = reply
        self._show = show
        self.drawn: AskView | None = None
        """The question that is drawn."""
        # The question to which the cursor went after the last answer.
        self._went_on_to: str | None = None

    @property
    def here(self) -> Ask | None:
        """The question that keys act on."""
        return here if isinstance(here := self._rows.here, Ask) else None

    @property
    def view(self) -> AskView | None:
        """The same, as it is shown."""
        return self._views.of(self.here) if self.here is not None else None

    def view_of(self, ask: Ask) -> AskView:
        """Return a question as it is shown now."""
        return self._views.of(ask)

    # Whether it was read

    @property
    def is_to_read(self) -> bool:
        """Whether the question goes on below the screen and was not read to its end, which a key that answers needs."""
        view = self.drawn
        return view is not None and self._both.has_more and not self._reading.is_read(view.version)

    @property
    def why_not_yet(self) -> str | None:
        """Why no key acts on this question yet: the cursor has gone there by itself, too late to be read when the key
        was pressed.
        """
        view = self.view
        if view is None or view.ask.uid != self._went_on_to or self._reading.has_stood(view.version):
            return None
        return f"The next question, of {agent_text.who(view.ask.agent, 20)}, came up just now: read it first."

    def shows_option(self, number: int) -> bool:
        """Return whether an option of the question is on screen, with its number."""
        line = self._detail.line_of_option(number)
        return line is not None and self._both.shows_line(line)

    def page_down(self) -> None:
        """Show the next part of the question."""
        self._both.scroll.scroll_page_down(animate=False)

    # The parts of its answer

    def pick(self, view: AskView, option: int) -> None:
        """Choose an option of a question that takes several, or choose it no longer."""
        self._went_on_to = None
        self._unsent.pick(view.ask.uid, option)
        self._show()

    def edit(self, ask: Ask, given: dict[str, Any]) -> None:
        """Show what the human gives a tool in place of what it asked for."""
        self._unsent.edited[ask.uid] = given
        self._both.show_beginning()
        self._show()

    def ask_next(self, ask: Ask, given: tuple[Given, ...]) -> None:
        """Ask the next of several questions, or one before it again, after these answers."""
        self._went_on_to = None
        self._unsent.go_on(ask.uid, given)
        self._context.say("")
        if self._reply.is_open:
            self._reply.close()
        self._both.show_beginning()
        self._show()

    # Those that are put off

    def put_off(self, ask: Ask) -> bool:
        """Put a question off for an hour, or take it up again where it was; return whether it is put off now."""
        is_off = self._unsent.put_off(ask.uid, self._context.clock.now() + HOUR)
        self._show_later()
        return is_off

    def take_up(self) -> bool:
        """Take up those that were put off for long enough; return whether there were any."""
        is_any = self._unsent.take_up(self._context.clock.now())
        self._show_later()
        return is_any

    def _show_later(self) -> None:
        """Have what is put off come last also above the panes."""
        if self._unsent.later != self._context.state.put_off:
            self._context.state.put_off = dict(self._unsent.later)
            self._context.redraw_frame()

    # From one to the next

    def answered(self, ask: Ask) -> bool:
        """Drop what is held of a question that was answered, and go to the one that takes its place, else to the one
        above it; return False where there is none, or the cursor is away.
        """
        self._views.forget(ask)
        self._context.state.answered.append(ask.uid)
        wanted = self._rows.lines.next_question(ask.uid, self._unsent.later)
        if wanted is None or self._rows.window.cursor != ask.uid or self._reply.is_open:
            return False
        self._went_on_to = wanted
        self._rows.window.move_to(wanted)
        return True

    @property
    def has_answered(self) -> bool:
        """Whether there is a question to go back to."""
        return bool(self._context.state.answered)

    def go_to_answered(self, by: int) -> bool:
        """Go from a question that was answered to the one answered before or after it, from another to the last one
        answered; return False where there is none.
        """
        answered, here = self._context.state.answered, self._rows.window.cursor
        to = answered.index(here) + by if here in answered else len(answered) - 1
        if not 0 <= to < len(answered):
            return False
        self._rows.change(ask_queries.ask(self._context.db, answered[to]))
        self._rows.window.move_to(answered[to])
        return True

    def moved_to(self, key: str | None) -> bool:
        """Note where the cursor has gone; return whether the human has moved it."""
        if key == self._went_on_to:
            return False
        self._went_on_to = None
        return True
