"""The lines of the inbox: who waits, for what, and since when.

Each kind of row beside questions has a source: it reads and draws its rows, and performs the actions on the row under
the cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts, count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context


class InboxItem(msgspec.Struct, frozen=True):
    """One line of the inbox.

    Attributes:
        uid: its key, unique in the inbox.
        kind: the `KIND` of its source.
        rank: the `RANK` of its source; low is urgent.
        at: since when it waits.
        row: what the source read.
        state: the name of its look in `glyphs.LOOKS`.
        title: what it is about.
        who: its agent; empty without one.
        word: why it is here, in a word, for a screen without room for the title.
    """

    uid: str
    kind: str
    rank: int
    at: int
    row: Any
    state: str
    title: str
    who: str
    word: str


R = TypeVar("R")


class RowSource(Controller, Generic[R]):
    """Reads one kind of row, and acts on the row under the cursor.

    - KIND: its name; the actions of the scope `inbox` that need it are its own.
    - RANK: its urgency; the rows of a low rank come first.
    - ONE: what a row is called. COUNTED: the word after their number in the head.
    - OPEN: the action of Enter. FOOT: the actions that the foot shows, in the order of use.
    """

    KIND: ClassVar[str]
    RANK: ClassVar[int]
    ONE: ClassVar[str]
    COUNTED: ClassVar[str]
    OPEN: ClassVar[str]
    FOOT: ClassVar[Sequence[str]]

    def __init__(
        self, context: Context, item_here: Callable[[], InboxItem | None], has_stood: Callable[[InboxItem], bool]
    ) -> None:
        """`item_here` returns the line under the cursor, of any kind; `has_stood` whether a line had been there, as it
        is, for long enough to be read when the key was pressed.
        """
        self.context = context
        self._item_here = item_here
        self._has_stood = has_stood

    def items(self) -> Iterable[InboxItem]:
        """Read the rows."""
        raise NotImplementedError

    def lines(self, row: R, room: int) -> list[Drawn]:
        """Return a row in full, `room` cells wide."""
        raise NotImplementedError

    def has_verb(self, verb: str) -> bool:
        """Return whether a key with this meaning acts on its rows."""
        return any(ACTIONS[name].verb == verb for name in self.FOOT)

    def painted(self, row: R, *, is_whole: bool) -> None:
        """Note that the line of a row is on screen. `is_whole`: with its whole title."""

    def seen(self, row: R, lines: int) -> None:
        """Note that so many lines of a row in full, from its beginning, are on screen or were."""

    def on_screen(self, rows: Sequence[R], in_full: R | None) -> None:
        """Note the rows whose lines are on screen, and the one that is there in full."""

    def version(self, row: R) -> Hashable:
        """Return what tells a row from another version of it that the human would decide about otherwise."""
        return None

    def is_under_cursor(self) -> bool:
        """Return whether the row under the cursor had been there, as it is, for long enough to be read."""
        item = self._item_here()
        return item is not None and self._has_stood(item)

    @property
    def row(self) -> R | None:
        """The row under the cursor; None if that is of another kind."""
        item = self._item_here()
        return item.row if item is not None and item.kind == self.KIND else None

    @override
    def takes_key(self, action: Action) -> bool:
        """Keys act on the row under the cursor."""
        return self.row is not None

    @override
    def why_not(self, action: Action) -> str | None:
        """All actions need a row."""
        return f"no {self.ONE} here" if self.row is None else None


class AskedTasks:
    """The tasks that questions are about; each is read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[str, TaskLine] = {}

    def of(self, ask: Ask) -> TaskLine | None:
        """Return the task that a question is about; None when it is about none, or that is deleted."""
        if ask.task_uid is None:
            return None
        if ask.task_uid not in self._found:
            task = agent_text.live_task(self._context.db, ask.task_uid)
            if task is None:
                return None
            self._found[ask.task_uid] = task
        return self._found[ask.task_uid]

    def number(self, ask: Ask) -> str:
        """Return the number of a question's task as `#4`; empty without a task."""
        task = self.of(ask)
        return f"#{task.number}" if task is not None else ""

    def holds_any(self, uids: Collection[str]) -> bool:
        """Return whether one of these tasks has been read."""
        return not self._found.keys().isdisjoint(uids)

    def forget(self) -> None:
        """Have all tasks read again."""
        self._found.clear()


class FoldedAsks(msgspec.Struct, frozen=True):
    """Further open questions of an agent, oldest first, in one line. `uid` is its key among the questions."""

    uid: str
    agent: str
    asks: tuple[Ask, ...]


AskLine = Ask | FoldedAsks
InboxLine = AskLine | InboxItem
_LAST: Final = 2**63


def kind_of(line: InboxLine) -> str:
    """Return the kind of a line: `ask`, or that of its source."""
    return line.kind if isinstance(line, InboxItem) else "ask"


# In cells: how long it has waited, or its state.
_STANDING: Final = 9
MAX_SHOWN: Final = 3
"""How many questions of one agent are listed before the others are folded."""


class AskGroups:
    """Lists questions by agent, the agent that asked first before the others, each with its oldest questions."""

    def __init__(self) -> None:
        # The order of the agents, which stays: a refresh moves no line.
        self._ranks: dict[str, int] = {}
        self._unfolded: set[str] = set()

    def lines(self, asks: Sequence[Ask]) -> list[AskLine]:
        """Return the lines of open questions, which are given oldest first."""
        by_agent: dict[str, list[Ask]] = {}
        for ask in asks:
            self._ranks.setdefault(ask.agent, len(self._ranks))
            by_agent.setdefault(ask.agent, []).append(ask)
        lines: list[AskLine] = []
        for agent, own in by_agent.items():
            # One line would save nothing.
            most = MAX_SHOWN if len(own) > MAX_SHOWN + 1 and agent not in self._unfolded else len(own)
            lines += own[:most]
            if own[most:]:
                lines.append(FoldedAsks(f"folded:{agent}", agent, tuple(own[most:])))
        return lines

    def unfold(self, agent: str) -> None:
        """List all questions of an agent from now on."""
        self._unfolded.add(agent)

    def order(self, line: AskLine) -> tuple[int, str, int, int]:
        """Return what lines are sorted by."""
        rank = self._ranks.get(line.agent, len(self._ranks))
        at, id_ = (line.opened_at, line.id) if isinstance(line, Ask) else (_LAST, 0)
        return rank, line.agent, at, id_


class InboxRows(RowDrawing[InboxLine]):
    """Draws what waits, one in each line; on a small screen only the row under the cursor is seen, as the first line.

    Attributes:
        filter: the words that hide other rows.
    """

    def __init__(
        self,
        context: Context,
        listed: InMemorySource[InboxLine],
        tasks: AskedTasks,
        later: Collection[str],
        is_small: Callable[[], bool],
        sources: Mapping[str, RowSource[Any]],
    ) -> None:
        """`listed` are all rows, `later` the uids of the questions that were put off."""
        super().__init__(context)
        self.filter = ""
        self._sources = sources
        self._listed = listed
        self._tasks = tasks
        self._later = later
        self._is_small = is_small

    def draw(self, row: InboxLine, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw what it is, its agent, and its age."""
        if isinstance(row, InboxItem):
            return self._draw_item(row, look_)
        if isinstance(row, FoldedAsks):
            return self._draw_folded(row, look_)
        now, width = self.context.clock.now(), look_.width
        state = look(agent_text.ask_state(row))
        mark = state.mark(ascii_only=self.context.ascii_only)
        waited = age(row.opened_at, now)
        if row.state == "open":
            self.lasts(age_lasts(row.opened_at, now))
        number = self._tasks.number(row)
        if self._is_small():
            head = f" {self._listed.place(row) + 1} of {self._listed.total()}  {number or ''}  "
            return (
                (f" {mark}", state.color),
                (head, ""),
                (safe_ends(agent_text.who(row.agent), max(4, width - len(head) - 9)), "$muted"),
                (f"  {waited if row.state == 'open' else agent_text.ask_word(row)}", "$muted"),
            )
        late = "later " if row.uid in self._later else ""
        standing = f"{late}{waited}" if row.state == "open" else agent_text.ask_word(row)
        project = self.context.state.projects.of_ask(row)
        where = f"{fit(project, 8)}  " if self._names_projects else ""
        right = f"{where}{fit_ends(agent_text.who(row.agent), 10)}  {standing:>{_STANDING}} "
        head = f" {number:<3} " if number else "     "
        room = max(1, width - 4 - len(head) - cell_len(right))
        quiet = row.state != "open" or row.uid in self._later
        return (
            (f" {sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted"),
            (mark, state.color),
            (head, "$muted"),
            (fit(self._title(row), room), "$muted" if quiet else ""),
            (" " + right, "$muted"),
        )

    def _draw_item(self, row: InboxItem, look_: RowLook) -> Sequence[Part]:
        now, width = self.context.clock.now(), look_.width
        self.lasts(age_lasts(row.at, now))
        state, old, who = look(row.state), age(row.at, now), agent_text.who(row.who) if row.who else ""
        mark = state.mark(ascii_only=self.context.ascii_only)
        if self._is_small():
            head = f" {self._listed.place(row) + 1} of {self._listed.total()}  "
            right = f"  {row.word} {old}"
            room = max(4, width - len(head) - len(right) - 2)
            self._sources[row.kind].painted(row.row, is_whole=False)
            return (
                (f" {mark}", state.color),
                (head, ""),
                (fit_ends(who or row.title, room), "$muted"),
                (right, "$muted"),
            )
        where = f"{'':8}  " if self._names_projects else ""
        right = f" {where}{fit_ends(who, 10)}  {old:>{_STANDING}} "
        room = max(1, width - 4 - cell_len(right))
        self._sources[row.kind].painted(row.row, is_whole=cell_len(safe_line(row.title)) <= room)
        return (
            (f" {sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted"),
            ("+" if look_.marked else mark, "$changed bold" if look_.marked else state.color),
            (" " + fit(row.title, room), ""),
            (right, "$muted"),
        )

    def _draw_folded(self, row: FoldedAsks, look_: RowLook) -> Sequence[Part]:
        cursor = sign("cursor") if look_.cursor else " "
        words = f"      … {len(row.asks)} more of {safe_ends(agent_text.who(row.agent), 30)}"
        how = f"  {self.context.keymap.key_of('ask_open')} lists them "
        room = max(0, look_.width - cell_len(words) - 2)
        return (
            (f" {cursor}", "$primary bold" if look_.focused else "$muted"),
            (words, "$state-needs-you"),
            (fit(how, room, "right"), "$muted"),
        )

    @property
    def _names_projects(self) -> bool:
        """Whether any question comes from a project."""
        asks = (row for row in self._listed.rows if isinstance(row, Ask))
        return any(map(self.context.state.projects.of_ask, asks))

    def _title(self, row: Ask) -> str:
        """Return the question; its task is named by its number, and below."""
        return safe_line(agent_text.request_line(row, ascii_only=self.context.ascii_only))

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how a question gets here."""
        text: Sequence[str] = (
            "   Nothing needs you.",
            "",
            "   Questions and permissions of agents, work to review, failed",
            "   checks, filed tasks and agents in trouble appear here.",
        )
        if self.filter:
            text = (f"   Nothing here matches “{safe_line(self.filter, 40)}”.",)
        at = line if self._is_small() else line - 1
        return [(text[at], "" if at == 0 else "$muted")] if 0 <= at < len(text) else ()


def number_waiting(lines: Iterable[InboxLine]) -> int:
    """Return how many questions and rows of other kinds wait for the human."""
    return sum(
        len(line.asks) if isinstance(line, FoldedAsks) else not isinstance(line, Ask) or line.state == "open"
        for line in lines
    )


def totals(lines: Sequence[InboxLine], sources: Mapping[str, RowSource[Any]]) -> str:
    """Return `2 questions  1 failed`: how many there are of each kind; empty for one kind."""
    counts = Counter(kind_of(line) for line in lines)
    if len(counts) < 2:
        return ""
    asks = sum(len(line.asks) if isinstance(line, FoldedAsks) else kind_of(line) == "ask" for line in lines)
    texts = [count(asks, "question")] if asks else []
    texts += [f"{counts[kind]} {source.COUNTED}" for kind, source in sources.items() if counts[kind]]
    return "  ".join(texts)


def says(line: InboxLine) -> str:
    """Return what the filter finds a row by."""
    if isinstance(line, InboxItem):
        return f"{line.title}\n{line.who}\n{line.word}".casefold()
    asks = line.asks if isinstance(line, FoldedAsks) else (line,)
    return "\n".join((line.agent, *map(agent_text.request_line, asks))).casefold()
