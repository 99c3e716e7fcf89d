"""The human's actions on a task with a failed check: open it, run its checks again, let it be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core.operations.checks import RequestChecks, WaiveChecks
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.failed_checks.failed_screen import FailedChecks


class FailedActions(Controller):
    """The actions of the scope `failed`."""

    def __init__(self, context: Context, screen: FailedChecks) -> None:
        self._context = context
        self._screen = screen

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; most actions need a task."""
        return "no check has failed" if action.needs == "failed" and self._screen.row is None else None

    async def do_failed_run(self) -> None:
        """Run the checks of the task again, but those that have passed."""
        row = self._screen.row
        if row is not None:
            await self._context.link.commit(RequestChecks(row.uid, unproven_alone=True))
            self._context.say(f"The checks of “{safe_line(row.task.name, 40)}” are being run.")

    async def do_failed_done(self) -> None:
        """Let the task be done though its check has failed, which the log keeps."""
        row = self._screen.row
        if row is None:
            return
        is_done = row.task.status == "done"
        await self._context.link.commit(WaiveChecks(row.uid) if is_done else EditTask(row.uid, {"status": "done"}))
        self._context.say(f"“{safe_line(row.task.name, 40)}” is done all the same.")

    def do_failed_open(self) -> None:
        """Show the task among the others of its list."""
        row = self._screen.row
        if row is not None:
            self._context.navigation.close_overlays()
            self._context.navigation.go_to(row.uid)
