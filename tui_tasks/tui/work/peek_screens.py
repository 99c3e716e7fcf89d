"""What an agent does, live: the last lines of its terminal or log over the screen, and its own record of its session as
a page: prompts, words, tools with results, edits as diffs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.errors import Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.hooks import session_records
from tui_tasks.hooks.session_records import Item, Source, Transcript
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.dialogs import FilterDialog
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import MAX_LINES, Drawn, TextDrawing, TextLines, block, wrapped
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead
from tui_tasks.tui.work import attaching
from tui_tasks.tui.work.diff_side import SideRow, SideRows
from tui_tasks.work import agent_terminals

PEEK_SECONDS: Final = 0.5
_MOST: Final = 200
# In cells: the longest name of a branch.
_PLACE: Final = 40


class LastLines(TextDrawing):
    """Draws the last lines that fit, and below them how its work failed."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.texts: list[str] = []
        self.failure = ""
        self.has_ended = False

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, cut to the width."""
        ascii_only, key = self.context.ascii_only, self.context.keymap.key_of("peek_terminal")
        mark = look("failed").mark(ascii_only=ascii_only)
        end = [[], *block(f"{mark} {self.failure}", width - 1, "$state-failed")] if self.failure else []
        if not self.texts:
            nothing = f"It has shown nothing yet: {key} goes to its terminal."
            why = "Nothing is kept of what it has shown." if self.failure or self.has_ended else nothing
            return [[(f" {why}", "$muted")], *end]
        texts = self.texts[-max(1, height - len(end)) :]
        return [*([(safe_line(text, max(1, width), ascii_only=ascii_only), "")] for text in texts), *end]


class Peek(Overlay):
    """The screen. Nothing is resized, and nothing is typed into the terminal."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "work")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Peek #last-lines { height: 1fr; }
    Peek.-narrow #peek-now, Peek.-short #peek-now { display: none; }
    """

    def __init__(self, context: Context, agent: str) -> None:
        super().__init__(context)
        self._agent = agent
        self._drawing = LastLines(context)
        self._lines = TextLines(context, self._drawing, id="last-lines")
        # The rows of what needs the human would take the room of the lines.
        self._head = ScreenHead(context, self._title, id="peek", kinds=lambda: ())
        self._is_looking = False

    def compose(self) -> ComposeResult:
        """Compose head and lines."""
        yield from self._head.compose()
        yield self._lines
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the lines, again and again."""
        back = self.hint_of("peek_back", "Back")
        terminal = [self.hint_of("peek_terminal")] if self._has_terminal else []
        self.hint(*terminal, self.hint_of("peek_record"), back, self.hint_of("help"))
        self.set_interval(PEEK_SECONDS, self._look)
        self.call_later(self._look)

    def _title(self, width: int) -> list[Part]:
        work, name = self._work(), f" {agent_text.who(self._agent, 40)}"
        if work is None:
            return [(name, "bold")]
        state, color = "ended" if self._has_ended and work.state == "working" else work.state, "$muted"
        if state == "failed":
            failed = look(state)
            state, color = f"{failed.mark(ascii_only=self.context.ascii_only)} {state}", failed.color
        place = safe_line(work.branch or work.worktree, max(1, min(_PLACE, width - cell_len(name + state) - 6)))
        return [(name, "bold"), (f"   {state}", color), (f"   {place}", "$muted")]

    @property
    def _has_terminal(self) -> bool:
        from tui_tasks.tui.work import attaching

        return attaching.why_not(self.context, self._agent) is None

    @property
    def _has_ended(self) -> bool:
        session = session_queries.find(self.context.db, self._agent)
        return session is not None and session.state == session_queries.GONE

    def _work(self) -> Work | None:
        return work_queries.of_agent(self.context.db, self._agent)

    async def _look(self) -> None:
        work = self._work()
        if self._is_looking or work is None:
            return
        self._is_looking = True
        try:
            # A tmux that hangs does not stop the screen.
            elsewhere = work_queries.is_elsewhere(self.context.db, work)
            lines = (
                await asyncio.to_thread(agent_terminals.last_lines, self.context.link.path, work, _MOST)
                if elsewhere is None
                else [elsewhere]
            )
        finally:
            self._is_looking = False
        self._head.redraw()
        drawing, failure = self._drawing, work.message or "" if work.state == "failed" else ""
        has_ended = self._has_ended
        if (lines, failure, has_ended) != (drawing.texts, drawing.failure, drawing.has_ended):
            drawing.texts, drawing.failure, drawing.has_ended = lines, failure, has_ended
            self._lines.redraw()

    def do_peek_back(self) -> None:
        """Close."""
        self.dismiss()

    def do_peek_record(self) -> None:
        """Show the agent's own record instead."""

        self.dismiss()
        self.context.push(TranscriptScreen(self.context, self._agent, from_peek=True))

    def do_peek_terminal(self) -> None:
        """Go to the terminal."""
        from tui_tasks.tui.work import attaching

        why = attaching.why_not(self.context, self._agent)
        if why is not None:
            self.context.say(why)
        else:
            attaching.attach(self.context, self._agent)


LOOK_SECONDS: Final = 1.0
SHORT_LINES: Final = 12
"""The lines of a result that are shown until it is opened."""
_SIGNS: Final = {"+": ("$state-done", "@state-done"), "-": ("$state-failed", "@state-failed")}


class TranscriptScreen(Overlay):
    """The screen. It stays at the newest item until the human goes up."""

    NAME = "record"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "work")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    TranscriptScreen #items { height: 1fr; }
    TranscriptScreen.-narrow #record-now, TranscriptScreen.-short #record-now { display: none; }
    """

    def __init__(self, context: Context, agent: str, *, from_peek: bool = False) -> None:
        """`from_peek`: it was opened from the last lines of the terminal, to which Back leads."""
        super().__init__(context)
        self.agent = agent
        self._from_peek = from_peek
        source = session_records.source(context.db, agent)
        self._problem = source if isinstance(source, str) else ""
        self._transcript = Transcript(source) if isinstance(source, Source) else None
        self._follows, self._is_reading = True, False
        self._words = ""
        self._opened: set[int] = set()
        self._items: list[Item] = []
        self._seen_at: int | None = None
        self._listed: InMemorySource[SideRow] = InMemorySource(lambda row: row.key, lambda row: row.at)
        self.window = VirtualList(context, SideRows(context), id="items")
        self._head = ScreenHead(context, self._title, id="record", kinds=lambda: ())
        self.controllers = (RowMoves(lambda: self.window),)

    def compose(self) -> ComposeResult:
        """Compose head and items."""
        yield from self._head.compose()
        yield self.window
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the record, again and again."""
        self.window.show(self._listed)
        self.window.focus()
        self.set_interval(LOOK_SECONDS, self._look)
        self._draw()
        self._look()

    def _title(self, width: int) -> Sequence[Part]:
        """` claude-1   its record, 41 items, following   with "keys"`."""
        words = f'   with "{safe_line(self._words, 24)}"' if self._words else ""
        follows = "following" if self._follows else "not following"
        what = f"   its record, {count(len(self._items), 'item')}, {follows}" if width >= NARROW else "   its record"
        return [(f" {agent_text.who(self.agent, 30)}", "bold"), (what, "$muted"), (words, "$changed")]

    # Reading

    def _look(self) -> None:
        self._head.redraw()
        session = session_queries.activity(self.context.db, self.agent)
        seen = session.last_seen if session is not None else None
        # A program that must be started to print its record is asked only when something has happened.
        is_file = self._transcript is not None and self._transcript.is_file
        if self._transcript is None or self._is_reading or (not is_file and seen == self._seen_at and self._items):
            return
        self._seen_at, self._is_reading = seen, True
        self.run_worker(self._read(self._transcript), group="record")

    async def _read(self, transcript: Transcript) -> None:
        try:
            is_new = await asyncio.to_thread(transcript.read_on)
            self._problem = ""
        except (OSError, Refusal) as error:
            is_new, self._problem = True, str(error)
        finally:
            self._is_reading = False
        if self.is_open and (is_new or not self._items):
            self._items = list(transcript.items)
            self._draw()

    def _draw(self) -> None:
        width = max(20, (self.window.size.width or self.size.width) - 2)
        rows: list[SideRow] = []
        for number, item in enumerate(self._items):
            if self._words and self._words.casefold() not in f"{item.name}\n{item.text}".casefold():
                continue
            lines = item_lines(self.context, item, width, is_open=number in self._opened)
            for part, parts in enumerate(lines):
                rows.append(SideRow(f"{number}.{part}", len(rows), tuple(parts), number))
        if not rows:
            key = self.context.keymap.key_of("record_search")
            found = f"Nothing has these words: {key} searches for others." if self._words else ""
            text = self._problem or found or "Nothing is recorded yet: it comes by itself."
            rows = [SideRow("none", 0, ((f" {safe_line(text, width)}", "$muted"),))]
        self.window.change(self._listed.replace(rows))
        if self._follows:
            self.window.move_last()
        self._head.redraw()
        self._hint()

    def _hint(self) -> None:
        follow = "Stay" if self._follows else "Follow"
        self.hint(
            self.hint_of("record_follow", follow),
            self.hint_of("record_search"),
            self.hint_of("record_open"),
            self.hint_of("work_terminal"),
            self.hint_of("back"),
            self.hint_of("help"),
        )

    def on_virtual_list_moved(self) -> None:
        """Stop following where the human has gone up."""
        follows = self.window.is_on_last
        if follows != self._follows:
            self._follows = follows
            self._head.redraw()
            self._hint()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._draw)

    # Actions

    @override
    def why_not(self, action: Action) -> str | None:
        """Not every agent has a terminal to go to, or last lines."""
        if action.id == "work_terminal":
            return attaching.why_not(self.context, self.agent)
        if action.id == "peek_record" and work_queries.of_agent(self.context.db, self.agent) is None:
            return f"{agent_text.who(self.agent, 30)} was not started here: only its record can be read."
        return super().why_not(action)

    def do_record_follow(self) -> None:
        """Follow the newest item, or stay here."""
        if self._follows:
            self._follows = False
            self.window.move(-1)
        else:
            self.window.move_last()
        self._head.redraw()
        self._hint()

    def do_record_search(self) -> None:
        """Show only the items that contain some words."""
        self.context.push(FilterDialog(self.context, self._words, self._search, hint="words"))

    def _search(self, words: str) -> None:
        self._words = words
        self._draw()

    def do_record_open(self) -> None:
        """Show all of the item under the cursor, or only its beginning."""
        row = self.window.row
        if row is not None and row.line >= 0:
            self._opened ^= {row.line}
            self._draw()

    def do_peek_back(self) -> None:
        """Close, as the key that has opened it."""
        self.dismiss()

    def do_peek_record(self) -> None:
        """Go back from the record to the last lines of the terminal."""
        self.dismiss()
        self.context.push(Peek(self.context, self.agent))

    def do_work_terminal(self) -> None:
        """Go to the agent's terminal."""
        attaching.attach(self.context, self.agent)

    def do_back(self) -> None:
        """Show all items again, else go back: to the last lines of the terminal if it was opened from there."""
        if self._words:
            self._words = ""
            self._draw()
        elif self._from_peek:
            self.do_peek_record()
        else:
            super().do_back()


def item_lines(context: Context, item: Item, width: int, *, is_open: bool = False) -> list[Drawn]:
    """Return an item as lines of at most `width` cells; a long result is cut unless it is opened."""
    ascii_only = context.ascii_only
    if item.kind == "edit":
        name = safe_line(item.name, width - 8, ascii_only=ascii_only)
        lines: list[Drawn] = [[(" ± ", "$secondary"), (name, "bold")]]
        body = [_diff_line(line, width) for line in item.text.rstrip("\n").split("\n")]
    elif item.kind == "tool":
        first, *rest = wrapped(item.text, width - 6, ascii_only=ascii_only) or [""]
        lines = [[(" $ ", "$secondary"), (f"{safe_line(item.name, 30)}  ", "bold"), (first[: width - 8], "")]]
        body = [[(f"     {line}", "")] for line in rest]
    elif item.kind in ("result", "error"):
        style = "$state-failed" if item.kind == "error" else "$muted"
        mark = f"{look('failed').mark(ascii_only=ascii_only)} " if item.kind == "error" else "  "
        texts = wrapped(item.text.rstrip("\n"), width - 6, ascii_only=ascii_only)
        lines = []
        body = [[(f"   {mark if not at else '  '}{text}", style)] for at, text in enumerate(texts)]
    else:
        is_prompt = item.kind == "prompt"
        style = "bold" if is_prompt else ""
        texts = wrapped(item.text.rstrip("\n"), width - 3, ascii_only=ascii_only)
        begin: Part = ("> ", "$primary bold") if is_prompt else ("  ", "")
        lines = [[], *([(" ", ""), begin if not at else ("  ", ""), (text, style)] for at, text in enumerate(texts))]
        body = []
    most = MAX_LINES if is_open else SHORT_LINES
    if len(body) > most:
        body = [*body[:most], [(f"     … {len(body) - most} lines more", "$muted italic")]]
    return [*lines, *body]


def _diff_line(line: str, width: int) -> Drawn:
    style, ground = _SIGNS.get(line[:1], ("", ""))
    if line.startswith("@@"):
        return [(f"     {safe_line(line, width - 6)}", "$secondary")]
    text = safe_line(line.expandtabs(4)[1:], width - 8)
    filling = " " * (width - 7 - cell_len(text)) if ground else ""
    return [("     ", ""), (f"{line[:1] or ' '} ", f"{style} {ground}".strip()), (text + filling, ground)]
