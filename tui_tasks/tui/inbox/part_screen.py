"""Base of the parts of the inbox that list rows with a detail: held tasks and failed checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll

from tui_tasks.tui.inbox import parts
from tui_tasks.tui.painting.text_lines import Divider, TextLines
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay

R = TypeVar("R")


class PartScreen(Overlay, Generic[R]):
    """A part of the inbox: `head`, the rows in `window`, and `detail` of the one under the cursor.

    - PART: its name in `parts.PARTS`.
    - OPEN: the action of Enter.
    - FOOT, FOOT_SMALL: the actions that the foot line shows when there is a row.
    """

    PART: ClassVar[str]
    OPEN: ClassVar[str]
    FOOT: ClassVar[Sequence[str]]
    FOOT_SMALL: ClassVar[Sequence[str]]
    DEFAULT_CSS = """
    PartScreen #both { height: 1fr; layout: vertical; }
    PartScreen #rows { height: 40%; min-height: 3; }
    PartScreen #row-scroll { height: 1fr; width: 1fr; }
    PartScreen Divider { display: none; }
    PartScreen.-wide.-tall #both { layout: horizontal; }
    PartScreen.-wide.-tall #rows { width: 12fr; height: 1fr; }
    PartScreen.-wide.-tall #row-scroll { width: 9fr; }
    PartScreen.-wide.-tall #under-rows { display: none; }
    PartScreen.-wide.-tall Divider { display: block; }
    PartScreen.-narrow #under-head, PartScreen.-short #under-head { display: none; }
    """
    head: FrameLine
    window: VirtualList[R]
    listed: InMemorySource[R]
    detail: TextLines

    @abstractmethod
    def read(self) -> set[str]:
        """Read the rows; return the keys of those that changed."""

    @abstractmethod
    def put(self, row: R | None) -> None:
        """Show a row in `detail`."""

    def compose(self) -> ComposeResult:
        """Compose head, rows and the detail of the one under the cursor."""
        yield self.head
        yield Rule(self.context, id="under-head")
        with Container(id="both"):
            yield self.window
            yield Rule(self.context, id="under-rows")
            yield Divider(self.context)
            with VerticalScroll(id="row-scroll", can_focus=False):
                yield self.detail
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
        self.put(self.row)
        self.head.again()
        if self.row is None:
            self.hint(self.hint_of("inbox_part"), self.hint_of("back"))
        else:
            self.hint(*map(self.hint_of, self.FOOT_SMALL if self.small else self.FOOT))

    def on_virtual_list_moved(self) -> None:
        """Show the row under the cursor."""
        self.query_one("#row-scroll").scroll_home(animate=False, immediate=True)
        self.show()

    def on_virtual_list_opened(self) -> None:
        """Do as Enter does."""
        self.action_act(self.OPEN)

    def on_resize(self) -> None:
        """Adapt the layout to the size."""
        self.window.again()
        self.show()

    def do_page_down(self) -> None:
        """Scroll the row's text."""
        self.query_one("#row-scroll").scroll_page_down(animate=False)

    def do_page_up(self) -> None:
        """Scroll the row's text."""
        self.query_one("#row-scroll").scroll_page_up(animate=False)

    def do_inbox_part(self) -> Any:
        """Go to the next part."""
        self.dismiss()
        parts.go_on(self.context, self.PART)
