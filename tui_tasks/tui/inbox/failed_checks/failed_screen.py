"""The part of the inbox for tasks with a failed check: who reported each done, which check failed, and its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.binding import BindingType

from tui_tasks.core import vocab
from tui_tasks.core.read import failed_checks
from tui_tasks.core.read.failed_checks import FailedTask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts, ago
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.inbox.failed_checks.failed_actions import FailedActions
from tui_tasks.tui.inbox.part_screen import PartScreen
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.tasks import proof

OUTPUT_LINES: Final = 200
"""The most lines of a check's output that are shown."""


class FailedRows(RowDrawing[FailedTask]):
    """Draws tasks, one in each line."""

    def draw(self, row: FailedTask, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw the task, its failed checks with their exit status, who reported it, and its age."""
        now, width = self.context.clock.now(), look_.width
        self.lasts(age_lasts(row.at, now))
        state = look("failed")
        head: list[Part] = [
            (sign("cursor") if look_.cursor else " ", "$primary bold" if look_.focused else "$muted"),
            (f" {state.mark(ascii_only=self.context.ascii_only)}", state.color),
        ]
        old = age(row.at, now)
        right = f" {fit(named_checks(row), 18)} {fit(row.who, 10)} {old:>4} " if width >= 60 else f" {old:>3} "
        return (*head, (" " + fit(row.task.name, max(1, width - 4 - cell_len(right))), ""), (right, "$muted"))

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how a task gets here."""
        text = (
            "   No check has failed.",
            "",
            "   What agents report done is checked by",
            "   what [check.NAME] in your settings names.",
        )
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


def named_checks(row: FailedTask) -> str:
    """Return the names of the failed checks, with the first one's exit status: `tests 1, lint`."""
    names = [safe_line(check.name, 16) for check in row.checks]
    first = row.checks[0].run if row.checks else None
    if first is not None and first.exit_code is not None:
        names[0] = f"{names[0]} exit {first.exit_code}"
    return ", ".join(names)


def failed_lines(context: Context, row: FailedTask, room: int) -> list[Drawn]:
    """Return the lines of a task: title, who reported it, its checks with the output of failed ones, description."""
    what = "reported it done" if row.task.status == "done" else "is kept from setting it done"
    when = ago(row.at, context.clock.now())
    who = f"{safe_line(agent_text.who(row.who), 40)} {what}, in {row.list_name}; checked {when}"
    lines = block(row.task.name, room, "bold") + block(who, room, "$muted")
    lines += [[], *proof.lines(context, row.task, room, OUTPUT_LINES)]
    return lines + ([[], *block(row.task.description, room)] if row.task.description else [])


class FailedChecks(PartScreen[FailedTask]):
    """The screen of failed checks."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "failed", "agent", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    PART = "failed_checks"
    OPEN = "failed_open"
    FOOT = ("failed_open", "failed_run", "agent_message", "failed_done", "inbox_part", "back")
    FOOT_SMALL = ("failed_run", "agent_message", "failed_done", "back")

    def __init__(self, context: Context) -> None:
        listed = InMemorySource[FailedTask](lambda row: row.uid, lambda row: (row.at, row.uid))
        super().__init__(context, self._title, listed, FailedRows(context), failed_lines)
        self.controllers = (
            *self.controllers,
            FailedActions(context, self),
            AgentActions(context, self._agent_here),
        )

    def _title(self, width: int) -> Sequence[Part]:
        """` Failed checks   2 need you`."""
        total = self.listed.total()
        words = f"{total} need{'s' if total == 1 else ''} you" if total else "nothing waits"
        return [(" Failed checks", "bold"), (f"   {words}", "$muted")]

    def _agent_here(self) -> str | None:
        return self.row.who if self.row is not None and self.row.who not in vocab.RESERVED_AGENTS else None

    def read(self) -> set[str]:
        """As `PartScreen.read`."""
        return self.listed.replace(failed_checks.everything(self.context.db))

    def changed(self, changes: StateChanges) -> None:
        """Update after checks were run or tasks changed."""
        if changes.all or changes.touches("task", "list", "check_run", "task_check", "check_definition"):
            self.window.change(self.read())
            self.show()
        elif changes.touches("ask", "job"):
            self.head.again()
