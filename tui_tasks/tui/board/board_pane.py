"""The board: the tasks of one list in columns, by what has become of each."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar, Final, Self

import humanize
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widget import Widget

from tui_tasks.core.read.tasks import board_pages
from tui_tasks.core.read.tasks.board_pages import NEEDS_YOU
from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.text.glyphs import look
from tui_tasks.text.times import count
from tui_tasks.tui.app.actions import ACTIONS, AppAccess, bindings
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.board.board_inputs import BoardWords
from tui_tasks.tui.board.card_numbers import CardNumbers
from tui_tasks.tui.board.columns import NARROW, STACKED, WIDE, CardsOfColumn, Column, ColumnWindow
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.tasks.detail import Detail
from tui_tasks.tui.tasks.quick_add import QuickAdd
from tui_tasks.tui.tasks.task_actions import MOST_MARKED
from tui_tasks.tui.widgets.frame import FrameLine, Rule
from tui_tasks.tui.widgets.painting import Focusable, PaintWhenVisible
from tui_tasks.tui.widgets.styles import Part
from tui_tasks.tui.widgets.text_lines import Divider

# Seconds after which the cards that a filter wants are counted: not with every letter.
_COUNT_AFTER: Final = 0.15


class BoardTabs(FrameLine):
    """` < ○ 2  [◐ 1]  ? 2  ✗ 1  ✓ 2 >`: the columns, where there is room for one at a time."""

    PARTS: ClassVar = 5  # of each column, so that a click finds it

    def left(self, width: int) -> Sequence[Part]:
        """A glyph and a number each, the one that is shown in brackets."""
        board, ascii_only = self.board, self.host.ascii_only
        last = len(board.plans) - 1
        parts: list[Part] = [(" <" if board.at > 0 else "  ", "$muted")]
        for at, plan in enumerate(board.plans):
            here, shown = at == board.at, look(plan.state)
            text = f"{shown.mark(ascii_only=ascii_only)} {board.count_of(plan.counts)}"
            parts += [(" ", ""), ("[" if here else "", "bold"), (text, f"{shown.color} bold" if here else "$muted")]
            parts += [("]" if here else "", "bold"), (" " if at < last else "", "")]
        return [*parts, (" >" if board.at < last else "", "$muted")]

    @property
    def board(self) -> BoardPane:
        """The board above whose cards it stands."""
        assert isinstance(self.parent, BoardPane)
        return self.parent

    def on_click(self, event: events.Click) -> None:
        """Go to the column that was clicked."""
        number = self.part_number(event.x)
        if number is not None:
            self.board.go(min(max(number - 1, 0) // self.PARTS, len(self.board.plans) - 1))


class BoardKeys(FrameLine):
    """` h/l column   H → Pending   L → Done`: what a newcomer to a small screen needs."""

    def left(self, width: int) -> Sequence[Part]:
        """The keys, as they are mapped."""
        key = self.host.key_of
        parts: list[Part] = [(f" {key('column_left')}/{key('column_right')}", "$changed"), (" column", "$muted")]
        for action in (ACTIONS["card_left"], ACTIONS["card_right"]) if not self.host.bridge.read_only else ():
            word = self.board.short(action)
            parts += [(f"   {key(action.id)}", "$changed"), (f" {word}", "$muted")] if word else []
        return parts

    @property
    def board(self) -> BoardPane:
        """The board below whose cards it stands."""
        assert isinstance(self.parent, BoardPane)
        return self.parent


class CardArea(AppAccess, Horizontal, Focusable, PaintWhenVisible, can_focus=True):
    """The columns. It has the focus for all of them: to move the focus has the whole screen painted again."""

    def follow_focus(self) -> None:
        """Draw the cursor stronger or weaker, as the focus is here or not."""
        for window in self.query(ColumnWindow):
            window.follow_focus()


class BoardPane(BoardWords):
    """Pane 2. `plans` are the columns of the moment, `at` the one that keys are about; `window` is its window."""

    NAME = "board"
    SCOPES = ("rows", "tasks", "board")
    FOOTER = ("help", "filter", "new", "status", "edit", "card_left", "card_right", "asks", "undo", "quit")
    FOOTER_SMALL = ("help", "asks", "filter")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    BoardPane #columns { height: 1fr; }
    BoardPane BoardTabs, BoardPane BoardKeys { display: none; }
    BoardPane.-one BoardTabs, BoardPane.-one BoardKeys { display: block; }
    BoardPane.-one ColumnHead { display: none; }
    BoardPane Detail { display: none; height: 40%; border-top: solid $rule; }
    BoardPane.-open Detail { display: block; }
    BoardPane.-one.-open Detail { height: 1fr; border-top: none; }
    BoardPane.-one.-open #columns, BoardPane.-one.-open BoardTabs, BoardPane.-one.-open BoardKeys { display: none; }
    """

    window: VirtualList[Any]

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.plans = WIDE
        self.at = 0
        self.moving = asyncio.Lock()
        self._list_id = -1
        self._counts: dict[str, int] = {}
        self._at_least: set[str] = set()
        self._counting: Timer | None = None
        self._numbers = CardNumbers(self, self._cards_again)
        self._columns = [Column(self._numbers.of, self.count_of) for _ in WIDE]
        self._dividers = [Divider() for _ in self._columns[1:]]
        self.window = self._columns[0].window

    def compose(self) -> ComposeResult:
        """Columns with a rule between each two."""
        yield BoardTabs()
        yield Rule()
        yield FilterBar(self.known_words)
        yield QuickAdd(self.numbered)
        with CardArea(id="columns"):
            yield self._columns[0]
            for divider, column in zip(self._dividers, self._columns[1:], strict=True):
                yield divider
                yield column
        yield Detail()
        yield BoardKeys()

    def focus_target(self) -> Widget:
        """The cards of all columns."""
        return self.query_one(CardArea)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the focus to the cards at once, before the next key is looked at."""
        self.screen.set_focus(self.query_one(CardArea), scroll_visible)
        return self

    @property
    def columns(self) -> list[Column]:
        """The columns of the moment, from the left."""
        return self._columns[: len(self.plans)]

    # What is shown

    def on_mount(self) -> None:
        """Arrange the columns before they are laid out."""
        self.on_resize()

    def on_resize(self) -> None:
        """Five columns, three, or one at a time."""
        width = self.size.width or self.host.size.width
        plans = WIDE if width >= 100 else STACKED if width >= 60 else NARROW
        if plans is not self.plans or self._list_id < 0:
            self.plans = plans
            self._arrange()

    def _arrange(self) -> None:
        """Fill the columns; the card under the cursor stays there."""
        app = self.host
        held = self.target() or (app.situation.active.uid if app.situation.active is not None else None)
        self._list_id = app.list_id
        self._numbers.clear()
        self._count()
        self.set_class(self.plans is NARROW, "-one")
        for plan, column in zip(self.plans, self._columns, strict=False):
            column.take(plan, CardsOfColumn(app.bridge.db, app.list_id, plan.parts, self.only))
        at = min(self.at, len(self.plans) - 1)
        self.go(at)
        self._follow(held)
        self._heads_again()

    def show_wanted(self, only: Filter) -> None:
        """Show the cards that are wanted; marks stay, and so does the cursor where its card does."""
        held, self.only = self.target(), only
        for column in self.columns:
            column.refilter(CardsOfColumn(self.host.bridge.db, self._list_id, column.plan.parts, only))
        self._follow(held)
        self._count()
        self._heads_again()

    def select(self, uid: str) -> None:
        """As `Pane.select`."""
        self._follow(uid)

    def go_to(self, uid: str) -> None:
        """As `Pane.go_to`."""
        if not self._follow(uid) and self.only:
            self.query_one(FilterBar).clear()
            self.show_wanted(ALL)
            self._follow(uid)

    def refreshed(self) -> None:
        """Look anew, at another list where the App has another."""
        if self._list_id != self.host.list_id:
            self._arrange()
            return
        held = self.target()
        self._numbers.clear()
        for column in self.columns:
            column.window.reload()
        self._follow(held)
        if self.is_open:
            self.detail.refreshed()
        self._count()
        self._heads_again()

    def changed(self, changes: Changes) -> None:
        """See to the cards that were touched; the cursor goes with its card."""
        if changes.all:
            self.refreshed()
            return
        held, uids = self.target(), changes.tasks()
        self._numbers.forget_behind(changes, self._list_id)
        for column in self.columns:
            column.window.change(uids)
            if changes.touches("ask"):
                column.window.again()
        if held in uids and self.window.cursor != held:
            self._follow(held)
        if self.is_open:
            self.detail.changed(changes)
        self._count()
        self._heads_again()

    def _follow(self, uid: str | None) -> bool:
        """Put the cursor on a card, in whatever column it is by now; False where it is in none."""
        card = board_pages.find(self.host.bridge.db, self._list_id, [uid or ""], self.only).get(uid or "")
        at = next((at for at, plan in enumerate(self.plans) if card is not None and card.part in plan.parts), None)
        if at is None or uid is None:
            return False
        self.columns[at].window.move_to(uid)
        self.go(at)
        return True

    def _heads_again(self) -> None:
        for column in self.columns:
            column.head.again()
        self.query_one(BoardTabs).again()
        self.keys_again()

    def keys_again(self) -> None:
        """Say where a card would go now."""
        self.query_one(BoardKeys).again()
        self.host.frame_again()

    # Numbers

    def _count(self) -> None:
        """How many cards each part has: kept for the list, counted soon where there is a filter."""
        found = self.host.current_list
        if self.only:
            self._counting = self._counting or self.set_timer(_COUNT_AFTER, self._count_wanted)
        elif found is not None:
            asked = board_pages.asked(self.host.bridge.db, found.id)
            kept = {part: getattr(found, part, 0) - asked.get(part, 0) for part in board_pages.PARTS}
            self._counts, self._at_least = kept | {NEEDS_YOU: sum(asked.values())}, set()

    def _count_wanted(self) -> None:
        self._counting = None
        for part in board_pages.PARTS:
            number, more = board_pages.count(self.host.bridge.db, self._list_id, part, self.only)
            self._counts[part] = number
            (self._at_least.add if more else self._at_least.discard)(part)
        self._heads_again()

    def count_of(self, parts: Sequence[str]) -> str:
        """How many cards some parts have, as text; with a plus where there may be more."""
        number = humanize.intcomma(sum(self._counts.get(part, 0) for part in parts))
        return number if self._at_least.isdisjoint(parts) else f"{number}+"

    def _cards_again(self) -> None:
        for column in self.columns:
            column.window.again()

    # The current column

    def go(self, at: int) -> None:
        """Go to a column."""
        self.at, self.window = at, self.columns[at].window
        one = self.plans is NARROW
        for number, column in enumerate(self._columns):
            _display(column, number == at if one else number < len(self.plans))
            column.window.set_current(number == at)
        for number, divider in enumerate(self._dividers, 1):
            _display(divider, not one and number < len(self.plans))
        self._heads_again()
        self.show_detail()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A column that is clicked is gone to."""
        for at, column in enumerate(self.columns):
            if column.display and column.region.contains_point(event.screen_offset) and at != self.at:
                self.go(at)

    def do_column_left(self) -> None:
        """The column to the left."""
        if self.at > 0:
            self.go(self.at - 1)

    def do_column_right(self) -> None:
        """The column to the right."""
        if self.at < len(self.plans) - 1:
            self.go(self.at + 1)

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark all cards of the column; where some are marked, none."""
        if self.window.marks:
            self.window.clear_marks()
            return None
        return self._mark_all(self.columns[self.at])

    async def _mark_all(self, column: Column) -> None:
        """Look a stretch at a time, so that keys come through; then mark them at once."""
        only = self.only
        source = CardsOfColumn(self.host.bridge.db, self._list_id, column.plan.parts, only)
        read = source.first(MOST_MARKED)
        cards = list(read)
        while read.cut and len(cards) < MOST_MARKED:
            self.host.say(f"Looking for all that match…  {count(len(cards), 'card')}")
            await asyncio.sleep(0.005)
            if self.only != only or self.host.list_id != source.list_id:
                self.host.say("The filter has changed; nothing was marked.")
                return
            rest = MOST_MARKED - len(cards)
            read = source.after(cards[-1], rest) if cards else source.first(rest)
            cards += read
        column.window.mark((card.uid for card in cards), on=True)
        self.host.say(f"{count(len(cards), 'card')} marked.")


def _display(widget: Widget, display: bool) -> None:
    """Show or hide a widget; to set what is set already has everything laid out and painted again."""
    if widget.display != display:
        widget.display = display
