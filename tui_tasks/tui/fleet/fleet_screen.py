"""The fleet's screen: all agents, those that need attention first, and below them a note on one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.core.read import messages
from tui_tasks.core.read.agents import agents, fleet
from tui_tasks.core.read.agents.fleet import Member
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import DAY, SECOND
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.agents.answering import OptionKeys
from tui_tasks.tui.fleet import fleet_text
from tui_tasks.tui.fleet.fleet_actions import FleetActions
from tui_tasks.tui.fleet.fleet_answers import FleetAnswers
from tui_tasks.tui.fleet.fleet_note import FleetNote
from tui_tasks.tui.fleet.fleet_rows import FleetRows, titles
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.frame_line import FrameLine, rule
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.projects.project_actions import ProjectActions
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.widgets.breakpoints import NARROW
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.overlay import Overlay

MAX_WORDS: Final = 12
MAX_MESSAGES: Final = 3
_PACE: Final = 0.1
"""Seconds at least between two reads of what agents are doing, which leaves no journal entries."""


class Fleet(Overlay):
    """The screen. It leaves out agents that ended more than a day ago with nothing open."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "agents", "agent", "answers")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Fleet #people { height: 1fr; min-height: 3; }
    Fleet #note { max-height: 50%; }
    Fleet.-narrow #titles, Fleet.-short #titles, Fleet.-narrow #note, Fleet.-short #note,
    Fleet.-narrow #under, Fleet.-short #under { display: none; }
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._quiet_after = context.config.quiet_after * SECOND
        rows = FleetRows(context, lambda: self._longest_name, self._quiet_after)
        self.window = VirtualList(context, rows, id="people")
        self._head = FrameLine(context, self._totals, self._spent, id="agents-head")
        self._titles = FrameLine(context, lambda width: titles(width, self._longest_name), id="titles")
        self._note_text = FleetNote(context, lambda: self.size.height // 2, self._quiet_after)
        self._note = TextLines(context, self._note_text, id="note")
        answers = FleetAnswers(self)
        self.controllers = (
            RowMoves(lambda: self.window),
            answers,
            OptionKeys(context, lambda: self.ask, answers.give, answers.why_not),
            FleetActions(self),
            AgentActions(context, self.agent_here),
            ProjectActions(context),
        )
        self.listed: InMemorySource[Member] = InMemorySource(lambda member: member.name, self._order)
        self._over: set[str] = set()
        self._is_due = False

    def compose(self) -> ComposeResult:
        """Compose head, agents and the note."""
        yield self._head
        yield rule(self.context)
        yield self._titles
        yield self.window
        yield rule(self.context, id="under")
        yield self._note
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the agents."""
        self.listed.replace(self._read())
        self.window.show(self.listed)
        self.window.focus()
        self.context.link.on_silent_commit = self._look_soon
        self._show()

    def on_unmount(self) -> None:
        """Stop the timer."""
        self.context.link.on_silent_commit = lambda: None

    def _read(self) -> list[Member]:
        since, is_now = self.context.clock.now() - DAY, self.context.link.as_of is None
        # In the past, agents may have said less than was known before, so nothing is reused.
        known = self.listed.rows if is_now else ()
        found = fleet.everyone(self.context.db, since, known, knows_presence=is_now)
        # What the order of the rows follows from changes with them alone.
        now, seen_at = self.context.clock.now(), self.context.state.seen_at
        self._over = {member.name for member in found if fleet_text.is_over(member, now, seen_at)}
        return [member for member in found if self.context.state.projects.shows_member(member)]

    def _order(self, member: Member) -> tuple[Any, ...]:
        since = member.since if member.state == "waiting" and member.since is not None else 0
        return (
            fleet_text.RANKS["gone" if member.name in self._over else member.state],
            since,
            member.name.casefold(),
            member.name,
        )

    # State

    @property
    def member(self) -> Member | None:
        """The agent that keys act on."""
        return self.listed.get(self.window.cursor)

    @property
    def ask(self) -> Ask | None:
        """The open question of that agent."""
        return self.member.ask if self.member is not None else None

    def agent_here(self) -> str | None:
        """Return the agent's name."""
        return self.member.name if self.member is not None else None

    def shows_whole(self, ask: Ask) -> bool:
        """Return whether all of a question is on screen."""
        return not self.small and self._note_text.has_whole(ask) and bool(self._note.size.height)

    @property
    def states(self) -> list[str]:
        """The states of all agents."""
        now = self.context.clock.now()
        return [fleet_text.state_of(member, now, self._quiet_after) for member in self.listed.rows]

    @property
    def _longest_name(self) -> int:
        """The width of the longest name in cells."""
        return max((cell_len(safe_line(member.name, 40)) for member in self.listed.rows), default=0)

    def _totals(self, width: int) -> Sequence[Part]:
        """` Agents   3 waiting for you   2 working`: how many agents are in each state."""
        states, ascii_only = self.states, self.context.ascii_only
        if width < NARROW:
            parts: list[Part] = [(" Agents ", "bold")]
            for state, shown in fleet_text.LOOKS_OF_STATES.items():
                if count := states.count(state):
                    parts.append((f" {shown.mark(ascii_only=ascii_only)} {count} ", shown.color))
            return parts
        parts = [(" Agents  ", "bold"), *self.context.state.projects.alone_parts()]
        return [*parts, *((f" {text}  ", color) for text, color in fleet_text.totals(states))]

    def _spent(self, width: int) -> Sequence[Part]:
        """Return what all agents have spent, and their projects."""
        members = self.listed.rows
        spent = fleet_text.spent_by_all(members)
        # In the past, an agent's presence is known only from what it had open.
        unknown = "who was connected is not recorded" if self.context.link.as_of is not None else ""
        words = "   ".join(part for part in (spent, fleet_text.places(members, self.context), unknown) if part)
        return [(words + " ", "$muted")]

    # Events

    def changed(self, changes: StateChanges) -> None:
        """Update after entries about agents."""
        if changes.all or changes.touches("task", "list"):
            self.window.again()
        self._take()
        self._show()

    def _look_soon(self) -> None:
        """Read soon: something without a journal entry changed, such as an agent's activity or connection."""
        if not self._is_due:
            self._is_due = True
            self.set_timer(_PACE, self._look)

    def _look(self) -> None:
        self._is_due = False
        try:
            if self._take():
                self._show()
        except READ_ERRORS as error:
            self.context.link.cannot_read(error)

    def _take(self) -> set[str]:
        """Read all agents, and draw the lines of those that changed; return their names."""
        before = self._longest_name
        changed = self.listed.replace(self._read())
        self.window.change(changed)
        if self._longest_name != before:
            self.window.again()
        return changed

    def on_virtual_list_moved(self) -> None:
        """Show the note on another agent."""
        self._show()

    def on_virtual_list_opened(self) -> None:
        """Do as Enter does."""
        self.action_act("agent_log")

    def on_resize(self) -> None:
        """Adapt the layout to the size."""
        self.window.again()
        self._show()

    def _show(self) -> None:
        name = self.agent_here()
        words = agents.words(self.context.db, name, min(MAX_WORDS, self.size.height // 3)) if name else []
        sent = messages.newest(self.context.db, name, MAX_MESSAGES) if name else []
        self._note_text.put(self.member, words, sent)
        for part in (self._note, self._head, self._titles):
            part.again()
        answers = ("ask_approve", "ask_deny") if self.ask is not None else ()
        if self.small:
            self.hint(*map(self.hint_of, answers), self.hint_of("agent_message"), self.hint_of("back", ""))
        else:
            stop = ("agent_stop",) if self.member is not None and self.member.session is not None else ()
            is_stuck = self.member is not None and self.member.stuck is not None and self.member.task is not None
            back = ("agent_give_back",) if is_stuck else ()
            keys = (*answers, "agent_message", "agent_pause", *back, *stop, "agent_log", "back")
            self.hint(*map(self.hint_of, keys))
