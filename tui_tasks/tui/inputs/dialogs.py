"""Dialogs at the foot of the screen: a menu of keys, and a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_tasks.tui.inputs.text_line import AnswerLine
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.bases import Dialog, plain
from tui_tasks.tui.widgets.frame import FootLine

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a menu; `why_not` is shown, and keeps it from being chosen."""

    key: str
    word: str
    style: str = ""
    why_not: str = ""


class Menu(Dialog[str | None]):
    """A menu whose choices are made by one key each, or by a click. Result: the key, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, context: Context, title: str, choices: Sequence[Choice]) -> None:
        super().__init__(context)
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Compose title and choices, at the foot."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            for number, choice in enumerate(self._choices):
                yield Static(self._shown(choice), id=f"choice-{number}", classes="choice")
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the key that leaves."""
        self.query_one(FootLine).hint(("Esc", "Back", ""))

    @staticmethod
    def _shown(choice: Choice) -> Content:
        word = plain(choice.word, "$muted" if choice.why_not else choice.style)
        return Content.assemble(plain(f"   {choice.key}  ", "$key bold"), word)

    def take_key(self, event: events.Key) -> bool:
        """Choose by a key; return whether it was used."""
        chosen = next((choice for choice in self._choices if choice.key in (event.character, event.key)), None)
        if chosen is not None:
            self._choose(chosen)
        return chosen is not None

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked; a click outside leaves."""
        clicked = event.widget.id or "" if event.widget is not None else ""
        if clicked.startswith("choice-"):
            self._choose(self._choices[int(clicked.removeprefix("choice-"))])
        elif event.widget is self:
            self.dismiss(None)

    def _choose(self, choice: Choice) -> None:
        if choice.why_not:
            self.context.say(f"{choice.word}: {choice.why_not}")
        else:
            self.dismiss(choice.key)

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.dismiss(None)


class LineDialog(Dialog[str | None]):
    """A dialog with one line of text. Result: the text, or None."""

    AUTO_FOCUS = "AnswerLine"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, context: Context, title: str, value: str = "", *, done: str = "Keep", hint: str = "") -> None:
        super().__init__(context)
        self._title = title
        self._value = value
        self._done = done
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Compose title and input, at the foot."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            yield AnswerLine(
                self._value,
                id="answer",
                placeholder=self._hint,
                keys={"enter": self.submit, "escape": self.action_leave},
            )
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the keys."""
        self.query_one(FootLine).hint(("Enter", self._done, ""), ("Esc", "Back", ""))

    def submit(self) -> None:
        """End with the typed text."""
        self.dismiss(self.query_one(AnswerLine).value)

    def action_leave(self) -> None:
        """Leave without a result."""
        self.dismiss(None)


async def confirm(context: Context, question: str, yes: str, no: str = "no") -> bool:
    """Ask the human to confirm, from an action's coroutine; return whether they did."""
    key: str | None = await context.ask(Menu(context, question, [Choice("y", yes), Choice("n", no)]))
    return key == "y"
