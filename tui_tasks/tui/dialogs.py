"""Questions to the human at the foot of the screen: a menu of keys, a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_tasks.tui.actions import Hosted
from tui_tasks.tui.format import plain

if TYPE_CHECKING:
    from tui_tasks.tui.app import TaskApp


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a menu; `why_not` keeps it from being chosen and is shown."""

    key: str
    word: str
    style: str = ""
    why_not: str = ""


class Menu(Hosted, ModalScreen[str | None]):
    """Choices by one key each. Result: the key, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """A title and the choices, at the foot."""
        with Vertical(classes="foot"):
            yield Static(plain(self._title, "bold"), classes="ask")
            yield Static(self._shown(), classes="choices")

    def _shown(self) -> Content:
        parts = []
        for choice in self._choices:
            parts.append(plain(choice.key, "$changed bold"))
            parts.append(plain(" " + choice.word, "$muted" if choice.why_not else choice.style))
            parts.append(plain(f" ({choice.why_not})" if choice.why_not else "", "$muted"))
            parts.append(plain("   "))
        return Content.assemble(*parts, plain("Esc", "$changed bold"), plain(" back", "$muted"))

    def on_key(self, event: events.Key) -> None:
        """Take the key of a choice."""
        pressed = event.character or event.key
        for choice in self._choices:
            if pressed == choice.key:
                event.stop()
                if choice.why_not:
                    self.host.say(f"{choice.word}: {choice.why_not}")
                else:
                    self.dismiss(choice.key)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class Prompt(ModalScreen[str | None]):
    """One line of text. Result: what was typed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, title: str, value: str = "", hint: str = "Enter Keep   Esc Back") -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        """A title and the line, at the foot."""
        with Vertical(classes="foot"):
            yield Static(plain(self._title, "bold"), classes="ask")
            yield Input(self._value, id="answer", compact=True)
            yield Static(plain(self._hint, "$muted"), classes="ask")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it."""
        event.stop()
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """Take nothing."""
        self.dismiss(None)


async def confirm(app: TaskApp, question: str, yes: str) -> bool:
    """Ask once, from an action's coroutine; True where the human says so."""
    return await app.push_screen_wait(Menu(question, [Choice("y", yes), Choice("n", "no")])) == "y"
