"""The base of what the inbox lists beside questions. Each kind of row has a source: it reads and draws its rows, and
performs the actions on the row under the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller
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
        title: what it is about.
        who: its agent; empty without one.
        word: why it is here, in a word; its age follows.
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

    def __init__(self, context: Context, item_here: Callable[[], InboxItem | None]) -> None:
        """`item_here` returns the line under the cursor, of any kind."""
        self.context = context
        self._item_here = item_here

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

    @property
    def row(self) -> R | None:
        """The row under the cursor; None if that is of another kind."""
        item = self._item_here()
        return item.row if item is not None and item.kind == self.KIND else None

    def takes_key(self, action: Action) -> bool:
        """As `Controller.takes_key`; keys act on the row under the cursor."""
        return self.row is not None

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; all actions need a row."""
        return f"no {self.ONE} here" if self.row is None else None
