"""The agents screen: who is there, what each does, what it said last, and when it was last heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.read import agents, messages
from tui_tasks.core.read.agents import AgentSummary, Word
from tui_tasks.core.read.messages import Sent
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.text.glyphs import LOOKS, Look, look, sign
from tui_tasks.text.safe import fit, fit_ends, safe_line
from tui_tasks.text.times import SECOND, WEEK, age, age_lasts, duration
from tui_tasks.tui.app.actions import bindings
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens import agent_text
from tui_tasks.tui.screens.agent_actions import AgentActions
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.pane import RowActions
from tui_tasks.tui.widgets.styles import Part
from tui_tasks.tui.widgets.text_lines import Drawn, TextLines

AGENT_LOOKS: Final = {
    "working": LOOKS["in_progress"]._replace(word="working"),
    "needs_you": LOOKS["needs_you"],
    "quiet": LOOKS["quiet"],
    "idle": LOOKS["pending"]._replace(word="idle", letter="o"),
    "paused": LOOKS["skipped"]._replace(word="paused", letter="-"),
}
MOST_WORDS: Final = 12
MOST_MESSAGES: Final = 3
_MESSAGE_COLORS: Final = {"waiting": "$state-needs-you", "delivered": "$muted", "answered": "$state-done"}
_SIGNS: Final = {"status": "status", "ran": "scheduled"}


def said(word: Word | None) -> str:
    """An agent's word as it is shown: what it said, or what it did in a few words."""
    if word is None:
        return ""
    if word.kind == "status":
        return look(word.text).word
    return word.text or word.kind.replace(".", " ").replace("_", " ")


class AgentWindow(VirtualList[AgentSummary]):
    """Agents, a line each."""

    screen_: Agents

    def draw(self, row: AgentSummary, look_: RowLook, line: int) -> Sequence[Part]:
        """Who, state, task, last word, when last seen."""
        host, width = self.host, look_.width
        now = host.now()
        state = self.screen_.look_of(row)
        self.lasts(age_lasts(row.at, now))
        if not row.paused and now - row.at < self.screen_.quiet_after:
            self.lasts(row.at + self.screen_.quiet_after + 1 - now)
        mark = state.mark(ascii_only=host.ascii_only)
        head = (f"{sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted")
        seen = f"{age(row.at, now) if row.at else '-':>4} "
        old = "$muted" if now - row.at > WEEK else ""
        task = self.screen_.task_of(row)
        if width < 60:
            name = fit_ends(row.name, 12)
            room = max(1, width - 4 - 13 - len(seen))
            told = f"#{host.place(task)} " if task is not None else ""
            return (
                head,
                (mark, state.color),
                (f" {name} ", old),
                (fit(told + said(row.word), room), "$muted"),
                (seen, "$muted"),
            )
        who, word_of_state, about, last = self.screen_.columns(width)
        titled = f"#{host.place(task)} {task.name}" if task is not None else "-"
        return (
            head,
            (mark, state.color),
            (f" {fit_ends(row.name, who)}", old),
            (fit(state.word, word_of_state), state.color),
            (fit(titled, about - 1) + " ", old),
            (fit(said(row.word) or "-", last - 1) + " ", "$muted"),
            (seen, "$muted"),
        )

    def draw_empty(self, line: int) -> Sequence[Part]:
        """How an agent comes here."""
        text = ("   No agent has spoken yet.", "", "   tui-tasks setup claude     let an agent use this list")
        return [(text[line - 1], "$muted" if line > 1 else "")] if 0 < line <= len(text) else ()


class AgentHead(FrameLine):
    """The titles of the columns."""

    def left(self, width: int) -> Sequence[Part]:
        """A title over each column."""
        assert isinstance(self.screen, Agents)
        who, state, about, last = self.screen.columns(width)
        return [(f"   {'who':<{who}}{'state':<{state}}{'task':<{about}}{'last word':<{last}}seen", "$muted")]


class AgentNote(TextLines):
    """What the agent under the cursor said of late, and what `quiet` means."""

    def lines(self, width: int) -> list[Drawn]:
        """Its words, the newest last."""
        assert isinstance(self.screen, Agents)
        screen, now = self.screen, self.host.now()
        person = screen.person
        if person is None:
            return []
        lines: list[Drawn] = [[(f" {safe_line(person.name, width - 2)}", "bold")]]
        if person.paused:
            lines.append([(f" paused: {safe_line(person.message, width - 10)}", "$state-skipped")])
        lines += self._messages()
        for word in screen.words:
            when = f" {self.host.time_of(word.at)}  "
            mark = f"{sign(_SIGNS[word.kind], ascii_only=self.host.ascii_only)} " if word.kind in _SIGNS else ""
            mark = "? " if word.kind == "asked" else mark
            task = agent_text.live_task(self.host.bridge.db, word.task) if word.task else None
            about = f"#{self.host.place(task)}  " if task is not None else ""
            lines.append(
                [(when + about, "$muted"), (safe_line(mark + said(word), max(8, width - len(when + about) - 1)), "")]
            )
        if person.state(now, screen.quiet_after) == "quiet" or len(lines) < 4:
            quiet = duration(screen.quiet_after, 1)
            lines += [[], [(f" quiet = no message for {quiet} (config: quiet_after)", "$muted")]]
        return lines

    def _messages(self) -> list[Drawn]:
        """What was written to it of late, the newest last, and whether that has reached it."""
        assert isinstance(self.screen, Agents)
        drawn: list[Drawn] = []
        for sent in reversed(self.screen.sent):
            when = f" {self.host.time_of(sent.message.sent_at)}  "
            room = self.screen.size.width - len(when) - len(sent.state) - 10
            text = f"you: {safe_line(sent.message.text, max(8, room))}  "
            drawn.append([(when, "$muted"), (text, ""), (sent.state, _MESSAGE_COLORS[sent.state])])
        return drawn


class Agents(AgentActions, RowActions, Overlay):
    """The screen."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "agents", "agent")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Agents #people { height: 1fr; min-height: 3; }
    Agents #note { max-height: 50%; }
    Agents.-narrow #titles, Agents.-short #titles, Agents.-narrow #note, Agents.-short #note,
    Agents.-narrow #under, Agents.-short #under { display: none; }
    """

    window: AgentWindow

    def __init__(self) -> None:
        super().__init__()
        self.listed: InMemorySource[AgentSummary] = InMemorySource(lambda person: person.name, self._order)
        self.words: list[Word] = []
        self.sent: list[Sent] = []
        self._old: frozenset[str] = frozenset()

    def compose(self) -> ComposeResult:
        """Head, agents, what one of them said."""
        yield Title(id="agents-head")
        yield Rule()
        yield AgentHead(id="titles")
        self.window = AgentWindow(id="people")
        self.window.screen_ = self
        yield self.window
        yield Rule(id="under")
        yield AgentNote(id="note")
        yield FootLine(id="foot")

    def on_mount(self) -> None:
        """Read who there is. Those that were not heard for a week come last."""
        self.quiet_after = self.host.config.quiet_after * SECOND
        found = agents.everyone(self.host.bridge.db)
        self._old = frozenset(person.name for person in found if self._is_old(person))
        self.listed.take(found)
        self.window.show(self.listed)
        self.window.focus()
        self._show()

    def _is_old(self, person: AgentSummary) -> bool:
        return self.host.now() - person.at > WEEK and not (person.paused or person.asks or person.task)

    def _order(self, person: AgentSummary) -> tuple[bool, str, str]:
        return person.name in self._old, person.name.casefold(), person.name

    def columns(self, width: int) -> tuple[int, int, int, int]:
        """How wide who, state, task and last word are."""
        if width < 80:
            return 11, 11, max(10, width - 3 - 22 - 17 - 5), 17
        rest = width - 3 - 24 - 5
        return 11, 13, rest - (rest * 2 // 5), rest * 2 // 5

    @property
    def person(self) -> AgentSummary | None:
        """The agent that keys are about."""
        return self.listed.get(self.window.cursor)

    def agent_here(self) -> str | None:
        """Its name."""
        return self.person.name if self.person is not None else None

    def look_of(self, person: AgentSummary) -> Look:
        """How its state is shown."""
        return AGENT_LOOKS[person.state(self.host.now(), self.quiet_after)]

    def task_of(self, person: AgentSummary) -> TaskLine | None:
        """What it works on, else what it waits to hear about."""
        if person.task is not None:
            return person.task
        about = next((uid for uid in person.asks if uid), None)
        return agent_text.live_task(self.host.bridge.db, about) if about is not None else None

    def changed(self, changes: Changes) -> None:
        """Take in who spoke."""
        self.window.change(self.listed.take(agents.everyone(self.host.bridge.db, self.listed.rows)))
        if changes.all or changes.touches("task", "list"):
            self.window.again()
        self._show()

    def on_virtual_list_moved(self) -> None:
        """Another agent's words."""
        self._show()

    def on_virtual_list_opened(self) -> None:
        """As Enter does."""
        self.action_act("agent_log")

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.window.again()
        self._show()

    def _show(self) -> None:
        name = self.agent_here()
        self.words = agents.words(self.host.bridge.db, name, min(MOST_WORDS, self.size.height // 3)) if name else []
        self.sent = messages.newest(self.host.bridge.db, name, MOST_MESSAGES) if name else []
        self.query_one(AgentNote).again()
        if self.small:
            self.hint(self.hint_of("agent_log", "Log"), self.hint_of("agent_message"), self.hint_of("back", ""))
        else:
            self.hint(*map(self.hint_of, ("agent_log", "agent_message", "agent_pause", "back")))

    def do_agent_log(self) -> None:
        """Show the log, of this agent alone."""
        name = self.agent_here()
        if name is not None:
            self.host.show_log(name)


class Title(FrameLine):
    """` Agents`."""

    def left(self, width: int) -> Sequence[Part]:
        """The name of the screen."""
        return [(" Agents", "bold")]
