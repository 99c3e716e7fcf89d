"""Moves cards: to another column, which sets the status, or within a column, which changes the place in the list; marks
those of a column, and goes to another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.geometry import Offset
from typing_extensions import override

from tui_tasks.core.errors import Conflict
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.board.board_columns import CardsOfColumn, ColumnSpec
from tui_tasks.tui.board.card_column import Column
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import READ_ONLY, Controller
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.tasks.mark_actions import MAX_MARKED, PAUSE, mark_range
from tui_tasks.tui.tasks.task_actions import in_order_with_next, moves_beside

if TYPE_CHECKING:
    from tui_tasks.tui.board.board_pane import BoardPane

MOVES: Final = {"card_left": -1, "card_right": 1}
"""The actions that move a card to another column, and by how many columns."""


class CardMoves(Controller):
    """Moves the marked cards of a board, else the card under the cursor, or the dragged one."""

    def __init__(self, pane: BoardPane) -> None:
        self._pane = pane
        self._context = pane.context
        # Held until a move is written, so that the next one, typed at once, starts from its result.
        self._lock = asyncio.Lock()

    @override
    def why_not(self, action: Action) -> str | None:
        """Within a sorted column a card cannot be moved."""
        return self._pane.sort_actions.why_not_move() if action.id in ("move_down", "move_up") else None

    # To another column

    async def do_card_left(self) -> None:
        """Move to the next column to the left that a card can be moved to."""
        await self._move_by(-1)

    async def do_card_right(self) -> None:
        """Move to the next column to the right that a card can be moved to."""
        await self._move_by(1)

    async def _move_by(self, by: int) -> None:
        uids = self._pane.selection()
        async with self._lock:
            here = self._column_of(uids[0])
            into = self.next_column(here, by, self._card(uids[0]))
            if into is not None:
                await self._put_into(uids, into)
            else:
                name = self._pane.specs[here].name
                self._context.say(f"{name} is the {'first' if by < 0 else 'last'} column.")

    def next_column(self, at: int, by: int, card: Card | None) -> ColumnSpec | None:
        """Return the next column in a direction that a card can be moved to; one that was left passes its status's."""
        has = card.status if card is not None and card.part == NEEDS_YOU and not self._why_it_stays(card) else None
        specs = self._pane.specs
        ahead = specs[at + 1 :] if by > 0 else specs[:at][::-1]
        return next((spec for spec in ahead if spec.sets is not None and spec.sets != has), None)

    def word(self, move: str) -> str:
        """Return the target column of a move, one of several states with the mark of the new; empty without one."""
        into = self.column_for_cursor(MOVES[move])
        if into is None or into.sets is None:
            return ""
        ascii_only = self._context.ascii_only
        mark = f"{look(into.sets).mark(ascii_only=ascii_only)} " if not into.state else ""
        return f"{sign('status', ascii_only=ascii_only)} {mark}{into.name}"

    def key_parts(self, width: int) -> Sequence[Part]:
        """Return ` h/l column   H → Pending   L → Done`: the keys for a newcomer on a small screen."""
        key_of = self._context.keymap.key_of
        parts: list[Part] = [(f" {key_of('column_left')}/{key_of('column_right')}", "$key"), (" column", "$muted")]
        moves = [move for move in MOVES if self.word(move) and not self._context.link.read_only]
        cells = sum(cell_len(f" {key_of(move)} {self.word(move)}") for move in moves) + sum(
            cell_len(t) for t, _ in parts
        )
        gap = "   " if cells + 2 * len(moves) <= width else "  "
        for move in moves:
            parts += [(f"{gap}{key_of(move)}", "$key"), (f" {self.word(move)}", "$muted")]
        return parts

    def column_for_cursor(self, by: int) -> ColumnSpec | None:
        """Return the column to which the cursor's card would move; None when it cannot move that way."""
        card = self._pane.row_list.row
        into = self.next_column(self._pane.at, by, card)
        return None if card is None or self._why_it_stays(card) else into

    def _column_of(self, uid: str) -> int:
        """Return the column of a card now, even before the screen shows it there."""
        card = self._card(uid)
        at = self._pane.area.column_with(card) if card is not None else None
        return self._pane.at if at is None else at

    async def _put_into(self, uids: Sequence[str], spec: ColumnSpec) -> None:
        """Move cards to a column, or say why not."""
        cards = self._find(uids)
        refusal = self._why_not_into(cards.values(), spec)
        if refusal:
            self._context.say(refusal)
            return
        assert spec.sets is not None
        try:
            if await self._pane.task_actions.set_status(list(cards), spec.sets, is_seen=True):
                self._pane.row_list.clear_marks()
        except Conflict as conflict:
            self._context.say(self._message(conflict))

    def _why_not_into(self, cards: Collection[Card], spec: ColumnSpec) -> str:
        """Return the reason against moving cards to a column, for people; the rules may still refuse."""
        if spec.sets is None:
            return "A card comes here when its agent asks you something or is gone, or when a check fails"
        for card in cards:
            if why := self._why_it_stays(card):
                return why
            if card.status == spec.sets:
                return f"{self._named(card)} is {look(spec.sets).word} already"
        return ""

    def _message(self, conflict: Conflict) -> str:
        """Return the text of a refusal, with number and name instead of a uid."""
        first = list_pages.line(self._context.db, str(conflict.data.get("in_progress")))
        if first is None:
            return conflict.message
        state = self._context.state.status_of(first)
        # Its card may stand in another column.
        beside = f" ({look(state).word})" if state != first.status else ""
        return f"{self._named(first)} is in progress{beside}, and this list takes one at a time for each agent"

    def _named(self, task: list_pages.TaskLine) -> str:
        return f"#{task.number} {safe_line(task.name, 30)}"

    # Within a column

    async def do_move_down(self) -> None:
        """Move below the next card."""
        await self._step(1)

    async def do_move_up(self) -> None:
        """Move above the previous card."""
        await self._step(-1)

    async def _step(self, by: int) -> None:
        source = self._pane.row_list.source
        async with self._lock:
            if source is not None:
                cards, near = in_order_with_next(source, self._find(self._pane.selection()).values(), by)
                await self._pass(cards, near, after=by > 0)

    def _card(self, uid: str | None) -> Card | None:
        return self._find([uid or ""]).get(uid or "")

    def _find(self, uids: Sequence[str]) -> dict[str, Card]:
        state = self._context.state
        return board_pages.find(self._context.db, state.list_id, uids, needing=state.needing)

    def _why_it_stays(self, card: Card) -> str:
        """Return what must be decided before a card can be moved; empty where nothing is."""
        state, key_of = self._context.state, self._context.keymap.key_of
        if card.part != NEEDS_YOU:
            return ""
        if card.uid in state.asking:
            until = f"you answer: {key_of('asks')} answers"
        elif card.uid in state.works.reviewable:
            until = f"its work is merged or discarded: {key_of('open')} shows it"
        else:
            return ""
        return f"{self._named(card)} stays here until {until}, {key_of('status')} sets its status."

    async def _pass(self, cards: Sequence[Card], other: Card | None, *, after: bool) -> None:
        """Put cards right after or before another of their column."""
        if other is None or other.uid in [card.uid for card in cards]:
            return
        if why := self._pane.sort_actions.why_not_move():
            self._context.say(why)
        elif any(card.part != other.part for card in cards):
            self._context.say(f"The {look(other.part).word} ones are a separate part of this column.")
        else:
            await self._context.link.commit(*moves_beside(cards, other, after=after))

    # By mouse

    def drag(self, event: VirtualList.Dragged) -> None:
        """Show which column the card would be dropped on."""
        over = self._column_at(event.at)
        for column in self._pane.columns:
            column.head.set_target(column is over and column.cards is not event.row_list)

    def end_drag(self) -> None:
        """Show no column as the target of a drag."""
        for column in self._pane.columns:
            column.head.set_target(False)

    def drop(self, event: VirtualList.Dropped) -> None:
        """Move the card to the column on which it was dropped, or to its place there within its own."""
        self.end_drag()
        over = self._column_at(event.at)
        if over is None:
            return
        if self._context.link.read_only:
            self._context.say(READ_ONLY)
        elif over.cards is event.row_list:
            self._context.run(self._drop_within(over, event))
        else:
            marks = event.row_list.marks
            self._context.run(self._put_into(marks if event.key in marks else [event.key], over.spec))

    async def _drop_within(self, column: Column, event: VirtualList.Dropped) -> None:
        cards = column.cards
        other = cards.row_at(event.at.y - cards.region.y)
        if other is None:
            other = cards.rows_held[-1 if event.at.y >= cards.region.y else 0]
        async with self._lock:
            card = self._card(event.key)
            if card is not None and isinstance(cards.source, CardsOfColumn):
                order = cards.source.order
                await self._pass([card], other, after=order(other) > order(card))

    def _column_at(self, offset: Offset) -> Column | None:
        at = self._pane.area.column_at(offset)
        return self._pane.columns[at] if at is not None else None


class ColumnActions(Controller):
    """Goes to other columns of a board, and marks the cards in the current one."""

    def __init__(self, pane: BoardPane) -> None:
        self._pane = pane
        self._context = pane.context

    def do_column_left(self) -> None:
        """Go to the next column with cards to the left."""
        self._go_to_cards(range(self._pane.at - 1, -1, -1))

    def do_column_right(self) -> None:
        """Go to the next column with cards to the right."""
        self._go_to_cards(range(self._pane.at + 1, len(self._pane.specs)))

    def _go_to_cards(self, places: Sequence[int]) -> None:
        """Go to the first of these columns that has cards; if none has, to none."""
        at = self._pane.area.column_with_cards(places)
        if at is not None:
            self._pane.go(at)
        elif places:
            self._context.say("No more cards on this side.")

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark the range from the last mark; else all cards of the column; where all are marked, none."""
        if mark_range(self._context, self._pane.row_list, "card"):
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
        uids = [card.uid for card in cards]
        if column.cards.marks and not set(uids) - set(column.cards.marks):
            column.cards.clear_marks()
            context.say("No card is marked.")
            return
        column.cards.mark(uids, on=True)
        context.say(f"{count(len(cards), 'card')} marked.")
