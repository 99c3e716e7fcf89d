"""The part of the inbox for held tasks: what agents have filed, accepted, joined or declined by single keys.

A task is accepted as it was on screen: one that its maker has changed meanwhile stays, and the human is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tui_tasks.core.read.tasks import held
from tui_tasks.core.read.tasks.held import HeldTask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.inbox.part_screen import PartScreen
from tui_tasks.tui.inbox.review.held_detail import held_lines
from tui_tasks.tui.inbox.review.review_actions import ReviewActions
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.state_changes import StateChanges


class HeldRows(RowDrawing[HeldTask]):
    """Draws held tasks, one in each line. `is_filtered`: a filter is why there are no rows."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.is_filtered = False

    def draw(self, row: HeldTask, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw the title, the list, who filed it, its age, and how many tasks wait for it."""
        now, width = self.context.clock.now(), look_.width
        self.lasts(age_lasts(row.at, now))
        state = look("held")
        cursor = sign("cursor") if look_.cursor else " "
        head: list[Part] = [
            (cursor, "$primary bold" if look_.focused else "$muted"),
            ("+" if look_.marked else " ", "$changed bold"),
            (state.mark(ascii_only=self.context.ascii_only), state.color),
        ]
        old = age(row.at, now)
        if width < 60:
            right = f" {old:>3} "
            return (*head, (" " + fit(row.name, max(1, width - 4 - cell_len(right))), ""), (right, "$muted"))
        waiting = f"{row.waiting} wait{'s' if row.waiting == 1 else ''}" if row.waiting else ""
        right = f" {fit(row.list_name, 12)} {fit(row.maker, 10)} {waiting:<8} {old:>4} "
        return (*head, (" " + fit(row.name, max(1, width - 4 - cell_len(right))), ""), (right, "$muted"))

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how a task gets here."""
        key = self.context.keymap.key_of("review_list")
        text = (
            "   No held task says that." if self.is_filtered else "   Nothing filed waits for you.",
            "",
            f"   {key} in a list holds what agents file",
            "   there until you accept it here.",
        )
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


class Review(PartScreen[HeldTask]):
    """The screen. `listed`: the held tasks that match the filter."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "review", "agent", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    PART = "review"
    OPEN = "review_open"
    FOOT = (
        *("review_accept", "review_edit", "review_decline", "review_join", "review_mark", "review_filter"),
        "back",
    )
    FOOT_SMALL = ("review_accept", "review_decline", "review_edit", "back")

    def __init__(self, context: Context) -> None:
        self._drawing = HeldRows(context)
        listed = InMemorySource[HeldTask](lambda row: row.uid, lambda row: (row.is_job, row.id))
        super().__init__(context, self._title, listed, self._drawing, held_lines)
        self.filter = ""
        self._total = 0
        self.controllers = (
            *self.controllers,
            ReviewActions(context, self),
            AgentActions(context, self._agent_here),
        )

    def _title(self, width: int) -> Sequence[Part]:
        """` Filed by agents   7 wait for you`: how many tasks wait, are shown, are marked."""
        total = self._total
        words = f"{total} wait{'s' if total == 1 else ''} for you" if total else "nothing waits"
        if self.filter:
            words += f', {self.listed.total()} with "{safe_line(self.filter, 20)}"'
        if marked := len(self.window.marks):
            words += f", {marked} marked"
        return [(" Filed by agents", "bold"), (f"   {words}", "$muted")]

    @property
    def chosen(self) -> list[HeldTask]:
        """The marked tasks, else the one under the cursor."""
        marked = [row for key in self.window.marks if (row := self.listed.get(key)) is not None]
        return marked or ([self.row] if self.row is not None else [])

    def _agent_here(self) -> str | None:
        return self.row.maker if self.row is not None else None

    def filter_by(self, text: str) -> None:
        """Show the tasks that contain each of these words in title, list or agent."""
        self.filter = text.strip()
        self._drawing.is_filtered = bool(self.filter)
        self.read()
        self.window.refilter(self.listed, self.window.cursor)
        self.show()

    def read(self) -> set[str]:
        """As `PartScreen.read`."""
        rows = [*held.everything(self.context.db), *held.jobs(self.context.db)]
        self._total = len(rows)
        words = self.filter.casefold().split()
        return self.listed.replace(row for row in rows if all(word in _says(row) for word in words))

    def changed(self, changes: StateChanges) -> None:
        """Update after tasks were filed, changed, or accepted elsewhere."""
        if changes.all or changes.touches("task", "list", "job"):
            self.window.change(self.read())
            self.show()
        elif changes.touches("ask", "check_run", "task_check"):
            self.head.again()

    def marks_changed(self) -> None:
        """Draw again how many tasks are marked."""
        self.head.again()

    def do_back(self) -> None:
        """Take filter and marks away first, then go back to the pane."""
        if self.filter:
            self.filter_by("")
        elif self.window.marks:
            self.window.clear_marks()
            self.marks_changed()
        else:
            super().do_back()


def _says(row: HeldTask) -> str:
    return f"{row.name}\n{row.list_name}\n{row.maker}".casefold()
