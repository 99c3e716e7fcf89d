"""The bases of panes, of screens that lie over them, and of dialogs that return a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, cast

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read.overview import StateChanges
from tui_tasks.text.safe import TEXT_CHARS, safe_line, safe_text
from tui_tasks.tui.keys.action_table import ACTIONS, Action, bindings
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.textual_overrides import CellsScreen, OpensAtOnce, ResilientMessages, TransparentContainer

if TYPE_CHECKING:
    from textual.content import Content

    from tui_tasks.tui.state.context import Context, Hint


class Pane(Actor, TransparentContainer):
    """One of the panes 1 to 4. `FOOTER` and `FOOTER_SMALL` name the actions in the footer, in the order of use."""

    NAME: ClassVar[str] = ""
    FOOTER: ClassVar[tuple[str, ...]] = ("filter", "quit", "help")
    FOOTER_SMALL: ClassVar[tuple[str, ...]] = ("asks", "help")
    stale = False

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context

    def footer(self, small: bool) -> tuple[str, ...]:
        """Return the ids of the actions to show in the footer."""
        return self.FOOTER_SMALL if small else self.FOOTER

    def hints(self) -> Sequence[Hint]:
        """Return what the footer shows before those actions."""
        return ()

    def short(self, action: Action) -> str:
        """Return the word for an action in the footer; empty hides it, as it cannot be performed now."""
        is_own = self.does_offer(action)
        return "" if is_own and self.why_not(action) is not None else action.short

    def changed(self, changes: StateChanges) -> None:
        """Handle changes, which `context.state` has applied already. Called only while the pane is shown."""

    def refreshed(self) -> None:
        """Read everything again: much may have changed while the pane was hidden, or new items were marked as seen."""

    def focus_target(self) -> Widget:
        """The widget that gets the focus when the pane is shown."""
        return self

    def target(self) -> str | None:
        """The uid of the task that keys act on."""
        return None

    def shows(self, kind: str) -> bool:
        """Return whether entries of a kind are about what is shown here."""
        return True

    def tasks_on_screen(self) -> set[str]:
        """Return the uids of the tasks that are on screen."""
        return set()

    def left(self) -> None:
        """Prepare for another pane to be shown."""

    def hold_rows(self, by: int) -> None:
        """Scroll so that rows stay where they are on the terminal, as the pane will begin `by` lines lower."""

    @property
    def is_busy(self) -> bool:
        """Whether the human is typing or has opened something here, so that nothing else may replace it."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether the row under the cursor is opened: its detail is shown, beside the rows or instead of them."""
        return self.has_class("-open")

    @property
    def is_inside(self) -> bool:
        """Whether keys act on the opened row, and Back leads to the rows."""
        return self.is_open

    def select(self, uid: str) -> None:
        """Put the cursor on a task or a job, if the pane shows it."""

    def go_to(self, uid: str) -> None:
        """Put the cursor on a task of the current list, or on a job; remove a filter that hides it."""

    def filter_by(self, text: str) -> None:
        """Show the matches of a filter."""

    def lay_way_back(self, go: Callable[[], None]) -> None:
        """Let Back from what is shown now call `go`, until something else is shown; the schedule does not."""

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a task."""
        if action.needs == "task" and self.target() is None:
            return "No task is under the cursor."
        return super().why_not(action)


R = TypeVar("R")

DIALOG_STYLES: Final = Path(__file__).with_name("dialog_styles.tcss")


class ClosesOnce:
    """Mixin for screens that open over others."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close it. A second click or key that comes too late is ignored; Textual would close the screen below."""
        if not self.is_active:  # type: ignore[attr-defined]  # every screen has it
            return AwaitComplete()
        return cast("AwaitComplete", super().dismiss(result))  # type: ignore[misc]  # every screen has it


class Dialog(ClosesOnce, ResilientMessages, OpensAtOnce, ModalScreen[R]):
    """A dialog with a result of type R. Of the App's keys those of a terminal work here too: ^C and ^Z."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "app.help_quit", show=False),
        Binding(ACTIONS["suspend"].keys, "app.act('suspend')", show=False, id="suspend"),
    ]

    CSS_PATH = DIALOG_STYLES

    problem = ""
    """Why what was typed could not be done: the dialog opens again with it, and says so."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def on_mount(self) -> None:
        """Say the problem once the foot is there."""
        if self.problem:
            self.call_after_refresh(self.context.say, self.problem)

    def with_problem(self, problem: str) -> Self:
        """Return itself, which will say a problem."""
        self.problem = problem
        return self


class Overlay(ClosesOnce, Actor, CellsScreen[None]):
    """A screen that the App opens over a pane. `NAME` is what the help calls it; `OF_LIST`: it is about the list."""

    NAME: ClassVar[str] = ""
    OF_LIST: ClassVar[bool] = False
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.opened_at = context.link.seq
        """The newest entry of the journal when it was made."""

    def changed(self, changes: StateChanges) -> None:
        """Handle changes; `context.state` has applied them already."""

    def left(self) -> None:
        """Keep what is to be there when it is opened again; called before it is closed."""

    def list_turned(self) -> None:
        """Handle that the App shows another list."""

    def all_seen(self) -> None:
        """Handle that nothing is new any more."""

    def do_back(self) -> None:
        """Go back to the pane."""
        self.left()
        self.dismiss()

    @property
    def small(self) -> bool:
        """Whether there is room for only one part."""
        return is_compact(self.app.size)

    def hint(self, *hints: Hint) -> None:
        """Show keys in the foot line."""
        self.query_one(FootLine).hint(*hints)

    def hint_of(self, id: str, word: str = "") -> Hint:
        """Return the hint of an action for the foot line."""
        return self.context.keymap.key_of(id), word or ACTIONS[id].short, id


def plain(text: str, style: str = "", limit_cells: int | None = None) -> Content:
    """Return one safe line as Content in one style (`"$state-done"`); none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_line(text, limit_cells), style, strip_control_codes=False)


def block(text: str, style: str = "", limit_chars: int = TEXT_CHARS) -> Content:
    """Return safe lines as Content in one style; none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_text(text, limit_chars), style, strip_control_codes=False)
