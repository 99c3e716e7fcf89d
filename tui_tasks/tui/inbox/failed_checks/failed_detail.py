"""One task with a failed check: who reported it done, and the end of each check's output."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.read.failed_checks import FailedTask
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago
from tui_tasks.tui.agents.agent_text import who
from tui_tasks.tui.painting.text_lines import Drawn, TextLines, wrapped
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import proof

OUTPUT_LINES: Final = 200
"""The most lines of a check's output that are shown."""


class FailedDetail(TextLines):
    """Shows a given task."""

    def __init__(self, context: Context, *, id: str) -> None:
        super().__init__(context, id=id)
        self._row: FailedTask | None = None

    def put(self, row: FailedTask | None) -> None:
        """Show a task; None: nothing."""
        self._row = row
        self.again()

    def lines(self, width: int) -> list[Drawn]:
        """Return the lines: title, who reported it, its checks with the output of failed ones, description."""
        row = self._row
        if row is None:
            return []
        room = max(10, width - 2)
        lines: list[Drawn] = [[(f" {line}", "bold")] for line in wrapped(row.task.name, room)]
        what = "reported it done" if row.task.status == "done" else "is kept from setting it done"
        told = f"{safe_line(who(row.who), 40)} {what}, in {row.list_name}; checked"
        told += f" {ago(row.at, self.context.clock.now())}"
        lines += [[(f" {line}", "$muted")] for line in wrapped(told, room)]
        lines += [[], *proof.lines(self.context, row.task, room, OUTPUT_LINES)]
        if row.task.description:
            lines += [[], *([(f" {line}", "")] for line in wrapped(row.task.description, room))]
        return lines
