"""Moving cards: to another column, which sets their status; within their column, which is their place in the list."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from textual.geometry import Offset

from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import MoveTask
from tui_tasks.core.read.tasks import board_pages, pages
from tui_tasks.core.read.tasks.board_pages import NEEDS_YOU, OPEN, Card
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.app.actions import Action
from tui_tasks.tui.board.columns import Column, ColumnSpec
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.tasks.task_actions import TaskActions


class BoardMoves(TaskActions):
    """What the keys H J K L and the mouse do to cards. The pane says which columns there are."""

    plans: tuple[ColumnSpec, ...]
    at: int
    window: VirtualList[Any]
    moving: asyncio.Lock
    """Held by a move until it is written, so that the next, typed at once, begins where it ends."""

    @property
    def columns(self) -> list[Column]:
        """The columns of the moment, from the left."""
        raise NotImplementedError

    async def do_card_left(self) -> None:
        """To the next column to the left that a card can be moved to."""
        await self._move_by(-1)

    async def do_card_right(self) -> None:
        """To the next column to the right that a card can be moved to."""
        await self._move_by(1)

    async def _move_by(self, by: int) -> None:
        uids = self.selection()
        async with self.moving:
            here = self._column_of(uids[0])
            into = self._next_plan(here, by)
            if into is not None:
                await self.put_into(uids, into)
            else:
                self.host.say(f"{self.plans[here].name} is the {'first' if by < 0 else 'last'} column")

    def _next_plan(self, at: int, by: int) -> ColumnSpec | None:
        """The next column that way that a card can be moved to."""
        ahead = self.plans[at + 1 :] if by > 0 else self.plans[:at][::-1]
        return next((plan for plan in ahead if plan.sets is not None), None)

    def short(self, action: Action) -> str:
        """As `Pane.short`; of the keys that move a card, the column that it would go to."""
        if action.id not in ("card_left", "card_right"):
            return super().short(action)
        into = self._next_plan(self.at, 1 if action.id == "card_right" else -1)
        waits = self.window.row is not None and self.window.row.part == NEEDS_YOU
        if into is None or self.window.row is None or (waits and into.sets in OPEN):
            return ""
        return f"{sign('status', ascii_only=self.host.ascii_only)} {into.name}"

    def _column_of(self, uid: str) -> int:
        """The column that a card is in by now, on screen or not yet."""
        card = self._card(uid)
        return next((at for at, plan in enumerate(self.plans) if card is not None and card.part in plan.parts), self.at)

    async def put_into(self, uids: Sequence[str], plan: ColumnSpec) -> None:
        """Move cards to a column, or say why not."""
        cards = board_pages.find(self.host.bridge.db, self.host.list_id, uids)
        refusal = self._why_not_into(cards.values(), plan)
        if refusal:
            self.host.say(refusal)
            return
        assert plan.sets is not None
        try:
            if await self.set_status(list(cards), plan.sets):
                self.window.clear_marks()
        except Conflict as conflict:
            self.host.say(self._told(conflict))

    def _why_not_into(self, cards: Collection[Card], plan: ColumnSpec) -> str:
        """What keeps cards from being moved to a column, for people; the state may refuse still."""
        if plan.sets is None:
            return "A card comes here when its agent asks you something"
        for card in cards:
            if card.part == NEEDS_YOU and plan.sets in OPEN:
                return f"{self._called(card)} waits for your answer: {self.host.key_of('asks')}"
            if card.status == plan.sets:
                return f"{self._called(card)} is {look(plan.sets).word} already"
        return ""

    def _told(self, conflict: Conflict) -> str:
        """A refusal, with numbers and names in place of uids."""
        first = pages.line(self.host.bridge.db, str(conflict.data.get("in_progress")))
        if first is None:
            return conflict.message
        return f"{self._called(first)} is in progress, and this list takes one at a time"

    def _called(self, task: pages.TaskLine) -> str:
        return f"#{self.host.place(task)} {safe_line(task.name, 30)}"

    # Within a column

    async def do_card_down(self) -> None:
        """Behind the card below."""
        await self._step(1)

    async def do_card_up(self) -> None:
        """Before the card above."""
        await self._step(-1)

    async def _step(self, by: int) -> None:
        uid, source = self.window.cursor, self.window.source
        async with self.moving:
            mine = self._card(uid)
            if mine is not None and source is not None:
                near = source.after(mine, 1) if by > 0 else source.before(mine, 1)
                await self._pass(mine, next(iter(near), None), after=by > 0)

    def _card(self, uid: str | None) -> Card | None:
        return board_pages.find(self.host.bridge.db, self.host.list_id, [uid or ""]).get(uid or "")

    async def _pass(self, mine: Card, other: Card | None, *, after: bool) -> None:
        """Put a card right behind or before another of its column."""
        if other is None or other.uid == mine.uid:
            return
        if other.part != mine.part:
            self.host.say(f"The {look(other.part).word} ones stand apart in this column")
        elif after:
            await self.host.bridge.commit(MoveTask(mine.uid, after=other.uid))
        else:
            await self.host.bridge.commit(MoveTask(mine.uid, before=other.uid))

    # By mouse

    def _column_at(self, at: Offset) -> Column | None:
        return next((column for column in self.columns if column.display and column.region.contains_point(at)), None)

    def on_virtual_list_dragged(self, event: VirtualList.Dragged) -> None:
        """Show which column the card would land in."""
        event.stop()
        over = self._column_at(event.at)
        for column in self.columns:
            column.head.set_target(column is over and column.window is not event.row_list)

    def end_drag(self) -> None:
        """No column is where a card would land any more."""
        for column in self.columns:
            column.head.set_target(False)

    async def on_virtual_list_dropped(self, event: VirtualList.Dropped) -> None:
        """Move the card to the column it was dropped on, or to its place there in its own."""
        event.stop()
        self.end_drag()
        over = self._column_at(event.at)
        if over is None:
            return
        if self.host.bridge.read_only:
            self.host.say("read only")
        elif over.window is event.row_list:
            self.host.flow(self._drop_within(over, event))
        else:
            marks = event.row_list.marks
            self.host.flow(self.put_into(marks if event.key in marks else [event.key], over.plan))

    async def _drop_within(self, column: Column, event: VirtualList.Dropped) -> None:
        window: Any = column.window
        other = window.row_at(event.at.y - window.region.y)
        if other is None:
            other = window.rows_held[-1] if event.at.y >= window.region.y else window.rows_held[0]
        async with self.moving:
            mine = self._card(event.key)
            if mine is not None and window.source is not None:
                order = window.source.order
                await self._pass(mine, other, after=order(other) > order(mine))
