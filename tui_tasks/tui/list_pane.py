"""The list: every task of one list in its own order, with what the cursor is on beside or below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from tui_tasks.core.operations import MoveTask
from tui_tasks.core.pages import TaskLine
from tui_tasks.core.vocab import HUMAN
from tui_tasks.tui.actions import bindings
from tui_tasks.tui.bridge import Changes
from tui_tasks.tui.format import age, age_lasts, count, fit, look, safe_line, sign
from tui_tasks.tui.ink import Part
from tui_tasks.tui.now_line import Line, Rule
from tui_tasks.tui.sources import TasksOfList
from tui_tasks.tui.task_actions import TaskActions
from tui_tasks.tui.window import RowLook, RowWindow

if TYPE_CHECKING:
    pass


class TaskWindow(RowWindow[TaskLine]):
    """Tasks, a line each."""

    def draw(self, row: TaskLine, look_: RowLook, line: int) -> Sequence[Part]:  # noqa: D102
        app, width = self.host, self.size.width
        now, ascii_only, seen = app.now(), app.ascii_only, app.situation
        state = look(seen.status_of(row))
        place = look_.place or app.place(row)
        self.lasts(age_lasts(row.updated_at, now))
        cursor = sign("cursor", ascii_only=ascii_only) if look_.cursor else " "
        flag = "+" if look_.marked else sign("changed", ascii_only=ascii_only) if row.uid in seen.new else " "
        digits = max(3, len(str(place)))
        head = f"  {place:>{digits - 2}}  " if width >= 60 else f" {place:>{digits - 1}}  "
        who = self._who(row, width)
        right = (f"  {fit(who, 10, ascii_only=ascii_only)}" if width >= 60 else " ") + f"{age(row.updated_at, now):>4} "
        room = max(1, width - 3 - len(head) - len(right))
        quiet = row.status in ("done", "skipped", "cancelled")
        return (
            (cursor, "$primary bold" if look_.focused else "$muted"),
            (flag, "$changed"),
            (state.mark(ascii_only=ascii_only), state.color),
            (head, "$muted"),
            (fit(row.name, room, ascii_only=ascii_only), "$muted" if quiet else ""),
            (right, "$muted"),
        )

    def _who(self, row: TaskLine, width: int) -> str:
        if width >= 60 and row.blocked and row.depends_on:
            place = self.host.place_of(row.depends_on[0])
            if place:
                return f"after {place}"
        return "you" if row.who == HUMAN else row.who


class ListHead(Line):
    """` Plan   9 tasks        • 4 changed since 19:58`."""

    def left(self, width: int) -> Sequence[Part]:
        """Name and number of tasks."""
        found = self.host.current_list
        if found is None:
            return ()
        return [
            (f" {safe_line(found.name, max(8, width - 40))}", "bold"),
            (f"   {count(found.total, 'task')}", "$muted"),
        ]

    def right(self, width: int) -> Sequence[Part]:
        """What is new to the human."""
        seen, app = self.host.situation, self.host
        new = seen.new_in(app.list_id)
        if not new:
            return ()
        mark = sign("changed", ascii_only=app.ascii_only)
        return [(f"{mark} {new} changed since {app.time_of_day(seen.looked.at)} ", "$changed")]


class ListPane(TaskActions):
    """Pane 1."""

    NAME = "list"
    SCOPES = ("rows", "tasks", "list")
    FOOTER = ("help", "filter", "new", "status", "edit", "asks", "mark", "undo", "quit")
    FOOTER_SMALL = ("help", "asks", "filter", "status")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    window: TaskWindow

    def compose(self) -> ComposeResult:
        """Head, rows."""
        yield Rule()
        yield ListHead(id="list-head")
        self.window = TaskWindow(id="tasks")
        yield self.window

    def on_mount(self) -> None:
        """Show the App's list."""
        self.refreshed()

    def focus_target(self) -> Widget:
        """The rows."""
        return self.window

    def changed(self, changes: Changes) -> None:
        """See to the rows that were touched."""
        if changes.all:
            self.window.reload()
        else:
            self.window.change(changes.tasks())
        if changes.touches("ask"):
            self.window.again()
        self.query_one(ListHead).again()

    def refreshed(self) -> None:
        """Look anew, at another list where the App has another."""
        source = self.window.source
        if not isinstance(source, TasksOfList) or source.list_id != self.host.list_id:
            self.window.show(TasksOfList(self.host.bridge.db, self.host.situation, self.host.list_id))
        else:
            self.window.reload()
            self.window.again()
        self.query_one(ListHead).again()

    async def do_move_down(self) -> None:
        """One place down."""
        below: Any = self.window.neighbour(1)
        if below is not None and self.window.cursor is not None:
            await self.host.bridge.commit(MoveTask(self.window.cursor, after=below.uid))

    async def do_move_up(self) -> None:
        """One place up."""
        above: Any = self.window.neighbour(-1)
        if above is not None and self.window.cursor is not None:
            await self.host.bridge.commit(MoveTask(self.window.cursor, before=above.uid))
