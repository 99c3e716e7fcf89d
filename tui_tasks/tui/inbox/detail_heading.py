"""The rule above the detail of the inbox: what the row under the cursor is about, whose it is, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.decided_text import decided_lines
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.ask_views import AskedTasks
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLine, RowSource
from tui_tasks.tui.inbox.inbox_rows import InboxRows
from tui_tasks.tui.painting.line_painter import rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.context import Context

# In cells: the ends of the rule with the spaces beside both texts; the shortest name, and the longest of a list.
_FRAME: Final = 7
_LEAST: Final = 8
_LIST: Final = 24
# On a narrower screen the line of the row has all of it.
_NARROW: Final = 60


class DetailHeading:
    """`─ #4 Pick JWT lib: jose or pyjwt · claude-1 ───────── ? asks 9m ─`, of the line that `put` was called with."""

    def __init__(
        self, context: Context, tasks: AskedTasks, sources: Mapping[str, RowSource[Any]], rows: InboxRows
    ) -> None:
        self._context = context
        self._tasks = tasks
        self._sources = sources
        self._rows = rows
        self._line: InboxLine | None = None

    def put(self, line: InboxLine | None) -> None:
        """Set the line that the detail is about."""
        self._line = line

    def rule(self, width: int, has_more: bool) -> list[Part]:
        """Return the rule; with the key that shows more where the text goes on below the screen."""
        more = self._more if has_more else []
        line = self._line
        if line is None or width < _NARROW:
            return rule_parts(self._context, width, right=more)
        name, facts, room = self._name(line), self._who(line) + self._place(line), self._room(line, width)
        if cell_len(name) + cell_len(facts) > room:
            facts = self._who(line)
        title = [(safe_line(name, max(_LEAST, room - cell_len(facts))), "bold"), (facts, "$muted")]
        state = self._state(line)
        both: list[Part] = [*more, (" · ", "$rule"), *state] if more and state else [*more, *state]
        has_room = _size([*title, *both]) + _FRAME <= width
        return rule_parts(self._context, width, title, both if has_room else more)

    def is_whole(self, width: int) -> bool:
        """Return whether the rule has the name of a row that is no question as it is, whose it is, and its list."""
        line = self._line
        if not isinstance(line, InboxItem) or line.row is None or width < _NARROW or not self._is_plain(line):
            return False
        return cell_len(self._name(line) + self._who(line) + self._place(line)) <= self._room(line, width)

    def _is_plain(self, item: InboxItem) -> bool:
        name = self._sources[item.kind].name(item.row)
        return decided_lines(name, is_prose=True, ascii_only=self._context.ascii_only) == [safe_line(name)]

    def _name(self, line: InboxLine) -> str:
        if isinstance(line, FoldedAsks):
            return f"{agent_text.who(line.agent, 40)} asks {len(line.asks)} more questions"
        if isinstance(line, Ask):
            task = self._tasks.of(line)
            return safe_line(f"#{task.number} {task.name}") if task is not None else agent_text.who(line.agent, 40)
        name = self._sources[line.kind].name(line.row) if line.row is not None else line.title
        return safe_line(f"{line.number} {name}".strip())

    def _who(self, line: InboxLine) -> str:
        who = "" if isinstance(line, FoldedAsks) else line.agent if isinstance(line, Ask) else line.who
        shown = agent_text.who(who, 40) if who else ""
        return f" · {shown}" if shown and shown != self._name(line) else ""

    def _place(self, line: InboxLine) -> str:
        """Return the list of the task, of another one than is shown."""
        home = self._context.state.current_list
        # A job stands in no list, and has no number before it is accepted.
        place = line.place if isinstance(line, InboxItem) and line.number else ""
        is_other = place and (home is None or place != home.name)
        return f" · in {safe_line(place, _LIST)}" if is_other else ""

    def _state(self, line: InboxLine) -> list[Part]:
        """`? asks 9m`, `✗ failed 17m`."""
        if isinstance(line, FoldedAsks):
            return []
        mark, color = self._rows.mark(line)
        since = self._rows.standing(line)
        asks = "asks " if isinstance(line, Ask) and line.state == "open" and "later" not in since else ""
        word = f"{line.need.word} " if isinstance(line, InboxItem) else asks
        return [(f"{mark} {word}{since}".rstrip(), color)]

    @property
    def _more(self) -> list[Part]:
        return [("more below ", "$changed"), (self._context.keymap.key_of("page_down"), "$key")]

    def _room(self, line: InboxLine, width: int) -> int:
        """Return how many cells there are for name and facts, whether there is more below or not."""
        return width - _FRAME - max(_size(self._state(line)), _size(self._more))


def _size(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)
