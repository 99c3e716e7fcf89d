"""The screen Agents: all agents, those that need attention first, and below them a note on one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.agent_snapshots import Ask, Work
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.hooks.replies.reply_sender import why_unanswerable
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import SECOND
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.agents.agent_layout import AgentOrder, AgentsList, AgentsRow, GoneAgents, SharedLines
from tui_tasks.tui.agents.agent_note import AgentNote
from tui_tasks.tui.agents.agent_row_actions import AgentAnswers, AgentRowActions, agent_hints
from tui_tasks.tui.agents.agent_rows import AgentsRows
from tui_tasks.tui.app.list_actions import ProjectActions
from tui_tasks.tui.asks.answer_keys import LOOK_SECONDS, OptionKeys, Reading
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.inputs.dialogs import FilterDialog
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.needs.open_needs import FAILURES, Kind, Need
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_painter import nothing_matches
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.needs_lines import ROWS_AND_DETAIL
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

# In cells: what is kept free in the head for what is next.
_NEXT: Final = 56
# What has rows above the agents: their trouble is in their own, and their questions where these have room.
_KINDS: Final = (Kind.ASKS, Kind.CHECKS, Kind.HELD, Kind.REVIEW, *FAILURES)


class AgentsScreen(Overlay):
    """The screen. It leaves out agents that ended more than a day ago with nothing open."""

    NAME = "agents"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "agents", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    AgentsScreen #people { height: 1fr; min-height: 3; }
    AgentsScreen #note { height: 1fr; }
    AgentsScreen.-narrow, AgentsScreen.-short {
        #titles, #note, #agents-now, #under { display: none; }
    }
    """

    def __init__(self, context: Context, first: str | None = None) -> None:
        """`first` is the name of the agent on which the cursor starts."""
        super().__init__(context)
        self._first = first
        self._quiet_after = context.config.quiet_after * SECOND
        self._rows = AgentsRows(context, self._quiet_after)
        self._rows.no_match = lambda: nothing_matches(context, self.filter) if self.filter else ""
        self.order = AgentOrder(context, self._quiet_after)
        self.window = AgentsList(context, self._rows)
        self._head = ScreenHead(
            context,
            self._title,
            id="agents",
            kinds=lambda: _KINDS,
            leaves_out=self._is_in_rows,
            below=ROWS_AND_DETAIL,
            note=self._waiting_out_of_sight,
            has_agents=True,
            rows=lambda: [("Agents", "bold"), (f"   {len(self.members):,}", "$muted")],
        )
        self._titles = FrameLine(context, self._rows.titles, id="titles")
        self._note_text = AgentNote(context, lambda: self._lines.of_note(), self._quiet_after)
        self._note_title = FrameLine(context, self._note_text.title, id="under")
        self._note = TextLines(context, self._note_text, id="note")
        self._lines = SharedLines(lambda: self.size, self._head, self.window, self._note_text)
        answers = AgentAnswers(self)
        self.agent_actions = AgentActions(
            context, self.agent_here, self.has_stood, lambda: self.member.task if self.member is not None else None
        )
        self.controllers = (
            RowMoves(lambda: self.window),
            answers,
            OptionKeys(context, lambda: self.view, answers),
            AgentRowActions(self),
            self.agent_actions,
            ProjectActions(context),
        )
        self.listed: InMemorySource[AgentsRow] = InMemorySource(lambda row: row.name, self._place)
        self.members: list[AgentView] = []
        self.reading = Reading(context)
        # What stands on screen: the agent under the cursor, and the order of the lines, by how often others moved them.
        self._agent_stands, self._rows_stand, self._row_moves = Reading(context), Reading(context), 0
        self.shown_view: AskView | None = None
        """The question that is drawn."""
        self.offers_to_open = False
        """Whether the foot has the key that opens it in place of those that answer it."""
        # The places of the agents that wait for the human or are in trouble, which the title counts at each move.
        self._needing: Sequence[int] = ()
        self.shows_gone = False
        self.filter = ""
        """The words that hide other agents."""
        # The agent that was answered last, and what its line is sorted by until the cursor leaves it.
        self._answered: tuple[str, tuple[Any, ...]] | None = None

    def compose(self) -> ComposeResult:
        """Compose head, agents and the note."""
        yield from self._head.compose()
        yield self._titles
        yield self.window
        yield self._note_title
        yield self._note
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the agents."""
        self._replace(self._read())
        self._rows.fit(self.members)
        self._lines.measure_head()
        self._lines.fit(self.listed.rows)
        self.window.show(self.listed, self._first)
        self.window.focus()
        self.set_interval(LOOK_SECONDS, self._look_at_hook)
        self._show()

    def _read(self, kept: str | None = None) -> list[AgentsRow]:
        """Read the agents that are listed; that of the name `kept`, which is under the cursor, stays listed."""
        members = self.context.state.members
        self.order.read(members)
        self._rows.dismissed = self.order.dismissed
        self.members = [member for member in members if self.context.state.projects.shows_member(member)]
        if words := self.filter.casefold().split():
            says = self._rows.says
            return [one for one in self.members if one.name == kept or all(word in says(one) for word in words)]
        return self.order.folded(self.members, kept, is_open=self.shows_gone)

    def _replace(self, rows: Sequence[AgentsRow]) -> set[str]:
        """List these agents; return the names of those that changed."""
        changed = self.listed.replace(rows)
        self._needing = [number for number, row in enumerate(self.listed.rows) if self.order.needs_you(row)]
        return changed

    def made_again(self) -> AgentsScreen:
        """Return a screen that shows the same, with the cursor on the same line."""
        made = AgentsScreen(self.context, self.window.cursor)
        made.shows_gone, made.filter = self.shows_gone, self.filter
        return made

    def turn_gone(self) -> None:
        """Show the lines of the agents that are gone, or fold them into one."""
        self.shows_gone = not self.shows_gone
        self._take()
        self._show()

    @property
    def is_on_gone(self) -> bool:
        """Whether the cursor is on the line of the agents that are gone."""
        return isinstance(self.window.row, GoneAgents)

    def _place(self, row: AgentsRow) -> tuple[Any, ...]:
        """Return what a row is sorted by; that of an agent that was just answered stays where it was."""
        if self._answered is not None and self._answered[0] == row.name:
            return self._answered[1]
        return self.order.place(row)

    # The filter

    def do_review_filter(self) -> None:
        """List only the agents whose lines contain some words."""
        self.context.push(FilterDialog(self.context, self.filter, self._filter_by, hint="words, an agent, a task"))

    def _filter_by(self, text: str) -> None:
        if text == self.filter:
            return
        self.filter = text
        self.release()
        self.window.change(self._replace(self._read()))
        self._show()

    def do_back(self) -> None:
        """Leave the filter, then the screen."""
        if self.filter:
            self._filter_by("")
        else:
            super().do_back()

    # State

    @property
    def member(self) -> AgentView | None:
        """The agent that keys act on."""
        row = self.listed.get(self.window.cursor)
        return row if isinstance(row, AgentView) else None

    @property
    def to_review(self) -> Work | None:
        """The work of that agent that waits for review."""
        work = work_queries.of_agent(self.context.db, self.member.name) if self.member is not None else None
        return work if work is not None and work.state in ("ready", "conflict") else None

    @property
    def ask(self) -> Ask | None:
        """The open question of that agent; none where the human has just answered it."""
        return self.member.ask if self.member is not None and self.answered is None else None

    @property
    def answered(self) -> str | None:
        """What the human has just answered to that agent."""
        return self._rows.answered.get(self.window.cursor or "")

    def hold(self, name: str, answer: str) -> None:
        """Keep an agent that is answered in its place, with the answer, until the cursor leaves it: its next question
        must not meet a key that was meant for this one.
        """
        row = self.listed.get(name)
        if row is not None:
            self._answered, self._rows.answered = (name, self._place(row)), {name: answer}
            self.window.redraw()

    def release(self) -> None:
        """Show what the answered agent does and asks now."""
        if self._answered is not None:
            self._answered, self._rows.answered = None, {}
            self.window.redraw()
            self._take()

    def agent_here(self) -> str | None:
        """Return the agent's name."""
        return self.member.name if self.member is not None else None

    @property
    def view(self) -> AskView | None:
        """That question as it is shown here; what is not kept whole is shown in the inbox."""
        if self.ask is None:
            return None
        return AskView(self.ask, why_closed=why_unanswerable(self.context.db, self.ask))

    def shows(self, view: AskView) -> bool:
        """Return whether a question, or its beginning, is on screen."""
        return not self.small and self._note_text.drawn == view.version and bool(self._note.size.height)

    def shows_whole(self, view: AskView) -> bool:
        """Return whether all of a question is on screen."""
        return self.shows(view) and self._note_text.has_whole(view.version)

    def _must_be_opened(self, view: AskView | None) -> bool:
        """Return whether a question has no room here, so that no key may answer it."""
        if view is None or view.why_closed is not None:
            return False
        return self.small or (self._note_text.drawn == view.version and not self._note_text.has_whole(view.version))

    def _is_in_rows(self, need: Need) -> bool:
        """Return whether the screen says of a question what it is: in the row of its agent, or in the note."""
        return need.kind == Kind.ASKS and (self._lines.has_all_questions or need.agent == self.window.cursor)

    def _look_at_hook(self) -> None:
        """Draw again where a program has stopped waiting for the answer."""
        if self.view != self.shown_view:
            self._show()

    def _note_painted(self) -> None:
        self._head.title.redraw()  # who is out of sight is known once the lines are laid out
        # What changes below a dialog cannot be read.
        if self.is_active and self.is_open:
            version = self._note_text.drawn if not self.small else None
            self.reading.painted(version, to_end=self._note_text.has_whole(version) and bool(self._note.size.height))
            self._agent_stands.painted(self.agent_here(), to_end=False)
            self._rows_stand.painted(self._row_moves, to_end=False)
            if self._must_be_opened(self.shown_view) != self.offers_to_open:
                self._show_keys()

    def has_stood(self) -> bool:
        """Return whether the human could know which agent is under the cursor when the key was pressed: it stood there,
        or no line had moved, so that moves of the cursor have led where they seemed to.
        """
        if not self._row_moves and self._rows_stand.was_there(0):
            return True
        return self._agent_stands.has_stood(self.agent_here()) or self._rows_stand.has_stood(self._row_moves)

    def on_screen_resume(self) -> None:
        """Note what can be read again."""
        self.call_after_refresh(self._note_painted)

    def _title(self, width: int) -> Sequence[Part]:
        """` Agents   12k tokens`: with what all have spent, where what is next leaves the room."""
        parts: list[Part] = [(" Agents", "bold")]
        if self.filter:
            number = f"{len(self.listed.rows)} of {len(self.members)}"
            parts.append((f'   {number} with "{safe_line(self.filter, 20)}"', "$changed"))
        if width >= NARROW:
            parts += self.context.state.projects.alone_parts()
        # In the past, an agent's presence is known only from what it had open.
        is_past = self.context.link.as_of is not None
        more = "of connections only the last is known" if is_past else agent_text.spent_by_all(self.members)
        taken = cell_len(self._waiting_out_of_sight()) or _NEXT
        if more and parts_width(parts) + cell_len(more) + taken + 4 <= width:
            parts.append((f"   {more}", "$muted"))
        return parts

    def _waiting_out_of_sight(self) -> str:
        """`↑ 2 above need you  g`: how many agents above or below the lines on screen wait for the human or are in
        trouble.
        """
        rows, seen = self.listed.rows, {row.name for row in self.window.rows_on_screen}
        waiting = [number for number in self._needing if rows[number].name not in seen]
        if not waiting or not seen:
            return ""
        first = next(number for number, row in enumerate(rows) if row.name in seen)
        above = sum(number < first for number in waiting)
        key = self.context.keymap.key_of("first" if above else "last").partition(",")[0]
        number = above or len(waiting)
        where = "" if self.size.width < NARROW else " above" if above else " below"
        return f"{'↑' if above else '↓'} {number}{where} need{'s' if number == 1 else ''} you  {key}"

    # Events

    def on_virtual_list_scrolled(self) -> None:
        """Tell again who is out of sight."""
        self._head.title.redraw()

    def changed(self, changes: StateChanges) -> None:
        """Update after entries about agents."""
        if changes.all or changes.touches("task", "list"):
            self.window.redraw()
        self._take()
        self._show()

    def all_seen(self) -> None:
        """Draw the agents without the marks of what was new, and those whose leaving was not seen as gone."""
        self.window.redraw()
        self._take()
        self._show()

    def agents_changed(self) -> None:
        """Update after something without a journal entry, such as an agent's activity or connection."""
        if self._take():
            self._show()

    def _take(self) -> set[str]:
        """Read all agents, and draw the lines of those that changed; return their names."""
        before = self.window.keys_on_screen
        changed = self._replace(self._read(self.window.cursor))
        self._lines.measure_head()
        self._lines.fit(self.listed.rows)
        self.window.change(changed)
        self._row_moves += self.window.keys_on_screen != before
        if self._rows.fit(self.members):
            self.window.redraw()
            self._titles.redraw()
        return changed

    def on_virtual_list_moved(self) -> None:
        """Show the note on another agent."""
        if self._answered is not None and self.window.cursor != self._answered[0]:
            self.release()
        if self.shown_view is not None:
            self.context.say("")  # it was about the question before, and hides the keys of this one
        self._show_agent()

    def on_virtual_list_opened(self) -> None:
        """Do as Enter does."""
        self.action_act("agent_log")

    def on_resize(self) -> None:
        """Adapt the layout to the size."""
        self._lines.measure_head()
        self._lines.fit(self.listed.rows)
        self.window.redraw()
        self._show()

    def _show(self) -> None:
        self._show_agent()
        self._head.redraw()

    def _show_agent(self) -> None:
        self.shown_view = self.view
        self._note_text.put(self.member, self.shown_view, self.size.height // 2)
        self._lines.fit(self.listed.rows)
        if not self._lines.has_all_questions:
            self._head.free_needs()  # the question in the note has no row
        for part in (self._note_title, self._note, self._head.title, self._titles):
            part.redraw()
        self.call_after_refresh(self._note_painted)
        self._show_keys()

    def _show_keys(self) -> None:
        self.offers_to_open = self._must_be_opened(self.shown_view)
        self.hint(*agent_hints(self))
