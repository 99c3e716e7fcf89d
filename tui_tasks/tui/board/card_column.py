"""A column of the board: its cards, the line above them, and tabs where one column fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Offset, Size
from textual.message import Message
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read.pages.board_pages import Card
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.board.board_columns import NARROW, WIDE, CardsOfColumn, ColumnSpec, widths
from tui_tasks.tui.board.card_drawing import CardDrawing
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import Divider
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.widgets.textual_overrides import Focusable, NoRelayout, PaintWhenVisible, ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


# For so many cards a column is made wide.
_LOOKED_AT: Final = 20
# How often at most the cards on screen are chosen anew, until those chosen fit.
_FITTINGS: Final = 8


class CardRows(VirtualList[Card]):
    """The cards of one column."""

    def __init__(self, context: Context, drawing: CardDrawing, covered: Callable[[], int]) -> None:
        """`covered` returns how many lines of the column the detail covers: cards keep their places beside it."""
        super().__init__(context, drawing, focusable=False)
        self._card_drawing = drawing
        self._covered = covered

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
        self._card_drawing.forget()
        self.set_row_height(spec.lines, spec.gap)

    def set_current(self, current: bool) -> None:
        """Set whether this column has the cursor."""
        if current != self.is_current:
            self._card_drawing.is_current = current
            self._update()
            if not self.rows_held:
                self.refresh()

    @override
    def change(self, keys: Iterable[str]) -> None:
        """Including the cards that wait for one of the tasks, which have no entry of their own."""
        keys = set(keys)
        keys.update(card.uid for card in self.rows_held if not keys.isdisjoint(card.depends_on))
        super().change(keys)

    @override
    def look_of(self, row: Card, number: int) -> RowLook:
        """Only the current column shows its cursor."""
        row_look = super().look_of(row, number)
        cursor = row_look.cursor and self.is_current
        return replace(row_look, cursor=cursor, focused=cursor and row_look.focused)

    @override
    def redraw(self) -> None:
        """Including what the cards have read."""
        self._card_drawing.forget()
        super().redraw()

    @override
    def row_heights(self) -> Sequence[int] | None:
        """Each card is as tall as its text, at most `lines` of its column where not all cards fit on screen."""
        cache, size = self._cache, self.size
        rows = cache.rows if cache.has_first and cache.has_last and not cache.is_cut else ()
        fitted = self._card_drawing.heights(rows, size.width, size.height + self._covered()) if rows else None
        tall, gap = fitted if fitted is not None else ([], 0)
        self._painter.gap = gap
        if fitted is None or sum(tall) + gap * (len(tall) - 1) > size.height:
            return self._heights_on_screen(size, gap)
        if len(rows) != cache.height:
            self._cursor.resize(len(rows))
        return tall

    def _heights_on_screen(self, size: Size, gap: int) -> Sequence[int]:
        """Have as many cards on screen as fit from the first one, with the cursor if it was; return their heights."""
        cache, drawing = self._cache, self._card_drawing
        if not cache.rows:
            self._cursor.resize(self._capacity(size.height))
            return []
        tall: list[int] = []
        # The screen moves when a card above the cursor is taller, so that others are on screen, of other heights.
        for _ in range(_FITTINGS):
            tall = drawing.heights_until(cache.rows[cache.top :], size.width, size.height, gap)
            if cache.top + len(tall) == len(cache.rows):
                left = size.height - sum(tall) - gap * len(tall)
                tall += drawing.heights_until(cache.rows[: cache.top][::-1], size.width, left, gap)
            capacity = max(len(tall), 1)
            if capacity == cache.height:
                break
            self._cursor.resize(capacity)
        if self._covered() == 0:
            drawing.keep(cache.on_screen)
        return [drawing.height_of(row, size.width) for row in cache.on_screen]


class ColumnHead(FrameLine):
    """` ◐ In progress 1`, ` ✓ Done 2  1 skipped`; with cards of several states ` Closed  ✗ 1  ✓ 3  – 1`."""

    class Clicked(Message):
        """The head was clicked: the focus is to go to the cards."""

    def __init__(self, context: Context, cards: CardRows, count: Callable[[Sequence[str]], str]) -> None:
        super().__init__(context, self._parts_of_spec)
        self._cards = cards
        self._count = count
        self._is_target = False

    def _parts_of_spec(self, width: int) -> Sequence[Part]:
        """Return glyph, name and the numbers of its states, that of dropped ones with a word where it has room; the sum
        before them where not all numbers do.
        """
        spec, ascii_only = self._cards.spec, self.context.ascii_only
        style = "$changed bold" if self._is_target else "bold" if self._cards.is_current else ""
        parts: list[Part] = [(" ", "")]
        if self._is_target:
            parts.append((f"{sign('status', ascii_only=ascii_only)} ", "$changed"))
        elif spec.state:
            parts.append((f"{look(spec.state).mark(ascii_only=ascii_only)} ", look(spec.state).color))
        parts.append((spec.name, style))
        total: Part = (f" {self._count(spec.counts)}", style or "$muted")
        counts: list[Part] = []
        in_words: list[Part] = []
        for other, members in spec.apart:
            number = self._count(members)
            if number != "0":
                there = [member for member in members if self._count((member,)) != "0"]
                shown = look(there[0] if len(members) > len(there) == 1 else other)
                counts.append((f"  {shown.mark(ascii_only=ascii_only)} {number}", shown.color))
                # The sign of what is dropped says little without a word.
                has_word = len(members) > len(there) == 1 and bool(spec.state)
                in_words.append((f"  {number} {shown.word}", shown.color) if has_word else counts[-1])
        left = width - parts_width(parts)
        if parts_width(in_words) < left - (cell_len(total[0]) if spec.state else 0):
            counts = in_words
        if not spec.state and parts_width(counts) > left:
            counts = [(text if at == 0 else text[1:], color) for at, (text, color) in enumerate(counts)]
        if not spec.state and counts and parts_width(counts) <= left:
            return [*parts, *counts]
        left -= cell_len(total[0])
        parts.append(total)
        for text, color in counts:
            left -= cell_len(text)
            if left >= 0:
                parts.append((text, color))
        return parts

    def set_target(self, is_target: bool) -> None:
        """Set whether the dragged card would be dropped on this column."""
        if is_target != self._is_target:
            self._is_target = is_target
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Go back to the cards; the pane has made this the current column already."""
        event.stop()
        self.post_message(self.Clicked())


class Column(Vertical, NoRelayout):
    """One column: its head and its cards."""

    DEFAULT_CSS = """
    Column { width: 1fr; height: 1fr; }
    Column ColumnHead { margin-bottom: 1; }
    """

    def __init__(
        self,
        context: Context,
        count: Callable[[Sequence[str]], str],
        no_match: Callable[[], str],
        covered: Callable[[], int],
    ) -> None:
        super().__init__()
        self._drawing = CardDrawing(context)
        self._drawing.no_match = no_match
        self.cards = CardRows(context, self._drawing, covered)
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

    @property
    def wanted_width(self) -> int:
        """In how many cells its cards are read at a glance; 0 without cards."""
        return self._drawing.width_for(self.cards.rows_held[:_LOOKED_AT])

    def refilter(self, source: CardsOfColumn) -> None:
        """Show more or fewer of the same cards; marks stay."""
        self.cards.refilter(source, self.cards.cursor)


class CardArea(ResilientMessages, Horizontal, Focusable, PaintWhenVisible, NoRelayout, can_focus=True):
    """The columns, with dividers between them. It has the focus for all: moving the focus between widgets makes Textual
    paint the whole screen.
    """

    def __init__(self, context: Context, columns: Sequence[Column], *, id: str) -> None:
        super().__init__(id=id)
        self.specs: tuple[ColumnSpec, ...] = WIDE
        """The columns that fit."""
        self._columns = columns
        self._dividers = [Divider(context) for _ in columns[1:]]
        self._have_cards: list[bool] = []

    def compose(self) -> ComposeResult:
        """Compose columns and dividers."""
        yield self._columns[0]
        for divider, column in zip(self._dividers, self._columns[1:], strict=True):
            yield divider
            yield column

    def follow_focus(self) -> None:
        """Draw the cursor in the style for a board with or without focus."""
        for column in self._columns:
            column.cards.follow_focus()

    @property
    def columns(self) -> Sequence[Column]:
        """The columns that fit, from left to right."""
        return self._columns[: len(self.specs)]

    def column_with(self, card: Card) -> int | None:
        """Return the index of the column that a card belongs to; None when none holds it."""
        return next((at for at, spec in enumerate(self.specs) if card.part in spec.parts), None)

    def column_with_cards(self, places: Iterable[int]) -> int | None:
        """Return the first of these columns that has cards, as keys do nothing in an empty one; None if none has."""
        return next((at for at in places if self.columns[at].cards.rows_held), None)

    @property
    def marked(self) -> int:
        """How many cards are marked."""
        return sum(len(column.cards.marks) for column in self.columns)

    @property
    def has_cards(self) -> bool:
        """Whether any column has cards."""
        return any(column.cards.rows_held for column in self.columns)

    @property
    def is_searching(self) -> bool:
        """Whether any column still searches for cards that match."""
        return any(column.cards.is_searching for column in self.columns)

    def column_at(self, offset: Offset) -> int | None:
        """Return the index of the column at a place on the screen."""
        shown = (at for at, column in enumerate(self.columns) if column.display)
        return next((at for at in shown if self.columns[at].region.contains_point(offset)), None)

    def show_current(self, at: int) -> None:
        """Show which column is the current one; where one column fits, that one."""
        one = self.specs is NARROW
        for number, column in enumerate(self._columns):
            _display(column, number == at if one else number < len(self.specs))
            column.cards.set_current(number == at)
        for number, divider in enumerate(self._dividers, 1):
            _display(divider, not one and number < len(self.specs))

    def share_width(self, width: int, *, is_other: bool) -> None:
        """Make columns as wide as their cards need. With the same cards but for some, that changes where a column gets
        its first card or loses its last one.
        """
        have = [bool(column.cards.rows_held) for column in self.columns]
        if not is_other and have == self._have_cards:
            return
        self._have_cards = have
        wanted = [column.wanted_width for column in self.columns]
        for column, cells in zip(self.columns, widths(self.specs, wanted, width - len(have) + 1), strict=True):
            column.styles.width = f"{cells}fr"


def _display(widget: Widget, display: bool) -> None:
    """Show or hide a widget. Setting `display` to its current value would lay out and paint everything again."""
    if widget.display != display:
        widget.display = display


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
        self.redraw()

    def _tab_parts(self, width: int) -> Sequence[Part]:
        """Return the tabs, the current one in brackets, with an arrow where keys go to more cards."""
        last, have = len(self._tabs) - 1, [cards != "0" for _, cards in self._tabs]
        parts: list[Part] = [(" <" if any(have[: self._at]) else "  ", "$muted")]
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
        return [*parts, (" >" if any(have[self._at + 1 :]) else "", "$muted")]

    def on_click(self, event: events.Click) -> None:
        """Choose the tab that was clicked."""
        part = self.part_number(event.x)
        if part is not None:
            self.post_message(self.Chosen(min(max(part - 1, 0) // _PARTS, len(self._tabs) - 1)))
