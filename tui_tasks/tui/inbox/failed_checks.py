"""Tasks with a failed check in the inbox: who reported each done, which check failed, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.operations.jobs import RequestChecks, WaiveChecks
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.check_queries import FailedTask
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inbox.row_source import InboxItem, RowSource
from tui_tasks.tui.inputs.dialogs import Choice, Menu
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.tasks import task_note

OUTPUT_LINES: Final = 200
"""The most lines of a check's output that are shown."""


class FailedChecks(RowSource[FailedTask]):
    """Lists tasks with a failed check; runs the checks again, or sets the task's status."""

    KIND = "failed"
    RANK = 2
    ONE, COUNTED = "failed check", "failed"
    OPEN = "failed_open"
    FOOT = ("failed_run", "failed_done", "agent_message", "failed_open")

    def items(self) -> Iterator[InboxItem]:
        """As `RowSource.items`."""
        for row in check_queries.everything(self.context.db) if self.context.state.unproven else ():
            title = f"{row.task.name}: {_named_checks(row)}"
            who = "" if row.who in vocab.RESERVED_AGENTS else row.who
            yield InboxItem(f"failed:{row.uid}", self.KIND, self.RANK, row.at, row, "failed", title, who, "failed")

    def lines(self, row: FailedTask, room: int) -> list[Drawn]:
        """Return title, who reported it, its checks with the output of failed ones, and the description."""
        what = "reported it done" if row.task.status == "done" else "is kept from setting it done"
        when = ago(row.at, self.context.clock.now())
        who = f"{agent_text.who(row.who, 40)} {what}, in {row.list_name}; checked {when}"
        lines = block(row.task.name, room, "bold") + block(who, room, "$muted")
        lines += [[], *task_note.lines(self.context, row.task, room, OUTPUT_LINES)]
        return lines + ([[], *block(row.task.description, room)] if row.task.description else [])

    async def do_failed_run(self) -> None:
        """Run the checks of the task again, but those that have passed."""
        row = self.row
        if row is not None:
            await self.context.link.commit(RequestChecks(row.uid, unproven_alone=True))
            self.context.say(f"The checks of “{safe_line(row.task.name, 40)}” are being run.")

    async def do_failed_done(self) -> None:
        """Ask for the status: done though its check has failed, which the log keeps, or pending."""
        row = self.row
        if row is None:
            return
        name = f"“{safe_line(row.task.name, 40)}”"
        choices = [Choice("d", "done, though its check failed"), Choice("p", "pending, without an agent")]
        key = await self.context.ask(Menu(self.context, f"Status of {name}", choices))
        if key == "p":
            await self.context.link.commit(EditTask(row.uid, {"status": "pending", "agent": None}))
            self.context.say(f"{name} is pending again.")
        elif key == "d":
            is_done = row.task.status == "done"
            await self.context.link.commit(WaiveChecks(row.uid) if is_done else EditTask(row.uid, {"status": "done"}))
            self.context.say(f"{name} is done, though its check failed.")

    def do_failed_open(self) -> None:
        """Show the task among the others of its list."""
        row = self.row
        if row is not None:
            self.context.navigation.close_overlays()
            self.context.navigation.go_to(row.uid)


def _named_checks(row: FailedTask) -> str:
    """Return the names of the failed checks, with the first one's exit status: `tests exit 1, lint`."""
    names = [safe_line(check.name, 16) for check in row.checks]
    first = row.checks[0].run if row.checks else None
    if first is not None and first.exit_code is not None:
        names[0] = f"{names[0]} exit {first.exit_code}"
    return ", ".join(names)
