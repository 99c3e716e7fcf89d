"""Which agents the screen Agents lists, in which order, columns and lines, and which of them need the human; and how
the list shares the screen with the head above it and the note below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec
from textual.geometry import Size
from typing_extensions import override

from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.agents.last_words import PULSE_MINUTES
from tui_tasks.text.glyphs import AGENT_LOOKS
from tui_tasks.tui.layout import NARROW, WIDE, has_air, is_compact, is_wide
from tui_tasks.tui.needs.agent_entries import AgentEntries
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import GUTTER
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.agents.agent_note import AgentNote
    from tui_tasks.tui.agents.agent_rows import AgentsRows
    from tui_tasks.tui.widgets.screen_head import ScreenHead

# In cells: what stands between two columns, on a small screen less.
GAP: Final = 2
# As wide as `interrupted 300d`, and the gap.
STATE: Final = 18
# In cells: an age, and a space.
AGE: Final = 5
_SPENT: Final = 11
# In cells: the least that is left beside name and state where places have a column.
_LEAST_REST: Final = 46
# In cells: what matters most leaves the rest to a longer task on a wide screen.
_WHAT: Final = 31
# The lines of the note and of the agents at least, and the lines of titles, rule and foot.
_LEAST_NOTE: Final = 3
_LEAST_ROWS: Final = 3
_AROUND: Final = 3


class Filled(NamedTuple):
    """What agents have: the widths in cells of the longest name, place, task and state, and whether any has costs."""

    who: int
    where: int = 10
    task: int = 20
    spent: bool = True
    state: int = STATE


class AgentColumns(NamedTuple):
    """The width of each column in cells, with the space after it; 0: not shown."""

    who: int
    state: int
    matter: int
    where: int
    task: int
    pulse: int
    spent: int

    @property
    def text(self) -> int:
        """The width of what matters most without the space after it."""
        return self.matter - (GAP if self.where or self.task or self.pulse else 1)

    @property
    def name(self) -> int:
        """The width of the task without the space after it."""
        return self.task - (GAP if self.pulse else 1)


def columns(width: int, filled: Filled) -> AgentColumns:
    """Divide a width into columns; those that no agent fills are left out."""
    if width < NARROW:
        who = min(max(filled.who, 6), 10) + 1
        return AgentColumns(who, AGE, max(1, width - GUTTER - who - 6), 0, 0, 0, 0)
    if width < WIDE:
        who = min(max(filled.who, 8), 15) + GAP
        rest = width - GUTTER - who - filled.state
        where = min(max(filled.where, len("where")), 8) + GAP if filled.where and rest >= _LEAST_REST else 0
        rest -= where
        task = min(filled.task + 1, rest * (17 if where else 19) // 40) if filled.task else 0
        return AgentColumns(who, filled.state, max(1, rest - task), where, task, 0, 0)
    who, where, spent = (
        min(max(filled.who, 8), 20) + GAP,
        min(max(filled.where, len("where")), 10) + GAP if filled.where else 0,
        _SPENT if filled.spent else 0,
    )
    pulse = PULSE_MINUTES + (GAP if spent else 1)
    rest = width - GUTTER - who - filled.state - where - pulse - spent
    task = min(filled.task + GAP, max(rest // 2, rest - _WHAT)) if filled.task else 0
    return AgentColumns(who, filled.state, rest - task, where, task, pulse, spent)


# Those that need the human most come first.
_RANKS: Final = {state: rank for rank, state in enumerate(AGENT_LOOKS)}


class GoneAgents(msgspec.Struct, frozen=True):
    """Agents that are gone and have left nothing open, as one line. Their lines follow it if it `is_open`."""

    names: tuple[str, ...]
    is_open: bool
    finished: int = 0
    """How many of them have finished."""

    name: ClassVar[str] = ""


AgentsRow = AgentView | GoneAgents


class AgentOrder:
    """The order of the agents that were read last."""

    def __init__(self, context: Context, quiet_after: int) -> None:
        """`quiet_after`: in microseconds, the silence after which an agent of the channel is quiet."""
        self._context = context
        self._quiet_after = quiet_after
        self._over: set[str] = set()
        self.dismissed: set[str] = set()
        """The agents whose trouble the human has dismissed."""
        self.have_left: set[str] = set()
        """The agents that have left their tasks."""

    def read(self, members: Sequence[AgentView]) -> None:
        """Note of these agents what changes with them alone."""
        now, seen_at = self._context.clock.now(), self._context.state.seen.dismissed_at
        self._over = {member.name for member in members if agent_states.is_over(member, now, seen_at)}
        failed = {member.name for member in members if member.state == "failed"}
        self.dismissed = AgentEntries(self._context, lambda span: None).dismissed() | (failed & self._over)
        grace = self._quiet_after
        self.have_left = {one.name for one in members if agent_states.left_task(one, now, grace) is not None}

    def folded(self, members: Sequence[AgentView], kept: str | None, *, is_open: bool) -> list[AgentsRow]:
        """Return the rows of agents: several that are gone, with nothing open, have one before all others.

        `kept`: an agent that is not among them. `is_open`: each of them has its own row as well.
        """
        gone = [
            one
            for one in members
            if one.name != kept
            and one.state == "gone"
            and one.task is None
            and one.to_review is None
            and one.ask is None
            and one.name not in self.have_left
        ]
        if len(gone) < 2:
            return [*members]
        fold = GoneAgents(tuple(one.name for one in gone), is_open, sum(map(agent_states.has_finished, gone)))
        folded = set() if is_open else {*fold.names}
        return [fold, *(one for one in members if one.name not in folded)]

    def place(self, row: AgentsRow) -> tuple[Any, ...]:
        """Return what a row is sorted by."""
        if isinstance(row, GoneAgents):
            return (_RANKS["gone"], 0, "", "")
        now_in = agent_states.reported_state(row, self._context.clock.now(), self._quiet_after)
        asks = row.ask if now_in in ("waiting", "asking", "paused") else None
        since = asks.opened_at if asks is not None else row.since or 0 if now_in == "waiting" else 0
        shown = self._state_of(row)
        if shown not in ("stuck", "left", "stopped", "ready"):
            has_lost = now_in == "idle" and row.task is None and row.lapsed_claim is not None
            shown = "quiet" if has_lost else "gone" if row.name in self._over else now_in
            shown = "waiting" if asks is not None else shown
        return (_RANKS[shown], since, row.name.casefold(), row.name)

    def needs_you(self, row: AgentsRow) -> bool:
        """Return whether an agent waits for the human or is in trouble."""
        if not isinstance(row, AgentView) or (row.state == "failed" and row.name in self._over):
            return False
        if row.state == "waiting" or row.ask is not None:
            return True
        has_stopped = self._state_of(row) in ("stuck", "stopped", "failed", "left")
        return (has_stopped or row.name in self.have_left) and row.name not in self.dismissed

    def _state_of(self, row: AgentView) -> str:
        return agent_states.state_of(row, self._context.clock.now(), self._quiet_after)


class AgentsList(VirtualList[AgentsRow]):
    """The agents, each with lines below its own as far as all fit."""

    def __init__(self, context: Context, drawing: AgentsRows) -> None:
        super().__init__(context, drawing, id="people")
        self._agent_rows = drawing

    def lines_of(self, row: AgentsRow) -> int:
        """Return how many lines all that is said of an agent takes."""
        drawing = self._agent_rows
        brief, drawing.brief = drawing.brief, set()
        lines = 1 + len(drawing.others(row, self.size.width or self.app.size.width))
        drawing.brief = brief
        return lines

    @override
    def row_heights(self) -> Sequence[int] | None:
        """Each question has a line before any text has more than one; those that wait for the human come first."""
        drawing = self._agent_rows
        drawing.heights, drawing.brief = {}, set()
        rows, size = self._cache.rows, self.size
        if not (self._cache.has_first and self._cache.has_last) or len(rows) >= size.height:
            return None
        left = size.height - len(rows)
        if size.width >= NARROW:
            drawing.brief = {row.name for row in [row for row in rows if drawing.question(row)][:left]}
        left -= len(drawing.brief)
        tall = []
        for row in rows:
            is_brief = row.name in drawing.brief
            drawing.brief.discard(row.name)
            more = len(drawing.others(row, size.width))
            if more - is_brief <= left:
                left -= more - is_brief
            else:  # half of a text reads as all of it
                more = int(is_brief)
                drawing.brief |= {row.name} if is_brief else set()
            tall.append(1 + more)
        drawing.heights = {row.name: lines for row, lines in zip(rows, tall, strict=True)}
        return tall


class SharedLines:
    """Divides the lines of the screen among head, agents and note."""

    def __init__(self, size: Callable[[], Size], head: ScreenHead, window: AgentsList, note: AgentNote) -> None:
        """`size` returns that of the screen."""
        self._size = size
        self._head = head
        self._window = window
        self._note = note
        # Kept, as measuring it looks at all agents.
        self._head_height = self._head_most = 0
        # The lines of the agents; None: all that there are.
        self._rows_high: int | None = None
        self.has_all_questions = True
        """Whether each question has lines in the row of its agent."""

    def measure_head(self) -> None:
        """Measure the head again, as what it shows or the screen has changed."""
        size = self._size()
        self._head_height, self._head_most = self._head.height(size), self._head.most(size)

    def _room(self, head: int) -> int:
        """Return how many lines the agents and the note have below a head of so many."""
        size = self._size()
        return size.height - head - _AROUND - is_wide(size)

    def of_note(self) -> int:
        """Return how many lines the note has."""
        return max(_LEAST_NOTE, self._room(self._head_height) - (self._rows_high or 0))

    def fit(self, rows: Sequence[AgentsRow]) -> None:
        """Give the agents the lines that they need, and the note all others: a third at least where not all agents have
        the lines that they need, and up to half of the screen where the question under the cursor is whole in them.
        Questions that agents have no lines for have rows above, unless these would leave too little for that one.
        """
        size, high, had_all = self._size(), None, self.has_all_questions
        if not is_compact(self._window.app.size):
            asked = min(self._note.asked_lines(size.width), size.height // 2)
            least, most = max(_LEAST_NOTE, asked), self._room(self._head_most)
            room = self._room(self._head_height)
            needed = sum(map(self._window.lines_of, rows)) + has_air(size) if len(rows) < room else room
            self.has_all_questions = needed <= (room if had_all else most) - least or most < least + _LEAST_ROWS
            if self.has_all_questions != had_all:
                self._head.free_needs()
                self._head_height = self._head.height(size)
                room = self._room(self._head_height)
            high = needed if needed <= room - least else max(_LEAST_ROWS, min(needed, room - max(least, room // 3)))
        if high != self._rows_high:
            self._rows_high = high
            self._window.styles.height = "1fr" if high is None else high
