"""Moving tasks to another place in their list, by keys and by mouse."""

from __future__ import annotations

from tui_tasks.core.operations import MoveTask
from tui_tasks.core.read.tasks import pages
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.tasks.task_inputs import TaskWords


class ListMoves(TaskWords):
    """What the keys J K and the mouse do to rows."""

    async def do_move_down(self) -> None:
        """One place down."""
        below = self.window.neighbour(1)
        if below is not None and self.window.cursor is not None:
            await self.host.bridge.commit(MoveTask(self.window.cursor, after=below.uid))

    async def do_move_up(self) -> None:
        """One place up."""
        above = self.window.neighbour(-1)
        if above is not None and self.window.cursor is not None:
            await self.host.bridge.commit(MoveTask(self.window.cursor, before=above.uid))

    def on_virtual_list_dragged(self, event: VirtualList.Dragged) -> None:
        """The window shows it."""
        event.stop()

    def on_virtual_list_dropped(self, event: VirtualList.Dropped) -> None:
        """Put the dragged row where it was let go of."""
        event.stop()
        region = self.window.region
        over = self.window.row_at(event.at.y - region.y) if region.contains_point(event.at) else None
        dragged = pages.line(self.host.bridge.db, event.key)
        if over is None or dragged is None or over.uid == dragged.uid:
            return
        move = (
            MoveTask(dragged.uid, after=over.uid)
            if over.rank > dragged.rank
            else MoveTask(dragged.uid, before=over.uid)
        )
        if self.host.bridge.read_only:
            self.host.say("Moving a task: read only")
        else:
            self.host.flow(self._move(move))

    async def _move(self, move: MoveTask) -> None:
        await self.host.bridge.commit(move)
