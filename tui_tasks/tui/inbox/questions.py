"""The question under the cursor of the inbox: the parts of its answer, whether it was read, and the way from one
question to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import HOUR
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.asks.ask_detail import AskDetail
from tui_tasks.tui.asks.ask_views import AskView, AskViews, Given, UnsentAnswers
from tui_tasks.tui.asks.reply_input import Reply
from tui_tasks.tui.inbox.rows_and_detail import ListedRows, RowsAndDetail
from tui_tasks.tui.state.context import Context


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
        # The row to which the cursor went after the last answer, or after a question was put off.
        self._went_on_to: str | None = None
        # The question that was put off last.
        self._put_off: str | None = None

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
        seen = self._context.state.seen
        is_off = seen.put_question_off(ask.uid, self._context.clock.now() + HOUR)
        self._context.redraw_frame()
        self._context.run(self._context.link.remember(local_values.PUT_OFF, seen.put_off))
        self._put_off = ask.uid if is_off else None
        return is_off

    def next_after(self, ask: Ask) -> str | None:
        """Return the row to which the cursor goes from a question that was put off; a key that is pressed too soon to
        be meant for it does nothing there.
        """
        self._went_on_to = self._rows.lines.next_after(ask.uid)
        return self._went_on_to

    def waiting_again(self) -> str | None:
        """Return the question that was put off here last where that was taken back, once; no key acts on it yet."""
        uid = self._put_off
        if uid is None or uid in self._context.state.seen.put_off:
            return None
        self._put_off, self._went_on_to = None, uid
        return uid

    def take_up(self) -> bool:
        """Take up those that were put off for long enough; return whether there were any."""
        is_any = self._context.state.seen.take_up(self._context.clock.now())
        if is_any:
            self._put_off = None
            self._context.redraw_frame()
        return is_any

    # From one to the next

    def answered(self, ask: Ask) -> bool:
        """Drop what is held of a question that was answered, and go to the one that takes its place, else to the one
        above it; return False where there is none, or the cursor is away.
        """
        self._views.forget(ask)
        self._context.state.answered.append(ask.uid)
        wanted = self._rows.lines.next_question(ask.uid)
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
