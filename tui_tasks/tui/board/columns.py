"""A column of the board: its cards, the line above them, and marking all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip
from typing_extensions import override

from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.times import count
from tui_tasks.tui.board.cards import content_of, dot, lines_of
from tui_tasks.tui.board.cards_of_column import CardsOfColumn
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part, StyleCache
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.tasks.filter_actions import MAX_MARKED, PAUSE
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
        home = self.context.state.current_list
        if home is None or home.total or self.context.link.read_only:
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

    @override
    def change(self, keys: Iterable[str]) -> None:
        """Including the cards that wait for one of the tasks, which have no entry of their
        own.
        """
        keys = set(keys)
        keys.update(card.uid for card in self.rows_held if not keys.isdisjoint(card.depends_on))
        super().change(keys)

    @override
    def look_of(self, row: Card, number: int) -> RowLook:
        """Only the current column shows its cursor."""
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


# The columns of the board at each width: what each holds, how its cards look, and tabs where one fits.


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. `parts` are the parts of `board_pages` that it holds, in the order of its cards."""

    name: str
    parts: tuple[str, ...]
    sets: str | None
    """The status that a card gets by being moved here; None where cards cannot be moved."""
    lines: int
    """How many lines a card has, without the empty line of `gap`."""
    gap: bool = False
    """Whether an empty line follows each card."""
    state: str = ""
    """The state (`text.glyphs.look`) whose glyph and colour the head has."""
    counts: tuple[str, ...] = ()
    """The parts that the number beside the name counts."""
    apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parts that have a number of their own in the head, each with the state whose glyph it has."""

    @property
    def height(self) -> int:
        """How many lines a card takes."""
        return self.lines + self.gap

    @property
    def is_mixed(self) -> bool:
        """Whether its cards are of several states, so that a card shows its own."""
        return len(self.parts) > 1


def _of_part(name: str, part: str, lines: int) -> ColumnSpec:
    return ColumnSpec(name, (part,), None if part == NEEDS_YOU else part, lines, gap=True, state=part, counts=(part,))


_OVER: Final = ("skipped", "cancelled")
_ACTIVE: Final = ("in_progress", NEEDS_YOU)
_CLOSED: Final = ("failed", "done", *_OVER)
# Done comes before Failed, so that a card moved right from In progress becomes done.
WIDE: Final = (
    _of_part("Pending", "pending", 2),
    _of_part("In progress", "in_progress", 4),
    _of_part("Needs you", NEEDS_YOU, 4),
    ColumnSpec("Done", ("done", *_OVER), "done", 2, state="done", counts=("done",), apart=(("skipped", _OVER),)),
    _of_part("Failed", "failed", 4),
)
"""From 100 columns of the terminal."""
STACKED: Final = (
    replace(WIDE[0], gap=False),
    replace(WIDE[1], name="Active", parts=_ACTIVE, lines=2, gap=False, apart=((NEEDS_YOU, (NEEDS_YOU,)),)),
    replace(WIDE[3], name="Closed", parts=_CLOSED, counts=_CLOSED, apart=(("failed", ("failed",)),)),
)
"""From 60 columns of the terminal."""
NARROW: Final = tuple(replace(spec, lines=2, gap=False) for spec in WIDE)
"""Below that: one column at a time."""

# The parts that each tab is drawn from, so that a click finds it.
_PARTS: Final = 5


class BoardTabs(FrameLine):
    """` < ○ 2  [◐ 1]  ? 2  ✗ 1  ✓ 2 >`: the columns, each as the glyph of its status and its number of cards."""

    class Chosen(Message):
        """A tab was clicked; `number` counts from 0."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, context: Context) -> None:
        super().__init__(context, self._tab_parts)
        self._tabs: Sequence[tuple[str, str]] = ()
        self._at = 0

    def show(self, tabs: Sequence[tuple[str, str]], at: int) -> None:
        """Show these tabs, each a state and a count, with one of them as the current."""
        self._tabs, self._at = tabs, at
        self.again()

    def _tab_parts(self, width: int) -> Sequence[Part]:
        """Return the tabs, the current one in brackets."""
        last = len(self._tabs) - 1
        parts: list[Part] = [(" <" if self._at > 0 else "  ", "$muted")]
        for number, (state, cards) in enumerate(self._tabs):
            is_here, shown = number == self._at, look(state)
            text = f"{shown.mark(ascii_only=self.context.ascii_only)} {cards}"
            parts += [
                (" ", ""),
                ("[" if is_here else "", "bold"),
                (text, f"{shown.color} bold" if is_here else "$muted"),
                ("]" if is_here else "", "bold"),
                (" " if number < last else "", ""),
            ]
        return [*parts, (" >" if self._at < last else "", "$muted")]

    def on_click(self, event: events.Click) -> None:
        """Choose the tab that was clicked."""
        part = self.part_number(event.x)
        if part is not None:
            self.post_message(self.Chosen(min(max(part - 1, 0) // _PARTS, len(self._tabs) - 1)))
