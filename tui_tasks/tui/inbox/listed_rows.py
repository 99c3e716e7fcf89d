"""The rows of the inbox as they are read, filtered and drawn, and the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.vocab import RESERVED_AGENTS
from tui_tasks.tui.inbox.inbox_lines import FoldedAsks, InboxItem, InboxLine, InboxLines
from tui_tasks.tui.inbox.inbox_rows import InboxList, InboxRows
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.needs.open_needs import CAN_BE_HIDDEN

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
    def can_hide(self) -> bool:
        """Whether the row under the cursor can be hidden: an agent, or a failure."""
        item = self.item
        return item is not None and item.need.kind in CAN_BE_HIDDEN and not item.need.is_rest

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
