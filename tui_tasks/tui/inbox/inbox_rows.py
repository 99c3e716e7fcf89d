"""Draws the lines of the inbox in columns: what waits, for whom, and since when; below each, while rows are free, the
rest of its text and what helps to decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.text.glyphs import AGENT_LOOKS, look
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.ask_views import AskedTasks
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLine, RowSource
from tui_tasks.tui.needs.open_needs import is_new
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import GUTTER, NUMBER_GAP, RowDrawing, RowLook, gutter, nothing_matches
from tui_tasks.tui.state.context import Context

# In cells: the narrowest text; an age; a project.
_LEAST: Final = 8
_AGE: Final = 4
_WHERE: Final = 8
# In cells: the longest name of an agent, and that on a narrow screen.
_WHO: Final = 16
_SHORT_WHO: Final = 10
_WIDE: Final = 100
# The most lines of one row, and the most characters of a text below the first.
_MOST: Final = 12
_MORE_CHARS: Final = 600
# How many rows are looked at for the widths of columns.
_LOOKED_AT: Final = 200


class InboxColumns(NamedTuple):
    """The widths in cells of number, project, agent and age; 0: no row has it. A word in place of an age widens its own
    row alone.
    """

    number: int = 0
    where: int = 0
    who: int = 0
    standing: int = _AGE


class RowText(NamedTuple):
    """The text of a row in lines, with their styles; the first `title` lines are what it is about. `is_cut`: there is
    more of that.
    """

    lines: tuple[Part, ...]
    title: int
    is_cut: bool = False


class InboxRows(RowDrawing[InboxLine]):
    """Draws what waits; on a small screen only the row under the cursor is seen, in one line.

    Attributes:
        filter: the words that hide other rows.
        wraps: whether what a row is about may take several lines; the detail has it whole.
        heights: how many lines each row has on screen; one if it is not there.
    """

    def __init__(
        self,
        context: Context,
        listed: InMemorySource[InboxLine],
        tasks: AskedTasks,
        sources: Mapping[str, RowSource[Any]],
    ) -> None:
        """`listed` are all rows."""
        super().__init__(context)
        self.filter = ""
        self.no_match = lambda: nothing_matches(context, self.filter) if self.filter else ""
        self.is_small = False
        self.wraps = True
        self.heights: dict[str, int] = {}
        self._sources = sources
        self._listed = listed
        self._tasks = tasks
        self._columns = InboxColumns()
        # The questions that several agents ask.
        self._alike: Collection[str] = ()
        self._texts: dict[str, tuple[tuple[int, bool], RowText]] = {}

    @property
    def rows(self) -> Sequence[InboxLine]:
        """All rows."""
        return self._listed.rows

    def fit(self) -> bool:
        """Read the texts of rows again, and make room for what they have; return whether columns have moved."""
        before, rows = self._columns, self._listed.rows[:_LOOKED_AT]
        self._texts = {}
        projects = self.context.state.projects
        askers = [(row.agent, row.question) for row in rows if isinstance(row, Ask)]
        asked = Counter(question for _, question in {*askers})
        self._alike = {question for question, number in asked.items() if number > 1}
        numbers = [cell_len(self._number(row)) for row in rows]
        self._columns = InboxColumns(
            max(self.context.state.number_width, *numbers) if any(numbers) else 0,
            _WHERE * any(isinstance(row, Ask) and projects.of_ask(row) for row in rows),
            max((cell_len(self._who(row)) for row in rows), default=0),
            max(_AGE, *(cell_len(self.standing(row)) * (not self._has_word(row)) for row in rows)) if rows else _AGE,
        )
        return before != self._columns

    # One row

    def draw(self, row: InboxLine, row_look: RowLook, line: int) -> Sequence[Part]:
        """Draw mark, number, what it is, agent and age; or a line of its text below that."""
        if self.is_small:
            return self._in_one_line(row, row_look.width)
        if isinstance(row, FoldedAsks):
            return self._folded(row, row_look)
        text, indent, right = self.text(row, row_look.width), self._indent(), self._right(row, row_look.width)
        tall = self.heights.get(row.uid, 1)
        room = self._room(row, row_look.width)
        shown, style = self._shown_line(
            text, tall, line, room if line < text.title else self._room_below(row_look.width)
        )
        if tall == 1 < text.title:
            shown = self._in_short(row, room)
        if line:
            return [(" " * indent, ""), (shown, style)]
        if isinstance(row, InboxItem):
            self._sources[row.kind].painted(row.row, is_whole=tall >= text.title and not text.is_cut)
        ascii_only = self.context.ascii_only
        return (
            *gutter(row_look, self.mark(row), is_new=self._is_new(row), ascii_only=ascii_only),
            (f"{self._number(row):<{self._indent() - GUTTER}}", "$muted"),
            *self._with_cause(row, fit(shown, room, ascii_only=ascii_only), style),
            (right, "$muted"),
        )

    def text(self, row: InboxLine, width: int) -> RowText:
        """Return the text of a row in lines for a width."""
        known, layout = self._texts.get(row.uid), (width, self.wraps)
        if known is None or known[0] != layout:
            known = self._texts[row.uid] = layout, self._laid_out(row, self._room(row, width), self._room_below(width))
        return known[1]

    def _laid_out(self, row: InboxLine, room: int, below: int) -> RowText:
        """Return the text of a row; what helps to decide has `below` cells, as no columns stand beside it."""
        ascii_only = self.context.ascii_only
        if isinstance(row, FoldedAsks):
            return RowText((("", ""),), 1)
        title, style = self._title(row), ""
        more: Sequence[Part] = ()
        if isinstance(row, Ask):
            style = "$muted" if self._has_word(row) else ""
        else:
            more = self._sources[row.kind].more(row.row)
        whole = wrapped(title, room) or [""]
        is_cut = not self.wraps and len(whole) > 1
        lines: list[Part] = [(line, style) for line in ([self._in_short(row, room)] if is_cut else whole)]
        number = len(lines)
        for paragraph, style in more:
            short = safe_line(paragraph[:_MORE_CHARS], ascii_only=ascii_only)
            lines += [(line, style) for line in wrapped(short, below)]
        return RowText(tuple(lines), number, is_cut)

    def _title(self, row: Ask | InboxItem) -> str:
        """Return what a row is about."""
        ascii_only = self.context.ascii_only
        title = ask_text.request_line(row, ascii_only=ascii_only) if isinstance(row, Ask) else row.title
        return safe_line(title, ascii_only=ascii_only)

    def _in_short(self, row: Ask | InboxItem, room: int) -> str:
        """Return what a row is about in one line: of a failure its cause, of a question its beginning and its end."""
        ascii_only = self.context.ascii_only
        if isinstance(row, Ask) and not row.is_permission:
            return safe_question(ask_text.request_line(row, ascii_only=ascii_only), room, ascii_only=ascii_only)
        brief = row.brief if isinstance(row, InboxItem) else ""
        return safe_line(brief or self._title(row), room, ascii_only=ascii_only)

    def _with_cause(self, row: InboxLine, shown: str, style: str) -> list[Part]:
        """Return the line of a failure or an agent in trouble: its name, or the word for its state, stands back; the
        cause is what one looks for.
        """
        if isinstance(row, InboxItem) and row.brief:
            for name in (safe_line(self._sources[row.kind].name(row.row)), row.need.word):
                if name and shown.startswith(f"{name}: "):
                    return [(name, "$muted"), (shown[len(name) :], style)]
        return [(shown, style)]

    def _shown_line(self, text: RowText, tall: int, line: int, room: int) -> Part:
        """Return a line of a text of which `tall` lines are shown; the last of those says that more follows."""
        if line >= len(text.lines):
            return "", ""
        shown, style = text.lines[line]
        if line < tall - 1 or tall >= len(text.lines) or (tall == text.title and line == tall - 1):
            return shown, style
        rest = text.lines[line : text.title] or text.lines[line : line + 2]
        return safe_line(" ".join(each for each, _ in rest), room, ascii_only=self.context.ascii_only), style

    # Columns

    def _room(self, row: InboxLine, width: int) -> int:
        """Return how many cells the text of a row has."""
        return max(_LEAST, width - self._indent() - self._right_width(row, width))

    def _room_below(self, width: int) -> int:
        return max(_LEAST, width - self._indent() - 2)

    def _indent(self) -> int:
        number = self._columns.number
        return GUTTER + (number + NUMBER_GAP if number else 0)

    def _who_width(self, width: int) -> int:
        return min(self._columns.who, _WHO if width >= _WIDE else _SHORT_WHO)

    def _beside(self, row: InboxLine, width: int) -> tuple[str, bool]:
        """Return project and agent, and whether there is an age. A row without the first leaves their cells to its
        text, as one does whose text is whole in them alone. Of a question agent and age give way before a word does,
        but the agent of one that another asks as well.
        """
        project = self.context.state.projects.of_ask(row) if isinstance(row, Ask) else ""
        where = f"{fit(project, self._columns.where)}  " if project else ""
        who = self._who(row)
        ends = f"{fit_ends(who, self._who_width(width), ascii_only=self.context.ascii_only)}  " if who or where else ""
        beside, is_asked = f"{where}{ends}", isinstance(row, Ask)
        keeps = isinstance(row, Ask) and (row.is_permission or row.question in self._alike)
        if self.wraps or isinstance(row, FoldedAsks) or keeps:
            return beside, True
        room, title = width - self._indent() - 2 - self._standing_width(row) - 1, cell_len(self._title(row))
        if title <= room - cell_len(beside):
            return beside, True
        if title <= room or not is_asked:
            return beside if title > room else "", True
        return "", self._has_word(row)

    def _right_width(self, row: InboxLine, width: int) -> int:
        beside, has_age = self._beside(row, width)
        return 2 + cell_len(beside) + self._standing_width(row) + 1 if has_age else 1

    def _has_word(self, row: InboxLine) -> bool:
        """Return whether a question has been answered or put off, which a word says in the column of the ages."""
        return isinstance(row, Ask) and (row.state != "open" or row.uid in self.context.state.seen.put_off)

    def _standing_width(self, row: InboxLine) -> int:
        return max(self._columns.standing, cell_len(self.standing(row)))

    def _right(self, row: Ask | InboxItem, width: int) -> str:
        """Return project, agent and age."""
        if (span := self.standing_lasts(row)) is not None:
            self.lasts(span)
        beside, has_age = self._beside(row, width)
        return f"  {beside}{self.standing(row):>{self._standing_width(row)}} " if has_age else " "

    def _is_new(self, row: Ask | InboxItem) -> bool:
        """Return whether a row has come since the human looked."""
        state = self.context.state
        if isinstance(row, Ask):
            return row.state == "open" and state.seen.is_new(row.opened_at, row.task_uid)
        return is_new(state, row.need)

    def mark(self, row: Ask | InboxItem) -> Part:
        """Return the sign of its state."""
        if isinstance(row, InboxItem) and row.state == "left":
            state = AGENT_LOOKS["left"]
        else:
            state = look(ask_text.ask_state(row) if isinstance(row, Ask) else row.state)
        return state.mark(ascii_only=self.context.ascii_only), state.color

    def _number(self, row: InboxLine) -> str:
        if isinstance(row, Ask):
            return self._tasks.number(row)
        return row.number if isinstance(row, InboxItem) else ""

    def _who(self, row: InboxLine) -> str:
        name = row.who if isinstance(row, InboxItem) else row.agent
        return agent_text.who(name) if name else ""

    def standing_lasts(self, row: InboxLine) -> int | None:
        """Return for how many microseconds `standing` stays the same; None where it has no age."""
        if isinstance(row, FoldedAsks) or (isinstance(row, Ask) and row.state != "open"):
            return None
        return age_lasts(row.opened_at if isinstance(row, Ask) else row.at, self.context.clock.now())

    def standing(self, row: InboxLine) -> str:
        """Return how long it has waited, or what became of a question; nothing while its checks run again."""
        now = self.context.clock.now()
        if isinstance(row, InboxItem):
            return age(row.at, now) if row.need.at is not None and row.state != "running" else ""
        if isinstance(row, FoldedAsks):
            return ""
        if row.state != "open":
            return ask_text.ask_word(row)
        return f"{'later ' * self._has_word(row)}{age(row.opened_at, now)}"

    # Other lines

    def _in_one_line(self, row: InboxLine, width: int) -> Sequence[Part]:
        """`   ? Needs you 1 of 2  #4  claude-1  9m`: here it is the title of the screen."""
        if isinstance(row, FoldedAsks):
            return self._folded(row, RowLook(False, False, False, False, False, width))
        number = f"{self._number(row)}  " if self._number(row) else ""
        head = f"Needs you {self._listed.place(row) + 1} of {self._listed.total()}  {number}"
        word = f"{row.need.word} " if isinstance(row, InboxItem) else ""
        right = f"  {word}{self.standing(row).removeprefix('later ')}"
        if isinstance(row, InboxItem):
            self._sources[row.kind].painted(row.row, is_whole=False)
        self._right(row, width)  # for how long it lasts
        who = self._who(row) or (row.title if isinstance(row, InboxItem) else "")
        room = max(4, width - GUTTER - len(head) - len(right))
        before = gutter(None, self.mark(row), is_new=self._is_new(row), ascii_only=self.context.ascii_only)
        return (*before, (head, ""), (safe_ends(who, room), "$muted"), (right, "$muted"))

    def _folded(self, row: FoldedAsks, row_look: RowLook) -> Sequence[Part]:
        words = f"{len(row.asks)} more of {safe_ends(agent_text.who(row.agent), 30)}"
        how = f"  {self.context.keymap.key_of('ask_open')} lists them "
        room = max(0, row_look.width - GUTTER - cell_len(words))
        glyph = ("…", "$state-needs-you")
        return (
            *gutter(row_look, glyph, is_new=False, ascii_only=self.context.ascii_only),
            (words, "$state-needs-you"),
            (fit(how, room, "right"), "$muted"),
        )

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how a question gets here."""
        text: Sequence[str] = (
            "   Nothing needs you.",
            "",
            "   Questions and permissions of agents, work to review, held tasks,",
            "   agents in trouble, and what failed or is late appear here.",
        )
        at = line if self.is_small else line - 1
        return [(text[at], "" if at == 0 else "$muted")] if 0 <= at < len(text) else ()


EMPTY_LINES: Final = 6
"""The lines of an inbox in which nothing waits."""


class InboxList(VirtualList[InboxLine]):
    """The rows of the inbox, each with the lines that its text needs while there is room, wherever the cursor is."""

    def __init__(self, context: Context, drawing: InboxRows) -> None:
        super().__init__(context, drawing, id="asks")
        self._inbox_rows = drawing
        self._high = 0

    def fit(self, most: int, most_rows: int, gap: int) -> None:
        """Take the lines that all rows need and `gap` empty ones, up to `most`, or a line for each row up to
        `most_rows`.
        """
        rows = self._inbox_rows.rows
        # Of more rows than lines none is looked at.
        wanted = len(rows) or EMPTY_LINES
        if 0 < len(rows) < most:
            wanted = sum(map(self._lines_of, rows)) + gap
        high = max(1, min(max(most, min(len(rows), most_rows)), wanted))
        if high != self._high:
            self._high = high
            self.styles.height = high

    def _lines_of(self, row: InboxLine) -> int:
        return min(_MOST, len(self._text_of(row).lines))

    def _text_of(self, row: InboxLine) -> RowText:
        return self._inbox_rows.text(row, self.size.width or self.app.size.width)

    @override
    def row_heights(self) -> Sequence[int] | None:
        """One line for each; then the rest of what each is about, of questions last, as they are shortened best; then
        by turns the lines that help to decide.
        """
        drawing = self._inbox_rows
        drawing.heights = {}
        rows, left = self._cache.rows, self.size.height - len(self._cache.rows)
        if drawing.is_small or not (self._cache.has_first and self._cache.has_last) or left <= 0:
            return None
        wanted = {row.uid: self._lines_of(row) for row in rows}
        high = dict.fromkeys(wanted, 1)
        for row in sorted(rows, key=lambda row: isinstance(row, Ask)):
            more = min(self._text_of(row).title, wanted[row.uid]) - 1
            high[row.uid] += min(more, left)
            left -= min(more, left)
        while left and (short := [uid for uid in high if high[uid] < wanted[uid]]):
            for uid in short[:left]:
                high[uid] += 1
            left -= len(short[:left])
        drawing.heights = high
        return [high[row.uid] for row in rows]
