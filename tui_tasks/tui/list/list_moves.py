"""Moves tasks to another place in their list, by keys and mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core.operations.tasks import MoveTask
from tui_tasks.core.read.pages import pages
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.rows.row_list import VirtualList

if TYPE_CHECKING:
    from tui_tasks.tui.list.list_pane import ListPane


class ListMoves(Controller):
    """Moves the task under the cursor, or the dragged one, in the list of a pane."""

    def __init__(self, pane: ListPane) -> None:
        self._pane = pane
        self._rows = pane.row_list
        self._context = pane.context

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; a sorted list cannot be rearranged."""
        return f"the list is sorted by {self._pane.only.sort}" if self._pane.only.sort else super().why_not(action)

    async def do_move_down(self) -> None:
        """Move the task one place down."""
        below = self._rows.neighbour(1)
        if below is not None and self._rows.cursor is not None:
            await self._move(MoveTask(self._rows.cursor, after=below.uid))

    async def do_move_up(self) -> None:
        """Move the task one place up."""
        above = self._rows.neighbour(-1)
        if above is not None and self._rows.cursor is not None:
            await self._move(MoveTask(self._rows.cursor, before=above.uid))

    def drop(self, event: VirtualList.Dropped) -> None:
        """Move the dragged task to where it was dropped."""
        region = self._rows.region
        over = self._rows.row_at(event.at.y - region.y) if region.contains_point(event.at) else None
        dragged = pages.line(self._context.db, event.key)
        if over is None or dragged is None or over.uid == dragged.uid:
            return
        if self._context.link.read_only:
            self._context.say("Moving a task: read only")
        elif self._pane.only.sort:
            self._context.say(f"Moving a task: the list is sorted by {self._pane.only.sort}")
        elif over.rank > dragged.rank:
            self._context.run(self._move(MoveTask(dragged.uid, after=over.uid)))
        else:
            self._context.run(self._move(MoveTask(dragged.uid, before=over.uid)))

    async def _move(self, move: MoveTask) -> None:
        await self._context.link.commit(move)
