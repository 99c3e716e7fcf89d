"""Base of the parts of the inbox that list rows with a detail: held tasks and failed checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult

from tui_tasks.tui.inbox import parts
from tui_tasks.tui.painting.frame_line import DrawParts, FrameLine, rule
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.rows.row_painter import RowDrawing
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.rows_and_detail import PageKeys, RowsAndDetail

R = TypeVar("R")


class RowText(TextDrawing, Generic[R]):
    """Draws the row that `row` returns, by the function `lines_of` of its context, the row, and a width in cells."""

    def __init__(
        self, context: Context, row: Callable[[], R | None], lines_of: Callable[[Context, R, int], list[Drawn]]
    ) -> None:
        super().__init__(context)
        self._row = row
        self._lines_of = lines_of

    def lines(self, width: int, height: int) -> list[Drawn]:
        """As `TextDrawing.lines`; none without a row."""
        row = self._row()
        return self._lines_of(self.context, row, max(10, width - 2)) if row is not None else []


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
        lines_of: Callable[[Context, R, int], list[Drawn]],
    ) -> None:
        """`title` draws the left of the head, `rows` what is `listed`, `lines_of` the row under the cursor."""
        super().__init__(context)
        self.head = FrameLine(context, title, lambda width: parts.others(context, self.PART, width), id="part-head")
        self.listed = listed
        self.window = VirtualList(context, rows, id="rows")
        self._detail = TextLines(context, RowText(context, lambda: self.row, lines_of), id="part-detail")
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
