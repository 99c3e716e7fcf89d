"""The lines of Agents.

An agent's first line has name, state and since when, what matters most, place, what it works on, how active it was,
and what it has spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from msgspec.structs import replace

from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.agents.agent_views import AgentView, pulse_at
from tui_tasks.core.read.agents.last_words import PULSE_MINUTES
from tui_tasks.core.read.agents.session_queries import asked_for
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.text import times
from tui_tasks.text.glyphs import AGENT_LOOKS, Look, spark
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_line
from tui_tasks.text.times import MINUTE, age, age_lasts
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_layout import AGE, GAP, STATE, AgentColumns, AgentsRow, Filled, GoneAgents, columns
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_painter import GUTTER, RowDrawing, RowLook, gutter
from tui_tasks.tui.state.context import Context

# In cells: the most that is shown of a prompt as what an agent works on.
_PURPOSE: Final = 40
_WIDEST: Final = 400
# The states of agents whose words may take several lines.
_LONG: Final = ("waiting", "asking", "failed", "stuck", "ready", "working")
# How many lines what matters most has below its first one, and in cells the least text that is worth showing.
_REST: Final = 3
_LEAST_TEXT: Final = 12


class Matter(NamedTuple):
    """What matters most of an agent: all of it, its first line, those below that, and its style."""

    whole: str
    first: str
    rest: tuple[str, ...]
    style: str


_TROUBLE: Final = ("stuck", "stopped", "failed", "left", "quiet")
# How many agents are looked at for the widths of columns.
_LOOKED_AT: Final = 500


class AgentsRows(RowDrawing[AgentsRow]):
    """Draws agents, in the columns that some agent fills; below its line, where there is room, what else matters of it.

    An agent of the channel that has been silent for `quiet_after` microseconds is quiet.
    """

    def __init__(self, context: Context, quiet_after: int) -> None:
        super().__init__(context)
        self._quiet_after = quiet_after
        self.filled = Filled(0)
        self.heights: dict[str, int] = {}
        """How many lines each agent has on screen; one if it is not there."""
        self.brief: set[str] = set()
        """The agents whose question has one line, and that have no other line below theirs."""
        self.answered: dict[str, str] = {}
        """What the human has just answered to an agent."""
        self.dismissed: set[str] = set()
        """The agents whose trouble the human has dismissed."""
        # The tasks that open questions are about, by the uid of the question.
        self._asked: dict[str, TaskLine] = {}
        # The highest bar of all agents: they have one scale.
        self._busiest = 0.0
        # What a filter finds agents by that have nothing open, in their state then: there may be thousands.
        self._said: dict[str, tuple[AgentView, str, str]] = {}

    def state_of(self, row: AgentView) -> str:
        """Return an agent's state now."""
        return agent_states.state_of(row, self.context.clock.now(), self._quiet_after)

    def fit(self, members: Sequence[AgentView]) -> bool:
        """Make room for what these agents have, of very many for those that are there; return whether columns have
        moved, or the scale of their bars has changed.
        """
        context, before = self.context, (self.filled, self._busiest)
        members = sorted(members, key=lambda one: one.is_plain)[:_LOOKED_AT]
        asked = {one.ask.uid: context.state.asked_about.get(one.ask.uid) for one in members if one.ask is not None}
        tasks = {ask: agent_text.live_task(context.db, uid) for ask, uid in asked.items() if uid is not None}
        self._asked = {ask: task for ask, task in tasks.items() if task is not None}
        places = {place for one in members if (place := agent_text.where(one, context))}
        self.filled = Filled(
            max((cell_len(agent_text.who(one.name, 40)) for one in members), default=0),
            max(map(cell_len, places)) if len(places) > 1 else 0,
            max((cell_len(safe_line(text, _WIDEST)) for text in map(self._task, members)), default=0),
            any(_spent(one) for one in members),
            max(
                (max(len(self._look_of(one).word) + AGE - 1, len(self._state_text(one))) for one in members),
                default=STATE - GAP,
            )
            + GAP,
        )
        now = context.clock.now()
        self._busiest = max((max(self._pulse(one, now), default=0) for one in members), default=0)
        return before != (self.filled, self._busiest)

    @staticmethod
    def _pulse(row: AgentView, now: int) -> list[float]:
        """Return the bars of how often an agent was heard in each minute: roots, as one word beside forty is news."""
        return [float(number) ** 0.5 for number in pulse_at(row, now, PULSE_MINUTES)]

    def titles(self, width: int) -> list[Part]:
        """Return the titles of the columns."""
        sizes = columns(width, self.filled)
        # The last of these minutes is the present one.
        pulse = f"last {PULSE_MINUTES} min".rjust(PULSE_MINUTES)
        words = ("who", "state", "what", "where", "task", pulse)
        titled = "".join(f"{word:<{size}}" for word, size in zip(words, sizes, strict=False) if size)
        spent = f"{'spent':>{sizes.spent - 1}}" if sizes.spent else ""
        return [(f"{' ' * GUTTER}{titled}{spent}", "$muted")]

    def draw(self, row: AgentsRow, look: RowLook, line: int) -> Sequence[Part]:
        """Draw the line of an agent, or of several that are gone; below it, one of its other lines."""
        if isinstance(row, GoneAgents):
            return self._gone(row, look)
        if line:
            others = self.others(row, look.width)
            return others[line - 1] if line <= len(others) else ()
        context, now = self.context, self.context.clock.now()
        sizes = self._columns(row, look.width)
        state = self.state_of(row)
        shown = self._look_of(row)
        self._tick(row, state, now)
        is_small, gap = look.width < NARROW, 1 if look.width < NARROW else GAP
        old = "$muted" if state in agent_text.ENDED or row.name in self.dismissed else ""
        head: list[Part] = [
            *gutter(
                look,
                (shown.mark(ascii_only=context.ascii_only), shown.color),
                is_new=self._is_new(row),
                ascii_only=context.ascii_only,
            ),
            (f"{fit_ends(agent_text.who(row.name), sizes.who - gap)}{' ' * gap}", old),
        ]
        since = self._since(row, state)
        asks_below = self.heights.get(row.name, 1) > 1
        # Its question takes the place of what it does only where that is nothing.
        does = self._matter(row, "working", sizes) if state == "asking" and not is_small else None
        matter = does if does is not None and (does.whole or asks_below) else self._matter(row, state, sizes)
        task = self._task_lines(row, sizes)
        if is_small:
            number = f"{first} " if (first := self._task(row).partition(" ")[0]).startswith("#") else ""
            if state == "asking" or number in f"{matter.whole} ":
                number = ""  # it names the task, or begins with that which is asked about
            what = fit(number + (matter.whole or shown.word), sizes.matter)
            return [*head, (f"{since:>{sizes.state - 1}} ", shown.color), (what, matter.style)]
        what, named, room, asks = matter.first, task[0], sizes.text, ""
        asks_unseen = not asks_below and row.name not in self.answered and (matter is does or state == "stuck")
        if asks_unseen and row.ask is not None:
            asks = f"  {agent_text.asks_since(row.ask, context)}"
            room -= cell_len(asks)
        if row.name in self.brief or self.heights.get(row.name, 1) <= max(len(matter.rest), len(task) - 1) or asks:
            named = self._task(row)
            is_question = state in ("waiting", "asking") and row.ask is not None and not row.ask.is_permission
            cut = safe_question if is_question and matter is not does else safe_line
            what = cut(matter.whole, room, ascii_only=context.ascii_only)
        return [
            *head,
            (fit(self._state_text(row), sizes.state - GAP) + " " * GAP, shown.color),
            (what, matter.style),
            (fit(asks, sizes.matter - cell_len(what)), "$state-needs-you"),
            *self._columns_behind(row, sizes, (named, old), now),
        ]

    def _columns_behind(self, row: AgentView, sizes: AgentColumns, task: Part, now: int) -> list[Part]:
        """Return the columns behind what matters most of an agent, as far as there is room: where it works, its task,
        its pulse, and what it has spent.
        """
        parts: list[Part] = []
        if sizes.where:
            parts.append((fit(agent_text.where(row, self.context), sizes.where - GAP) + " " * GAP, "$muted"))
        if sizes.task:
            parts.append((fit(task[0], sizes.name) + " " * (sizes.task - sizes.name), task[1]))
        if sizes.pulse:
            pulse = spark(self._pulse(row, now), self._busiest, ascii_only=self.context.ascii_only)
            parts.append((pulse + " " * (sizes.pulse - PULSE_MINUTES), "$muted"))
        return [*parts, (fit(_spent(row), sizes.spent - 1, "right") + " ", "$muted")] if sizes.spent else parts

    def says(self, row: AgentView) -> str:
        """Return what a filter finds an agent by: what its lines show."""
        state = self.state_of(row)
        if not row.is_plain:
            return self._says(row, state)
        was, was_in, text = self._said.get(row.name, (None, "", ""))
        if was is not row or was_in != state:
            text = self._says(row, state)
            self._said[row.name] = row, state, text
        return text

    def _says(self, row: AgentView, state: str) -> str:
        texts = [
            agent_text.who(row.name),
            self._look_of(row).word,
            self._task(row),
            agent_text.where(row, self.context),
        ]
        texts += [agent_text.matter(row, self.context, state)[0], self.answered.get(row.name, "")]
        texts += [ask_text.request_line(row.ask)] if row.ask is not None else []
        texts += [text for text, _ in agent_text.besides(row, self.context, "", state)]
        return "\n".join(texts).casefold()

    def others(self, row: AgentsRow, width: int) -> list[list[Part]]:
        """Return the lines below that of an agent: its question, or the rest of it, and what else matters of it; on a
        small screen what it works on.
        """
        if isinstance(row, GoneAgents):
            return []
        state, task = self.state_of(row), self._task(row)
        if state in agent_text.ENDED and row.task is None:
            return []
        sizes = self._columns(row, width)
        if width < NARROW:
            return [[(" " * GUTTER, ""), (safe_line(task, width - GUTTER - 1), "$muted")]] if task else []
        indent = GUTTER + sizes.who + sizes.state
        room = width - indent - 2
        # The question of one that works on has a line of its own.
        matter = self._matter(row, "working" if state == "asking" else state, sizes)
        named, question = self._task_lines(row, sizes), self.question(row)
        if row.name in self.brief and row.ask is not None:
            cut = safe_line if row.ask.is_permission else safe_question
            text = cut(question, room - cell_len(self._asks(row)), ascii_only=self.context.ascii_only)
            return [[(" " * indent, ""), *self._asking_head(row), (text, "")]]
        asked = self._wrapped(question, room - cell_len(self._asks(row))) if question else []
        others: list[Part] = []
        shown = f"{matter.whole} {' '.join(named)}"
        for text, style in agent_text.besides(row, self.context, shown, state):
            left = room - sum(cell_len(part) for part, _ in others)
            if left > _LEAST_TEXT:
                others += [("   " * bool(others), ""), (safe_line(text, left - 3 * bool(others)), style)]
        lines: list[list[Part]] = []
        for text, of_task in zip_longest(matter.rest, named[1:], fillvalue=""):
            beside = [(fit(text, sizes.matter), matter.style), (" " * sizes.where, ""), (of_task, "")]
            lines.append(beside if of_task else [(text, matter.style)])
        below: list[list[Part]] = [[(" " * indent, ""), *line] for line in lines]
        beside_asks = [(" " * cell_len(self._asks(row)), "")]
        below += [
            [(" " * indent, ""), *(beside_asks if at else self._asking_head(row)), (text, "")]
            for at, text in enumerate(asked)
        ]
        return [*below, [(" " * indent, ""), *others]] if others else below

    def _asks(self, row: AgentView) -> str:
        """Return `? asks 9m  ` of an agent whose question has a line of its own; else nothing."""
        has_own = row.ask is not None and self.question(row)
        return f"{agent_text.asks_since(row.ask, self.context)}  " if has_own and row.ask is not None else ""

    def _asking_head(self, row: AgentView) -> list[Part]:
        """Return what is before the question of an agent that has a line of its own: since when it is asked."""
        return [(self._asks(row), "$state-needs-you")]

    def question(self, row: AgentsRow) -> str:
        """Return the question of an agent whose first line says something else; empty where it does not."""
        if isinstance(row, GoneAgents) or row.ask is None:
            return ""
        state = self.state_of(row)
        if state == "stuck":
            return ask_text.request_line(row.ask, ascii_only=self.context.ascii_only)
        return agent_text.asked(row, row.ask, self.context) if state == "asking" else ""

    def _columns(self, row: AgentView, width: int) -> AgentColumns:
        """Return the columns of an agent's line: what matters most of it also has the room of those that are empty."""
        sizes = columns(width, self.filled)
        if sizes.where and not agent_text.where(row, self.context):
            sizes = sizes._replace(matter=sizes.matter + sizes.where, where=0)
        if sizes.task and not sizes.where and not self._task(row):
            sizes = sizes._replace(matter=sizes.matter + sizes.task, task=0)
        return sizes

    def _task_lines(self, row: AgentView, sizes: AgentColumns) -> list[str]:
        """Return what an agent works on, on two lines if need be."""
        first, *more = wrapped(self._task(row), sizes.name) if sizes.task else [""]
        return [first, safe_line(" ".join(more), sizes.name)] if more else [first]

    def _matter(self, row: AgentView, state: str, sizes: AgentColumns) -> Matter:
        """Return what matters most of an agent: of those that need the human, on several lines if need be."""
        text, color = agent_text.matter(row, self.context, state)
        if state == "asking" and row.ask is not None and sizes.state > AGE:
            text = f"{agent_text.asks_since(row.ask, self.context)} {agent_text.asked(row, row.ask, self.context)}"
        # Mark and state of the row have the colour.
        color = "$muted" * (row.name in self.dismissed) if color.startswith("$state") else color
        if (answer := self.answered.get(row.name)) is not None:
            text, color = f"answered: {answer}", "$state-done"
        is_small = sizes.state <= AGE
        has_places = bool(self.filled.where) and not is_small and not sizes.where
        place = agent_text.where(row, self.context) if has_places else ""
        whole = safe_line(f"{place}: {text}" if place and text else place or text)
        first, *more = wrapped(whole, sizes.text) or [""]
        if not more or state not in _LONG or is_small:
            return Matter(whole, safe_line(whole, sizes.text), (), color)
        return Matter(whole, first, tuple(self._wrapped(whole[len(first) :].strip(), sizes.text)), color)

    @staticmethod
    def _wrapped(text: str, room: int) -> list[str]:
        """Return a text as a few lines, the last of which is cut."""
        rest = wrapped(text, room)
        return rest if len(rest) <= _REST else [*rest[: _REST - 1], safe_line(" ".join(rest[_REST - 1 :]), room)]

    def _gone(self, row: GoneAgents, look: RowLook) -> Sequence[Part]:
        shown, ascii_only = AGENT_LOOKS["gone"], self.context.ascii_only
        key = self.context.keymap.key_of("agent_log")
        names = (agent_text.who(name, 40) for name in row.names[: look.width])
        words = f"{key} {'folds' if row.is_open else 'shows'} them" if look.cursor else ", ".join(names)
        counts = {shown.word: len(row.names) - row.finished, "finished": row.finished}
        text = f"{', '.join(f'{number} {word}' for word, number in counts.items() if number)}   "
        return [
            *gutter(look, (shown.mark(ascii_only=ascii_only), shown.color), is_new=False, ascii_only=ascii_only),
            (text, "$muted"),
            (fit(words, max(1, look.width - GUTTER - len(text))), "$muted"),
        ]

    def _look_of(self, row: AgentView) -> Look:
        """Return how an agent's state is shown; what the human has dismissed stands back."""
        shown = AGENT_LOOKS[self.state_of(row)]
        return replace(shown, color="$muted") if row.name in self.dismissed else shown

    def _since(self, row: AgentView, state: str) -> str:
        began = agent_states.began(row, state, self.context.state.works.to_review)
        return age(began, self.context.clock.now()) if began is not None else ""

    def _state_text(self, row: AgentView) -> str:
        """Return `working 14m`."""
        return f"{self._look_of(row).word} {self._since(row, self.state_of(row))}".rstrip()

    def _is_new(self, row: AgentView) -> bool:
        """Return whether an agent asks or is in trouble since the human looked, or its last word is about a task that
        it has changed since.
        """
        state = self.context.state
        has_asked = row.ask is not None and state.seen.is_new(row.ask.opened_at, row.ask.task_uid)
        is_new = has_asked or (self.state_of(row) in _TROUBLE and state.seen.is_new(agent_states.trouble_since(row)))
        return is_new or (
            row.word is not None and bool(row.word.task) and state.seen.is_new(row.word.at, row.word.task)
        )

    def _task(self, row: AgentView) -> str:
        """Return number and name of an agent's task; without a task, what it was asked for."""
        if (task := self._task_of(row)) is not None:
            return f"#{task.number} {task.name}"
        prompt = asked_for(row.session) if row.state != "gone" else ""
        return f'"{safe_line(prompt, _PURPOSE)}"' if prompt else ""

    def _task_of(self, row: AgentView) -> TaskLine | None:
        """Return the task that an agent waits with, else that which it is at."""
        asked = self._asked.get(row.ask.uid) if row.ask is not None and row.state in ("waiting", "paused") else None
        is_at_its_own = self.state_of(row) in ("stuck", "asking")
        return row.last_task or asked if is_at_its_own else asked or row.last_task

    def _tick(self, row: AgentView, state: str, now: int) -> None:
        """Set how long the line stays true: until an age, the pulse or the quiet state changes."""
        seen = row.last_seen if state == "asking" else None
        for then in (
            row.since,
            agent_states.began(row, state, self.context.state.works.to_review),
            seen,
            row.tool_since,
            row.word.at if row.word is not None else None,
            row.ask.opened_at if row.ask is not None else None,
            row.stuck.since if row.stuck is not None else None,
        ):
            if then is not None:
                self.lasts(age_lasts(then, now))
        if now - row.last_seen < (PULSE_MINUTES + 1) * MINUTE:
            self.lasts(MINUTE - now % MINUTE + 1)
        if state == "working" and row.session is None:
            self.lasts(max(1, row.last_seen + self._quiet_after + 1 - now))

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how an agent gets here."""
        text = (
            "   No agent has spoken yet.",
            "",
            "   tui-tasks setup claude --hooks   see what Claude Code does",
            "   tui-tasks setup claude           connect it to this list",
        )
        return [(text[line - 1], "$muted" if line > 1 else "")] if 0 < line <= len(text) else ()


def _spent(row: AgentView) -> str:
    return times.spent(row.session.tokens, row.session.cost_usd) if row.session is not None else ""
