"""The lines of the inbox, and the sources that read them.

Each kind of line beside questions has a source: it reads its lines, says what helps to decide, and performs the actions
on the line under the cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn
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
        title: what it is about; `number`: the number of its task, 0 without one.
        who: its agent; empty without one.
        word: why it is here, in a word, for a screen without room for the title.
        place: the name of its list, by which it is found.
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
    number: int = 0
    place: str = ""


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

    def more(self, row: R) -> Sequence[Part]:
        """Return what helps to decide beside the title, each text for lines of its own; only for rows on screen."""
        return ()

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
        """Return an id of what the human decides about, which changes with the row's content."""
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


class FoldedAsks(msgspec.Struct, frozen=True):
    """Further open questions of an agent, oldest first, in one line. `uid` is its key among the questions."""

    uid: str
    agent: str
    asks: tuple[Ask, ...]


AskLine = Ask | FoldedAsks
InboxLine = AskLine | InboxItem


def kind_of(line: InboxLine) -> str:
    """Return the kind of a line: `ask`, or that of its source."""
    return line.kind if isinstance(line, InboxItem) else "ask"


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
        return f"{line.title}\n{line.who}\n{line.word}\n{line.place}".casefold()
    asks = line.asks if isinstance(line, FoldedAsks) else (line,)
    return "\n".join((line.agent, *map(agent_text.request_line, asks))).casefold()
