"""The rows of the inbox as they are read, filtered and drawn; below them the text of the one under the cursor, and the
rule above it: what the row is about, whose it is, and since when. A key acts on no row that has not stood on screen
long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.unhidden_text import unhidden_lines
from tui_tasks.core.vocab import RESERVED_AGENTS
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.asks.ask_detail import AskDetail
from tui_tasks.tui.asks.ask_views import AskedTasks, AskView
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLine, InboxLines, RowSource
from tui_tasks.tui.inbox.inbox_rows import InboxList, InboxRows
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.needs.open_needs import CAN_BE_DISMISSED
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.textual_overrides import NoRelayout

# The lines that the detail keeps.
_LEAST_DETAIL: Final = 7
# The lines of rows and detail from which an empty one stands between them.
_AIRY: Final = 30


class ListedRows:
    """The rows as they are read, filtered and drawn, and the one under the cursor."""

    def __init__(
        self,
        lines: InboxLines,
        drawing: InboxRows,
        window: InboxList,
        room: Callable[[], int],
        on_read: Callable[[Sequence[Ask]], None],
    ) -> None:
        """`room` returns how many lines rows and detail have together; `on_read` gets the questions that are listed."""
        self.lines = lines
        self.window = window
        self._drawing = drawing
        self._room = room
        self._on_read = on_read

    @property
    def here(self) -> InboxLine | None:
        """The row under the cursor."""
        return self.lines.listed.get(self.window.cursor)

    @property
    def item(self) -> InboxItem | None:
        """The same where it is no question."""
        return here if isinstance(here := self.here, InboxItem) else None

    @property
    def folded(self) -> FoldedAsks | None:
        """The folded questions under the cursor."""
        return here if isinstance(here := self.here, FoldedAsks) else None

    @property
    def can_dismiss(self) -> bool:
        """Whether the row under the cursor can be dismissed: an agent, or a failure."""
        item = self.item
        return item is not None and item.need.kind in CAN_BE_DISMISSED and not item.need.is_rest

    def agent_here(self) -> str | None:
        """Return the agent of the row under the cursor."""
        here = self.here
        if isinstance(here, InboxItem):
            return here.who if here.who not in ("", *RESERVED_AGENTS) else None
        return here.agent if here is not None else None

    def marked(self) -> list[Any]:
        """Return the marked rows as their source has read them."""
        lines = (self.lines.listed.get(key) for key in self.window.marks)
        return [line.row for line in lines if isinstance(line, InboxItem)]

    @property
    def filter(self) -> str:
        """The words that hide other rows."""
        return self.lines.filter

    def filter_by(self, words: str) -> None:
        """List only the rows that contain each of these words, when they are read again."""
        self.lines.filter = self._drawing.filter = words

    def read(self, under: Ask | None = None) -> set[str]:
        """Read the rows; return the keys of those that changed. `under`, a question, stays when it is closed."""
        self._on_read(self.lines.asks())
        changed = self.lines.read(under)
        if self._drawing.fit():
            self.window.redraw()
        return changed

    def change(self, under: Ask | None) -> None:
        """Read the rows again, and draw those that changed."""
        self.window.change(self.read(under))
        self.fit()

    def refilter(self, cursor: str | None) -> None:
        """Read other rows, with the cursor on one of them."""
        self.read()
        self.fit()
        self.window.refilter(self.lines.listed, cursor)

    def redraw(self) -> None:
        """Draw them again, with the lines that they need."""
        self.fit()
        self.window.redraw()

    def fit(self) -> None:
        """Give the list the lines that its rows need: at most half of those that there are, or one for each row where
        the detail keeps enough.
        """
        room, is_small = self._room(), is_compact(self.window.app.size)
        self._drawing.is_small, self._drawing.wraps = is_small, room >= _AIRY
        says_no_match = bool(self.filter) and not self.lines.listed.rows
        is_one = is_small and not says_no_match
        self.window.fit(1 if is_one else room // 2, 1 if is_one else room - _LEAST_DETAIL, int(room >= _AIRY))


class DetailScroll(VerticalScroll, NoRelayout):
    """Scrolls the detail."""


class RowsAndDetail(Container, NoRelayout):
    """Shows `rows`, which have the focus, and `detail`, which is scrolled by pages (`PageKeys`)."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    RowsAndDetail { height: 1fr; layout: vertical; }
    RowsAndDetail VirtualList { height: 1; }
    RowsAndDetail VerticalScroll { height: 1fr; width: 1fr; }
    """

    def __init__(
        self,
        context: Context,
        rows: VirtualList[Any],
        detail: TextLines,
        heading: Callable[[int, bool, Callable[[int], None]], list[Part]],
    ) -> None:
        """`heading` returns the rule between both for a width, and whether the text goes on below what is on screen; it
        calls what it is given with the microseconds for which that stays true.
        """
        super().__init__()
        self.context = context
        self._rows = rows
        self._detail = detail
        self.scroll = DetailScroll(detail, can_focus=False)
        self._rule = FrameLine(context, lambda width: heading(width, self.has_more, self._rule.lasts))
        self.has_more = False
        """Whether the text goes on below what is on screen."""

    def compose(self) -> ComposeResult:
        """Compose the rows and the text, with a rule between them."""
        yield self._rows
        yield self._rule
        yield self.scroll

    def painted(self) -> None:
        """Show in the rule whether the text goes on below what is on screen."""
        if (has_more := self.scroll.scroll_y < self.scroll.max_scroll_y) != self.has_more:
            self.has_more = has_more
            self._rule.redraw()

    def redraw(self) -> None:
        """Draw the rule and the text again."""
        self._rule.redraw()
        self._detail.redraw()

    def show_beginning(self) -> None:
        """Scroll to the beginning at once, as the text is another."""
        self.scroll.scroll_home(animate=False, immediate=True)

    def shows_line(self, line: int) -> bool:
        """Return whether a line of the text is on screen now."""
        return round(self.scroll.scroll_y) <= line < self.seen_lines

    def on_resize(self) -> None:
        """Draw the text for the lines that it has now."""
        self._detail.redraw()

    @property
    def room(self) -> int:
        """How many lines the text has on screen; 0 while that is not known."""
        rows = self._rows.styles.height
        return max(0, self.size.height - round(rows.value) - 1) if rows is not None and self.size.height else 0

    @property
    def seen_lines(self) -> int:
        """How many lines of the text, from its beginning, are on screen or above it; 0 where it has no room."""
        return round(self.scroll.scroll_y) + self.scroll.size.height if self.scroll.size.height else 0


class PageKeys(Controller):
    """Scrolls the text beside rows by pages; other keys move the cursor in the rows."""

    def __init__(self, both: RowsAndDetail) -> None:
        self._both = both

    def do_page_down(self) -> None:
        """Scroll a page down."""
        self._both.scroll.scroll_page_down(animate=False)

    def do_page_up(self) -> None:
        """Scroll a page up."""
        self._both.scroll.scroll_page_up(animate=False)


class RowsRead:
    """Notes what is painted of the rows and of the detail of the row under the cursor."""

    def __init__(
        self, reading: Reading, sources: Mapping[str, RowSource[Any]], rows: VirtualList[InboxLine], both: RowsAndDetail
    ) -> None:
        """`both` shows the detail beside or below `rows`."""
        self._reading = reading
        self._sources = sources
        self._rows = rows
        self._both = both
        # Since when each question is listed, and when a marked row was last taken away by others.
        self._listed_since: dict[str, float] = {}
        self._marks_lost_at = -inf

    def listed(self, asks: Iterable[Ask]) -> None:
        """Note which questions are listed from now on."""
        now = monotonic()
        self._listed_since = {ask.uid: self._listed_since.get(ask.uid, now) for ask in asks}

    def marks_lost(self) -> None:
        """Note that others took away a marked row: without marks a key is about the row under the cursor."""
        self._marks_lost_at = monotonic()

    def painted(self, item: InboxItem | None, view: AskView | None, detail: AskDetail) -> None:
        """Note what is on screen; `item` or `view` is the row under the cursor."""
        version: object = view.version if view is not None and view.ask.state == "open" else None
        to_end = item is None and detail.ends_by(version, self._both.seen_lines)
        if item is not None:
            version = self._version_of(item)
            self._sources[item.kind].seen(item.row, self._both.seen_lines)
        self._reading.painted(version, to_end=to_end)
        rows = [line for line in self._rows.rows_on_screen if isinstance(line, InboxItem)]
        for kind, source in self._sources.items():
            there = [line.row for line in rows if line.kind == kind]
            source.on_screen(there, item.row if item is not None and item.kind == kind else None)

    def has_stood(self, item: InboxItem) -> bool:
        """Return whether a row had stood under the cursor for long enough when the key was pressed."""
        is_marked_set_whole = self._reading.is_long_since(self._marks_lost_at)
        return is_marked_set_whole and self._reading.has_stood(self._version_of(item))

    def was_listed(self, uid: str) -> bool:
        """Return whether a question had been listed for long enough when the key was pressed."""
        since = self._listed_since.get(uid)
        return since is not None and self._reading.is_long_since(since)

    def _version_of(self, item: InboxItem) -> object:
        return item.uid, self._sources[item.kind].version(item.row)


# In cells: the ends of the rule with the spaces beside both texts; the shortest name, and the longest of a list.
_FRAME: Final = 7
_LEAST: Final = 8
_LIST: Final = 24
# On a narrower screen the line of the row has all of it.
_NARROW: Final = 60


class DetailHeading:
    """`─ #4 Pick JWT lib: jose or pyjwt · claude-1 ── ? asks 9m · #5 keeps running ─`, of the line that was put last;
    `meanwhile` returns the last of it, of a question.
    """

    def __init__(
        self,
        context: Context,
        tasks: AskedTasks,
        sources: Mapping[str, RowSource[Any]],
        rows: InboxRows,
        meanwhile: Callable[[], str],
    ) -> None:
        self._context = context
        self._meanwhile = meanwhile
        self._tasks = tasks
        self._sources = sources
        self._rows = rows
        self._line: InboxLine | None = None

    def put(self, line: InboxLine | None) -> None:
        """Set the line that the detail is about."""
        self._line = line

    def rule(self, width: int, has_more: bool, lasts: Callable[[int], None]) -> list[Part]:
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
        if (span := self._rows.standing_lasts(line)) is not None:
            lasts(span)
        both: list[Part] = [*more, (" · ", "$rule"), *state] if more and state else [*more, *state]
        has_room = parts_width([*title, *both]) + _FRAME <= width
        return rule_parts(self._context, width, title, both if has_room else more)

    def is_whole(self, width: int) -> bool:
        """Return whether the rule has the name of a row that is no question as it is, whose it is, and its list."""
        line = self._line
        if not isinstance(line, InboxItem) or line.row is None or width < _NARROW or not self._is_plain(line):
            return False
        return cell_len(self._name(line) + self._who(line) + self._place(line)) <= self._room(line, width)

    def _is_plain(self, item: InboxItem) -> bool:
        name = self._sources[item.kind].name(item.row)
        return unhidden_lines(name, is_prose=True, ascii_only=self._context.ascii_only) == [safe_line(name)]

    def _name(self, line: InboxLine) -> str:
        if isinstance(line, FoldedAsks):
            return f"{agent_text.who(line.agent, 40)} asks {len(line.asks)} more questions"
        if isinstance(line, Ask):
            task = self._tasks.of(line)
            return f"#{task.number} {safe_line(task.name)}" if task is not None else agent_text.who(line.agent, 40)
        name = self._sources[line.kind].name(line.row) if line.row is not None else line.title
        return f"{line.number} {safe_line(name)}".strip()

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
        """`? asks 9m · #5 keeps running`, `✗ failed 17m`."""
        if isinstance(line, FoldedAsks):
            return []
        mark, color = self._rows.mark(line)
        since = self._rows.standing(line)
        asks = "asks " if isinstance(line, Ask) and line.state == "open" and "later" not in since else ""
        word = f"{line.need.word} " if isinstance(line, InboxItem) else asks
        state: list[Part] = [(f"{mark} {word}{since}".rstrip(), color)]
        meanwhile = self._meanwhile() if isinstance(line, Ask) else ""
        return [*state, (f" · {meanwhile}", "$muted")] if meanwhile else state

    @property
    def _more(self) -> list[Part]:
        return [("more below ", "$changed"), (self._context.keymap.key_of("page_down"), "$key")]

    def _room(self, line: InboxLine, width: int) -> int:
        """Return how many cells there are for name and facts, whether there is more below or not."""
        return width - _FRAME - max(parts_width(self._state(line)), parts_width(self._more))
