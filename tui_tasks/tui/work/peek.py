"""The last lines of an agent's terminal or log, live, over the screen."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from tui_tasks.core.read import work_queries
from tui_tasks.core.snapshots import Work
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.line_painter import FrameLine, rule
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.bases import Overlay
from tui_tasks.tui.widgets.frame import FootLine
from tui_tasks.work import starting

LOOK_SECONDS: Final = 0.5
_MOST: Final = 200


class LastLines(TextDrawing):
    """Draws the last lines that fit."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.texts: list[str] = []

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, cut to the width."""
        ascii_only = self.context.ascii_only
        if not self.texts:
            return [[(" It has shown nothing yet.", "$muted")]]
        return [[(safe_line(text, max(1, width), ascii_only=ascii_only), "")] for text in self.texts[-max(1, height) :]]


class Peek(Overlay):
    """The screen. Nothing is resized, and nothing is typed into the terminal."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "work")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Peek #last-lines { height: 1fr; }
    """

    def __init__(self, context: Context, agent: str) -> None:
        super().__init__(context)
        self._agent = agent
        self._drawing = LastLines(context)
        self._lines = TextLines(context, self._drawing, id="last-lines")
        self._is_looking = False

    def compose(self) -> ComposeResult:
        """Compose head and lines."""
        yield FrameLine(self.context, self._head, id="peek-head")
        yield rule(self.context)
        yield self._lines
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the lines, again and again."""
        self.hint(self.hint_of("peek_terminal"), self.hint_of("peek_record"), self.hint_of("peek_back", "Back"))
        self.set_interval(LOOK_SECONDS, self._look)
        self.call_later(self._look)

    def _head(self, width: int) -> list[tuple[str, str]]:
        work = self._work()
        place = f"   {work.state}   {work.branch or work.worktree}" if work is not None else ""
        return [(f" {agent_text.who(self._agent, 40)}", "bold"), (safe_line(place, max(1, width - 44)), "$muted")]

    def _work(self) -> Work | None:
        return work_queries.of_agent(self.context.db, self._agent)

    async def _look(self) -> None:
        work = self._work()
        if self._is_looking or work is None:
            return
        self._is_looking = True
        try:
            # A tmux that hangs does not stop the screen.
            found = await asyncio.to_thread(starting.last_lines, self.context.link.path, work, _MOST)
        finally:
            self._is_looking = False
        if found != self._drawing.texts:
            self._drawing.texts = found
            self._lines.again()

    def do_peek_back(self) -> None:
        """Close."""
        self.dismiss()

    def do_peek_record(self) -> None:
        """Show the agent's own record instead."""
        from tui_tasks.tui.work.transcript_screen import TranscriptScreen

        self.dismiss()
        self.context.push(TranscriptScreen(self.context, self._agent))

    def do_peek_terminal(self) -> None:
        """Go to the terminal."""
        from tui_tasks.tui.work import terminal

        why = terminal.why_not(self.context, self._agent)
        if why is not None:
            self.context.say(f"{agent_text.who(self._agent, 30)}: {why}")
        else:
            terminal.attach(self.context, self._agent)
