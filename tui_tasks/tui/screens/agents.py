"""The agents screen: who is there, what each does, what it said last, and when it was last heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.operations import EditTask
from tui_tasks.core.read import agents, messages
from tui_tasks.core.read.agents import AgentSummary, Word
from tui_tasks.core.read.messages import Sent
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.snapshots import Stuck
from tui_tasks.text.glyphs import LOOKS, Look, look, sign
from tui_tasks.text.safe import fit, fit_ends, safe_line
from tui_tasks.text.times import SECOND, WEEK, age, age_lasts, duration
from tui_tasks.tui.app.actions import bindings
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens import agent_text
from tui_tasks.tui.screens.agent_actions import AgentActions
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.pane import RowMoves
from tui_tasks.tui.widgets.styles import Part
from tui_tasks.tui.widgets.text_lines import Drawn, TextLines

AGENT_LOOKS: Final = {
    "working": LOOKS["in_progress"]._replace(word="working"),
    "needs_you": LOOKS["needs_you"],
    "quiet": LOOKS["quiet"],
    "stuck": LOOKS["stuck"],
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


class AgentRoster:
    """How agents are shown: the state of each, the task it is about, and who was not heard for long."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.quiet_after = context.config.quiet_after * SECOND

    def look_of(self, agent: AgentSummary) -> Look:
        """How its state is shown."""
        return AGENT_LOOKS[self.state_of(agent)]

    def state_of(self, agent: AgentSummary) -> str:
        """Its state now, of `AGENT_LOOKS`; that it waits for the human says more than that it is stuck."""
        stuck = self.stuck(agent)
        if stuck is not None and stuck.cause != "human" and not agent.paused:
            return "stuck"
        return agent.state(self._context.clock.now(), self.quiet_after)

    def stuck(self, agent: AgentSummary) -> Stuck | None:
        """Why it gets nowhere; None where it goes on."""
        return self._context.state.stuck.get(agent.name)

    def last_word(self, agent: AgentSummary) -> tuple[str, str]:
        """What stands as its last word, and the colour: why it is stuck, else what it said."""
        stuck = self.stuck(agent)
        if stuck is None or agent.paused:
            return said(agent.word), "$muted"
        return stuck.text, "$state-overdue"

    def state_lasts(self, agent: AgentSummary) -> int | None:
        """In how many microseconds it becomes quiet; None where it is that, or paused."""
        left = agent.at + self.quiet_after + 1 - self._context.clock.now()
        return left if left > 1 and not agent.paused else None

    def task_of(self, agent: AgentSummary) -> TaskLine | None:
        """What it works on, else what it waits to hear about."""
        if agent.task is not None:
            return agent.task
        about = next((uid for uid in agent.asks if uid), None)
        return agent_text.live_task(self._context.db, about) if about is not None else None

    def is_old(self, agent: AgentSummary) -> bool:
        """Whether nothing was heard of it for a week, and nothing is open."""
        return self._context.clock.now() - agent.at > WEEK and not (agent.paused or agent.asks or agent.task)


def column_widths(width: int) -> tuple[int, int, int, int]:
    """How wide who, state, task and last word are."""
    if width < 80:
        return 11, 11, max(10, width - 3 - 22 - 17 - 5), 17
    rest = width - 3 - 24 - 5
    return 11, 13, rest - (rest * 2 // 5), rest * 2 // 5


class AgentWindow(VirtualList[AgentSummary]):
    """Agents, a line each."""

    def __init__(self, context: Context, roster: AgentRoster, *, id: str) -> None:
        super().__init__(context, id=id)
        self._roster = roster

    def draw(self, row: AgentSummary, look_: RowLook, line: int) -> Sequence[Part]:
        """Who, state, task, last word, when last seen."""
        context, roster, width = self.context, self._roster, look_.width
        now = context.clock.now()
        state = roster.look_of(row)
        self.lasts(age_lasts(row.at, now))
        if (lasts := roster.state_lasts(row)) is not None:
            self.lasts(lasts)
        mark = state.mark(ascii_only=context.ascii_only)
        head = (f"{sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted")
        seen = f"{age(row.at, now) if row.at else '-':>4} "
        old = "$muted" if now - row.at > WEEK else ""
        task, (word, color) = roster.task_of(row), roster.last_word(row)
        if width < 60:
            name = fit_ends(row.name, 12)
            room = max(1, width - 4 - 13 - len(seen))
            told = f"#{context.numbers.number(task)} " if task is not None else ""
            return (
                head,
                (mark, state.color),
                (f" {name} ", old),
                (fit(told + word, room), color),
                (seen, "$muted"),
            )
        who, word_of_state, about, last = column_widths(width)
        titled = f"#{context.numbers.number(task)} {task.name}" if task is not None else "-"
        return (
            head,
            (mark, state.color),
            (f" {fit_ends(row.name, who)}", old),
            (fit(state.word, word_of_state), state.color),
            (fit(titled, about - 1) + " ", old),
            (fit(word or "-", last - 1) + " ", color),
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
        who, state, about, last = column_widths(width)
        return [(f"   {'who':<{who}}{'state':<{state}}{'task':<{about}}{'last word':<{last}}seen", "$muted")]


class AgentNote(TextLines):
    """What the agent under the cursor said of late, and what `quiet` means."""

    def __init__(self, context: Context, roster: AgentRoster, *, id: str) -> None:
        super().__init__(context, id=id)
        self._roster = roster
        self._agent: AgentSummary | None = None
        self._words: list[Word] = []
        self._sent: list[Sent] = []

    def show(self, agent: AgentSummary | None, words: list[Word], sent: list[Sent]) -> None:
        """Show what an agent said and what was sent to it."""
        self._agent, self._words, self._sent = agent, words, sent
        self.again()

    def lines(self, width: int) -> list[Drawn]:
        """Its words, the newest last."""
        agent = self._agent
        if agent is None:
            return []
        lines: list[Drawn] = [[(f" {safe_line(agent.name, width - 2)}", "bold")]]
        if agent.paused:
            lines.append([(f" paused: {safe_line(agent.message, width - 10)}", "$state-skipped")])
        stuck = self._roster.stuck(agent)
        if stuck is not None and not agent.paused:
            since = self.context.clock.time_of(stuck.since) if stuck.since is not None else ""
            lines.append([(f" stuck since {since}: {safe_line(stuck.text, max(8, width - 24))}", "$state-overdue")])
        lines += self._messages(width)
        for word in self._words:
            when = f" {self.context.clock.time_of(word.at)}  "
            mark = f"{sign(_SIGNS[word.kind], ascii_only=self.context.ascii_only)} " if word.kind in _SIGNS else ""
            mark = "? " if word.kind == "asked" else mark
            task = agent_text.live_task(self.context.db, word.task) if word.task else None
            about = f"#{self.context.numbers.number(task)}  " if task is not None else ""
            lines.append(
                [(when + about, "$muted"), (safe_line(mark + said(word), max(8, width - len(when + about) - 1)), "")]
            )
        if self._roster.state_of(agent) == "quiet" or len(lines) < 4:
            quiet = duration(self._roster.quiet_after, 1)
            lines += [[], [(f" quiet = no message for {quiet} (config: quiet_after)", "$muted")]]
        return lines

    def _messages(self, width: int) -> list[Drawn]:
        """What was written to it of late, the newest last, and whether that has reached it."""
        drawn: list[Drawn] = []
        for sent in reversed(self._sent):
            when = f" {self.context.clock.time_of(sent.message.sent_at)}  "
            room = width - len(when) - len(sent.state) - 10
            text = f"you: {safe_line(sent.message.text, max(8, room))}  "
            drawn.append([(when, "$muted"), (text, ""), (sent.state, _MESSAGE_COLORS[sent.state])])
        return drawn


class Agents(Overlay):
    """The screen."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "agents", "agent")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Agents #people { height: 1fr; min-height: 3; }
    Agents #note { max-height: 50%; }
    Agents.-narrow #titles, Agents.-short #titles, Agents.-narrow #note, Agents.-short #note,
    Agents.-narrow #under, Agents.-short #under { display: none; }
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.roster = AgentRoster(context)
        self.window = AgentWindow(context, self.roster, id="people")
        self.controllers = (RowMoves(self.window), AgentActions(context, self.agent_here))
        self.listed: InMemorySource[AgentSummary] = InMemorySource(lambda agent: agent.name, self._order)
        self._old: frozenset[str] = frozenset()

    def compose(self) -> ComposeResult:
        """Head, agents, what one of them said."""
        yield Title(self.context, id="agents-head")
        yield Rule(self.context)
        yield AgentHead(self.context, id="titles")
        yield self.window
        yield Rule(self.context, id="under")
        yield AgentNote(self.context, self.roster, id="note")
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read who there is. Those that were not heard for a week come last."""
        found = agents.everyone(self.context.db)
        self._old = frozenset(agent.name for agent in found if self.roster.is_old(agent))
        self.listed.take(found)
        self.window.show(self.listed)
        self.window.focus()
        self._show()

    def _order(self, agent: AgentSummary) -> tuple[bool, str, str]:
        return agent.name in self._old, agent.name.casefold(), agent.name

    @property
    def agent(self) -> AgentSummary | None:
        """The agent that keys are about."""
        return self.listed.get(self.window.cursor)

    def agent_here(self) -> str | None:
        """Its name."""
        return self.agent.name if self.agent is not None else None

    def changed(self, changes: Changes) -> None:
        """Take in who spoke."""
        self.window.change(self.listed.take(agents.everyone(self.context.db, self.listed.rows)))
        if changes.all or changes.touches("task", "list", "stuck"):
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
        words = agents.words(self.context.db, name, min(MOST_WORDS, self.size.height // 3)) if name else []
        sent = messages.newest(self.context.db, name, MOST_MESSAGES) if name else []
        self.query_one(AgentNote).show(self.agent, words, sent)
        if self.small:
            self.hint(self.hint_of("agent_log", "Log"), self.hint_of("agent_message"), self.hint_of("back", ""))
        else:
            self.hint(*map(self.hint_of, ("agent_log", "agent_message", "agent_pause", "back")))

    async def do_agent_give_back(self) -> None:
        """Give the task that the agent is at back as pending, and nobody's."""
        agent = self.agent
        task = agent.task if agent is not None else None
        if agent is None or task is None:
            self.context.say("It is at no task.")
            return
        await self.context.link.commit(EditTask(task.uid, {"status": "pending", "agent": None}))
        number = self.context.numbers.number(task)
        self.context.say(f"#{number} is pending again; {safe_line(agent.name, 30)} does not hold it any more.")

    def do_agent_log(self) -> None:
        """Show the log, of this agent alone."""
        name = self.agent_here()
        if name is not None:
            self.context.navigation.show_log(name)


class Title(FrameLine):
    """` Agents`."""

    def left(self, width: int) -> Sequence[Part]:
        """The name of the screen."""
        return [(" Agents", "bold")]
