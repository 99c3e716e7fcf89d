"""A column of the board: its cards, the line above them, and marking all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip

from tui_tasks.core.read.pages.board_pages import Card
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.times import count
from tui_tasks.tui.board.cards import content_of, dot, lines_of
from tui_tasks.tui.board.cards_of_column import CardsOfColumn
from tui_tasks.tui.board.column_spec import WIDE, ColumnSpec
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.frame_line import FrameLine
from tui_tasks.tui.painting.styles import Part, StyleCache
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.tasks.mark_actions import MAX_MARKED, PAUSE
from tui_tasks.tui.tasks.task_note import EmptiedNote

if TYPE_CHECKING:
    from tui_tasks.tui.board.board_pane import BoardPane
    from tui_tasks.tui.state.context import Context


class CardDrawing(RowDrawing[Card]):
    """Draws the cards of a column in the way of its `spec`.

    `is_current`: whether keys are about this column, which alone shows its cursor.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.spec = WIDE[0]
        self.is_current = False
        self._emptied = EmptiedNote(context)
        # The lines of the card that is being drawn.
        self._lines: list[list[Part]] = []

    def draw(self, row: Card, look: RowLook, line: int) -> Sequence[Part]:
        """Return one line of a card. The card is laid out as a whole when its first line is drawn."""
        if line == 0:
            self._lines = self._lay_out(row, look)
        return self._lines[line] if line < len(self._lines) else ()

    def _lay_out(self, row: Card, look: RowLook) -> list[list[Part]]:
        """Return the lines of a card, with flag, cursor and number before the first."""
        context, spec = self.context, self.spec
        ascii_only, digits = context.ascii_only, context.state.number_width
        content = content_of(context, row, has_mark=spec.is_mixed and row.part != spec.state)
        if content.lasts:
            self.lasts(content.lasts)
        lines = lines_of(content, look.width - digits - 4, spec.lines, ascii_only=ascii_only)
        if look.dragged:
            lines = [[(text, "$muted italic") for text, _ in line] for line in lines]
        is_new = row.uid in context.state.new
        flag = "+" if look.marked else sign("changed", ascii_only=ascii_only) if is_new else " "
        cursor = sign("cursor", ascii_only=ascii_only) if look.cursor or look.drop else " "
        head: list[Part] = [
            (flag, "$changed"),
            (cursor, "$primary bold" if look.focused or look.drop else "$muted"),
            (f"{row.number:>{digits}} ", "$muted"),
        ]
        return [[*head, *lines[0]], *([(" " * (digits + 3), ""), *line] for line in lines[1:])]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw, in the current column, that it is empty, or how to add the first task."""
        if not self.is_current:
            return ()
        found = self.context.state.current_list
        if found is None or found.total or self.context.link.read_only:
            return [("   nothing here", "$muted")] if line == 0 else ()
        emptied, key = self._emptied.short(), self.context.keymap.key_of("take_back")
        words: dict[int, list[Part]] = {
            0: [(f"   {emptied or 'No tasks yet'}.", "")],
            1: [(f"   {key}", "$key"), ("  bring them back", "$muted")] if emptied else [],
            2: [(f"   {self.context.keymap.key_of('new')}", "$key"), ("  add one", "$muted")],
        }
        return words.get(line, ())


class CardRows(VirtualList[Card]):
    """The cards of one column."""

    def __init__(self, context: Context, drawing: CardDrawing) -> None:
        super().__init__(context, drawing, focusable=False)
        self._card_drawing = drawing

    @property
    def spec(self) -> ColumnSpec:
        """What the column holds, and how its cards look."""
        return self._card_drawing.spec

    @property
    def is_current(self) -> bool:
        """Whether this column has the cursor."""
        return self._card_drawing.is_current

    def set_spec(self, spec: ColumnSpec) -> None:
        """Show cards in the way of a column."""
        self._card_drawing.spec = spec
        self.set_row_height(spec.height)

    def set_current(self, current: bool) -> None:
        """Set whether this column has the cursor."""
        if current != self.is_current:
            self._card_drawing.is_current = current
            self._update()
            if not self.has_rows:
                self.refresh()

    def change(self, keys: Iterable[str]) -> None:
        """As `VirtualList.change`, including the cards that wait for one of the tasks, which have no entry of their
        own.
        """
        keys = set(keys)
        keys.update(card.uid for card in self.rows_held if not keys.isdisjoint(card.depends_on))
        super().change(keys)

    def look_of(self, row: Card, number: int) -> RowLook:
        """As `VirtualList.look_of`; only the current column shows its cursor."""
        found = super().look_of(row, number)
        cursor = found.cursor and self.is_current
        return found._replace(cursor=cursor, focused=cursor and found.focused)

    def render_line(self, y: int) -> Strip:
        """Paint one line; the empty line below a card is never part of the cursor."""
        if self.spec.gap and y % self.row_height == self.spec.lines:
            return StyleCache.of(self.app).strip(" " * self.own_size.width)
        return super().render_line(y)


class ColumnHead(FrameLine):
    """` ◐ In progress 1`."""

    class Clicked(Message):
        """The head was clicked: the focus is to go to the cards."""

    def __init__(self, context: Context, cards: CardRows, count: Callable[[Sequence[str]], str]) -> None:
        super().__init__(context, self._parts_of_spec)
        self._cards = cards
        self._count = count
        self._is_target = False

    def _parts_of_spec(self, width: int) -> Sequence[Part]:
        """Return glyph, name and number, and the numbers of statuses that are counted separately."""
        spec, ascii_only = self._cards.spec, self.context.ascii_only
        state = look(spec.state)
        ink = "$changed bold" if self._is_target else "bold" if self._cards.is_current else ""
        mark = sign("status", ascii_only=ascii_only) if self._is_target else state.mark(ascii_only=ascii_only)
        parts: list[Part] = [(f" {mark} ", state.color), (spec.name, ink)]
        parts.append((f" {self._count(spec.counts)}", ink or "$muted"))
        for other, members in spec.apart:
            number = self._count(members)
            if number != "0":
                shown = look(other)
                parts += [(dot(ascii_only), "$muted"), (shown.mark(ascii_only=ascii_only), shown.color)]
                parts.append((f" {number}", "$muted"))
        return parts

    def set_target(self, is_target: bool) -> None:
        """Set whether the dragged card would be dropped on this column."""
        if is_target != self._is_target:
            self._is_target = is_target
            self.again()

    def on_click(self, event: events.Click) -> None:
        """Go back to the cards; the pane has made this the current column already."""
        event.stop()
        self.post_message(self.Clicked())


class Column(Vertical):
    """One column: its head and its cards."""

    DEFAULT_CSS = """
    Column { width: 1fr; height: 1fr; }
    Column ColumnHead { margin-bottom: 1; }
    """

    def __init__(self, context: Context, count: Callable[[Sequence[str]], str]) -> None:
        super().__init__()
        self.cards = CardRows(context, CardDrawing(context))
        self.head = ColumnHead(context, self.cards, count)

    def compose(self) -> ComposeResult:
        """Compose head and cards."""
        yield self.head
        yield self.cards

    @property
    def spec(self) -> ColumnSpec:
        """The description of what it holds."""
        return self.cards.spec

    def show(self, spec: ColumnSpec, source: CardsOfColumn) -> None:
        """Show other cards, or in another way."""
        self.cards.set_spec(spec)
        self.cards.show(source)

    def refilter(self, source: CardsOfColumn) -> None:
        """Show more or fewer of the same cards; marks stay."""
        self.cards.refilter(source, self.cards.cursor)


class ColumnMarks(Controller):
    """Marks the cards in the current column of a board."""

    def __init__(self, pane: BoardPane) -> None:
        self._pane = pane
        self._context = pane.context

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark all cards of the column, or take all marks away."""
        if self._pane.row_list.marks:
            self._pane.row_list.clear_marks()
            return None
        return self._mark_all(self._pane.columns[self._pane.at])

    async def _mark_all(self, column: Column) -> None:
        """Search for cards in steps, between which keys are handled; then mark them at once."""
        context, only = self._context, self._pane.only
        source = self._pane.source(column.spec)
        page = source.first(MAX_MARKED)
        cards = list(page)
        while page.cut and len(cards) < MAX_MARKED:
            context.say(f"Looking for all that match…  {count(len(cards), 'card')}")
            await asyncio.sleep(PAUSE)
            if self._pane.only != only or context.state.list_id != source.list_id:
                context.say("The filter has changed; nothing was marked.")
                return
            rest = MAX_MARKED - len(cards)
            page = source.after(cards[-1], rest) if cards else source.first(rest)
            cards += page
        column.cards.mark((card.uid for card in cards), on=True)
        context.say(f"{count(len(cards), 'card')} marked.")
