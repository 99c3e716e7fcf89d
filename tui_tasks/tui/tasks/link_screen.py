"""The screen of a link: the log of a branch, or the message and diff of a commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from tui_tasks.text.safe import safe_line
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.painting.text_lines import Drawn, ScrollLines, TextDrawing, wrapped
from tui_tasks.tui.widgets.bases import Overlay, plain
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.tui.work import diff_lines

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_FILE: Final = "diff --git "


class LinkLog(TextDrawing):
    """Draws the output of git: text, and behind it the diffs of files."""

    def __init__(self, context: Context, text: str) -> None:
        super().__init__(context)
        self._text, *diffs = re.split(rf"^(?={_FILE})", text, flags=re.MULTILINE)
        self._diffs = [(diff.partition("\n")[0], diff_lines.parse(diff)) for diff in diffs]

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return its lines, those of diffs coloured."""
        room = max(8, width - 2)
        drawn: list[Drawn] = [
            [(f" {part}", "")] for line in self._text.expandtabs(8).splitlines() for part in wrapped(line, room)
        ]
        for title, lines in self._diffs:
            drawn += [[(f" {part}", "$muted")] for part in wrapped(title, room)]
            digits = diff_lines.digits_of(lines, width)
            drawn += [parts for line in lines for parts in diff_lines.drawn(line, (), width, digits)]
        return drawn


class LinkText(Overlay):
    """The screen. `copied` is the command that its key copies."""

    NAME = "link"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context, title: str, text: str, copied: str) -> None:
        super().__init__(context)
        self._title = title
        self._text = ScrollLines(context, LinkLog(context, text), id="link-log")
        self._copied = copied

    def compose(self) -> ComposeResult:
        """Compose head and text."""
        yield Static(plain(f" {safe_line(self._title, 200)}", "bold"), id="link-head")
        yield rule(self.context)
        yield self._text
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Focus the text, and show the keys."""
        self.set_focus(self._text)
        self.hint(("j/k", "Scroll", ""), self.hint_of("link_copy", f"Copy {self._copied}"), self.hint_of("back"))

    def do_link_copy(self) -> None:
        """Copy the git command."""
        self.context.copy(self._copied)
        self.context.say(f"Copied {self._copied}")
