"""The inbox's part for tasks of which a check has failed: who reported them, which check, and what it said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll

from tui_tasks.core import vocab
from tui_tasks.core.read import failed_checks
from tui_tasks.core.read.failed_checks import FailedTask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.inbox import parts
from tui_tasks.tui.inbox.agent_actions import AgentActions
from tui_tasks.tui.inbox.failed_checks.failed_actions import FailedActions
from tui_tasks.tui.inbox.failed_checks.failed_detail import FailedDetail
from tui_tasks.tui.keys.actions import bindings
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.styles import Part
from tui_tasks.tui.widgets.text_lines import Divider


class FailedWindow(VirtualList[FailedTask]):
    """Tasks, a line each."""

    def draw(self, row: FailedTask, look_: RowLook, line: int) -> Sequence[Part]:
        """Which task, which checks have failed and how, who reported it, since when."""
        now, width = self.context.clock.now(), look_.width
        self.lasts(age_lasts(row.at, now))
        state = look("failed")
        head: list[Part] = [
            (sign("cursor") if look_.cursor else " ", "$primary bold" if look_.focused else "$muted"),
            (f" {state.mark(ascii_only=self.context.ascii_only)}", state.color),
        ]
        old = age(row.at, now)
        right = f" {fit(told_of(row), 18)} {fit(row.who, 10)} {old:>4} " if width >= 60 else f" {old:>3} "
        return (*head, (" " + fit(row.task.name, max(1, width - 4 - cell_len(right))), ""), (right, "$muted"))

    def draw_empty(self, line: int) -> Sequence[Part]:
        """How a task comes here."""
        text = (
            "   No check has failed.",
            "",
            "   What agents report done is checked by",
            "   what [check.NAME] in your settings names.",
        )
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


def told_of(row: FailedTask) -> str:
    """Which checks have failed, and the first one's exit status: `tests 1, lint`."""
    names = [safe_line(check.name, 16) for check in row.checks]
    first = row.checks[0].run if row.checks else None
    if first is not None and first.exit_code is not None:
        names[0] = f"{names[0]} exit {first.exit_code}"
    return ", ".join(names)


class FailedHead(FrameLine):
    """` Failed checks   2 need you`, and the way to the other parts."""

    def __init__(self, context: Context, screen: FailedChecks, *, id: str) -> None:
        super().__init__(context, id=id)
        self._screen = screen

    def left(self, width: int) -> Sequence[Part]:
        """How many there are."""
        total = self._screen.listed.total()
        told = f"{total} need{'s' if total == 1 else ''} you" if total else "nothing waits"
        return [(" Failed checks", "bold"), (f"   {told}", "$muted")]

    def right(self, width: int) -> Sequence[Part]:
        """What there is in the other parts."""
        return parts.others(self.context, "failed_checks", width)


class FailedChecks(Overlay):
    """The screen."""

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "failed", "agent", "inbox")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    FailedChecks #both { height: 1fr; layout: vertical; }
    FailedChecks #failed { height: 35%; min-height: 3; }
    FailedChecks #failed-scroll { height: 1fr; width: 1fr; }
    FailedChecks Divider { display: none; }
    FailedChecks.-wide.-tall #both { layout: horizontal; }
    FailedChecks.-wide.-tall #failed { width: 12fr; height: 1fr; }
    FailedChecks.-wide.-tall #failed-scroll { width: 10fr; }
    FailedChecks.-wide.-tall #under-failed { display: none; }
    FailedChecks.-wide.-tall Divider { display: block; }
    FailedChecks.-narrow #under-head, FailedChecks.-short #under-head { display: none; }
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.window = FailedWindow(context, id="failed")
        self.listed: InMemorySource[FailedTask] = InMemorySource(lambda row: row.uid, lambda row: (row.at, row.uid))
        self.controllers = (
            FailedActions(context, self),
            AgentActions(context, self._agent_here),
            RowMoves(lambda: self.window),
        )

    def compose(self) -> ComposeResult:
        """Head, tasks, the one under the cursor."""
        yield FailedHead(self.context, self, id="failed-head")
        yield Rule(self.context, id="under-head")
        with Container(id="both"):
            yield self.window
            yield Rule(self.context, id="under-failed")
            yield Divider(self.context)
            with VerticalScroll(id="failed-scroll", can_focus=False):
                yield FailedDetail(self.context, id="failed-detail")
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read what there is; the cursor is on the oldest."""
        self._read()
        self.window.show(self.listed)
        self.window.focus()
        self._show()

    @property
    def row(self) -> FailedTask | None:
        """The task under the cursor."""
        return self.listed.get(self.window.cursor)

    def _agent_here(self) -> str | None:
        return self.row.who if self.row is not None and self.row.who not in vocab.RESERVED_AGENTS else None

    def _read(self) -> set[str]:
        return self.listed.take(failed_checks.everything(self.context.db))

    def changed(self, changes: StateChanges) -> None:
        """Take in what was checked, changed, set done."""
        if changes.all or changes.touches("task", "list", "check_run", "task_check", "check_definition"):
            self.window.change(self._read())
            self._show()
        elif changes.touches("ask"):
            self.query_one(FailedHead).again()

    def on_virtual_list_moved(self) -> None:
        """Show another task."""
        self.query_one("#failed-scroll").scroll_home(animate=False, immediate=True)
        self._show()

    def on_virtual_list_opened(self) -> None:
        """As Enter does."""
        self.action_act("failed_open")

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.window.again()
        self._show()

    def _show(self) -> None:
        self.query_one(FailedDetail).put(self.row)
        self.query_one(FailedHead).again()
        if self.row is None:
            self.hint(self.hint_of("inbox_part"), self.hint_of("back"))
        elif self.small:
            self.hint(*map(self.hint_of, ("failed_run", "agent_message", "failed_done", "back")))
        else:
            keys = ("failed_open", "failed_run", "agent_message", "failed_done", "inbox_part", "back")
            self.hint(*map(self.hint_of, keys))

    def do_page_down(self) -> None:
        """Scroll the task."""
        self.query_one("#failed-scroll").scroll_page_down(animate=False)

    def do_page_up(self) -> None:
        """Scroll the task."""
        self.query_one("#failed-scroll").scroll_page_up(animate=False)

    def do_inbox_part(self) -> None:
        """Go to the next part."""
        self.dismiss()
        parts.go_on(self.context, "failed_checks")
