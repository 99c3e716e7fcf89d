"""Base of the parts of the inbox that list rows with a detail: held tasks and failed checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult

from tui_tasks.tui.inbox import parts
from tui_tasks.tui.painting.frame_line import DrawParts, FrameLine, rule
from tui_tasks.tui.painting.text_lines import TextDrawing, TextLines
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.rows.row_painter import RowDrawing
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.rows_and_detail import PageKeys, RowsAndDetail

R = TypeVar("R")


class PartScreen(Overlay, Generic[R]):
    """A part of the inbox: a head, rows, and the detail of the row under the cursor.

    - PART: its name in `parts.PARTS`.
    - OPEN: the action of Enter.
    - FOOT, FOOT_SMALL: the actions that the foot line shows when there is a row.
    """

    PART: ClassVar[str]
    OPEN: ClassVar[str]
    FOOT: ClassVar[Sequence[str]]
    FOOT_SMALL: ClassVar[Sequence[str]]
    DEFAULT_CSS = "PartScreen.-narrow #under-head, PartScreen.-short #under-head { display: none; }"

    def __init__(
        self,
        context: Context,
        title: DrawParts,
        listed: InMemorySource[R],
        rows: RowDrawing[R],
        detail: TextDrawing,
    ) -> None:
        """`title` draws the left of the head, `rows` what is `listed`, `detail` the row under the cursor."""
        super().__init__(context)
        self.head = FrameLine(context, title, lambda width: parts.others(context, self.PART, width), id="part-head")
        self.listed = listed
        self.window = VirtualList(context, rows, id="rows")
        self._detail = TextLines(context, detail, id="part-detail")
        self._both = RowsAndDetail(context, self.window, self._detail)
        self.controllers = (PageKeys(self._both), RowMoves(lambda: self.window))

    @abstractmethod
    def read(self) -> set[str]:
        """Read the rows; return the keys of those that changed."""

    def compose(self) -> ComposeResult:
        """Compose head, rows and the detail of the one under the cursor."""
        yield self.head
        yield rule(self.context, id="under-head")
        yield self._both
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the rows, and put the cursor on the oldest."""
        self.read()
        self.window.show(self.listed)
        self.window.focus()
        self.show()

    @property
    def row(self) -> R | None:
        """The row under the cursor."""
        return self.listed.get(self.window.cursor)

    def show(self) -> None:
        """Show the row under the cursor, the head, and the keys."""
        self._detail.again()
        self.head.again()
        if self.row is None:
            self.hint(self.hint_of("inbox_part"), self.hint_of("back"))
        else:
            self.hint(*map(self.hint_of, self.FOOT_SMALL if self.small else self.FOOT))

    def on_virtual_list_moved(self) -> None:
        """Show the row under the cursor."""
        self._both.show_beginning()
        self.show()

    def on_virtual_list_opened(self) -> None:
        """Do as Enter does."""
        self.action_act(self.OPEN)

    def on_resize(self) -> None:
        """Adapt the layout to the size."""
        self.window.again()
        self.show()

    def do_inbox_part(self) -> Any:
        """Go to the next part."""
        self.dismiss()
        parts.go_on(self.context, self.PART)
