"""The list of agents, whose rows have as many lines as all have room for; and how it shares the screen with the head
above it and the note below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual.geometry import Size
from typing_extensions import override

from tui_tasks.tui.agents.agent_note import AgentNote
from tui_tasks.tui.agents.agent_layout import AgentsRow
from tui_tasks.tui.agents.agent_rows import AgentsRows
from tui_tasks.tui.layout import NARROW, has_air, is_compact, is_wide
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.screen_head import ScreenHead

# The lines of the note and of the agents at least, and the lines of titles, rule and foot.
_LEAST_NOTE: Final = 3
_LEAST_ROWS: Final = 3
_AROUND: Final = 3


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
