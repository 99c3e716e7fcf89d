"""The note in an empty list on who deleted its tasks."""

from __future__ import annotations

from tui_tasks.core.read.log.standing_changes import Deletion, last_deletion
from tui_tasks.text.times import ago, count
from tui_tasks.tui.agents.agent_text import who
from tui_tasks.tui.state.context import Context


class EmptiedNote:
    """The last deletion in the current list; read once for each state of the journal."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._read_at: tuple[int, int] | None = None
        self._found: Deletion | None = None

    def text(self) -> str:
        """Return `rogue deleted 24 tasks here 9m ago`; empty when no task was deleted recently."""
        found, now = self._deletion(), self._context.clock.now()
        return f"{who(found.actor)} deleted {count(found.tasks, 'task')} here {ago(found.at, now)}" if found else ""

    def short(self) -> str:
        """Return `rogue deleted 24`, for a column of the board."""
        found = self._deletion()
        return f"{who(found.actor)} deleted {found.tasks:,}" if found else ""

    def _deletion(self) -> Deletion | None:
        now = (self._context.link.seq, self._context.state.list_id)
        if now != self._read_at:
            self._read_at, self._found = now, last_deletion(self._context.db, self._context.state.list_id)
        return self._found
