"""The base of forms: their keys, and what Esc does with unsaved text; and the choice after a conflict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from tui_tasks.text.safe import safe_line
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, block, plain

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class ConflictScreen(Dialog[str | None]):
    """Shows both texts side by side. Result: `mine`, `theirs`, or None to continue editing."""

    AUTO_FOCUS = "VerticalScroll"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "Keep mine", show=False),
        Binding("t", "choose('theirs')", "Take theirs", show=False),
        Binding("escape,e", "choose(None)", "Back to the form", show=False),
    ]

    def __init__(
        self, context: Context, title: str, who: str, mine: Mapping[str, str], theirs: Mapping[str, str]
    ) -> None:
        """`mine` and `theirs` are the texts of the fields that both have changed, by the fields' names for people."""
        super().__init__(context)
        self._head = title
        self._who = who
        self._mine = mine
        self._theirs = theirs

    def compose(self) -> ComposeResult:
        """Compose the fields that both have changed."""
        with Vertical(classes="whole"):
            yield Static(plain(f" {self._head}", "bold"))
            yield rule(self.context)
            with Horizontal(id="sides"):
                yield from self._side("Yours", self._mine)
                yield from self._side(f"{safe_line(self._who, 40)}, saved", self._theirs)
            yield FootLine(self.context, id="foot")

    @staticmethod
    def _side(title: str, texts: Mapping[str, str]) -> ComposeResult:
        with VerticalScroll(classes="side"):
            yield Static(plain(title, "$key bold"))
            for name, text in texts.items():
                yield Static(plain(name, "$muted"))
                yield Static(block(text))

    def on_mount(self) -> None:
        """Show the keys."""
        self.query_one(FootLine).hint(("m", "Save mine", ""), ("t", "Keep theirs", ""), ("Esc", "Back to the form", ""))

    def action_choose(self, choice: str | None) -> None:
        """End with a choice."""
        self.dismiss(choice)


R = TypeVar("R")


class FormScreen(Dialog[R | None], Generic[R]):
    """A form. Result: what was saved; None: left. Subclasses define `action_save` and `action_outside`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True),
        Binding("ctrl+e", "outside", "In $EDITOR", show=False, priority=True),
        Binding("escape", "leave", "Back", show=False, priority=True),
    ]

    has_asked = False

    @property
    def has_changes(self) -> bool:
        """Whether there is unsaved text."""
        raise NotImplementedError

    def take_key(self, event: events.Key) -> bool:
        """Forget a first Esc when another key comes, for which nothing else is done here."""
        self.has_asked = self.has_asked and event.key == "escape"
        return False

    def action_leave(self) -> None:
        """Leave the form; with unsaved text, only at the second call without a key between."""
        if self.has_changes and not self.has_asked:
            self.has_asked = True
            self.context.say("Esc again discards what you typed; ^s saves it.")
        else:
            self.dismiss(None)
