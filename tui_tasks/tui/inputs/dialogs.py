"""Dialogs at the foot of the screen: a menu of keys, a line of text, and a confirmation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static
from typing_extensions import override

from tui_tasks.tui.inputs.line_inputs import AnswerLine
from tui_tasks.tui.keys.user_keys import show_key
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, plain

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_tasks.tui.state.context import Context, Hint


_FAR: Final = 1_000
_MOVES: Final = {
    **dict.fromkeys(("down", "j", "tab"), 1),
    **dict.fromkeys(("up", "k", "shift+tab"), -1),
    **dict.fromkeys(("home", "pageup", "g"), -_FAR),
    **dict.fromkeys(("end", "pagedown", "G"), _FAR),
}
"""How far keys move in a menu."""


class Choice(msgspec.Struct, frozen=True):
    """One choice of a menu; `why_not` is shown beside it, and is all that its key says."""

    key: str
    word: str
    style: str = ""
    why_not: str = ""


class Menu(Dialog[str | None]):
    """A menu. A choice is made by its key, by Enter on the lit row, or by a click. Result: the key, or None.

    The keys of choices go before `j` and `k`, which move otherwise, but not where `y` confirms something: letters that
    are typed on must not lead to it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, context: Context, title: str, choices: Sequence[Choice], *, lit: str = "") -> None:
        """`lit` is the key of the choice that Enter makes at first; empty: none, as Enter may come before it is read.

        The first move then lights the first choice that can be made.
        """
        super().__init__(context)
        self._title = title
        self._choices = choices
        self._confirms = any(choice.key == "y" for choice in choices)
        self._lit = next((at for at, choice in enumerate(choices) if choice.key == lit), -1)

    def compose(self) -> ComposeResult:
        """Compose title and choices, at the foot."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            for number, choice in enumerate(self._choices):
                yield Static(self._shown(choice, is_lit=number == self._lit), id=f"choice-{number}", classes="choice")
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the keys."""
        self._hint()

    def _hint(self) -> None:
        enter = [("Enter", "Choose", "")] if self._lit >= 0 else []
        self.query_one(FootLine).hint(*enter, ("↑↓", "Move", ""), ("Esc", "Back", ""))

    @staticmethod
    def _shown(choice: Choice, *, is_lit: bool) -> Content:
        text = f"{choice.word}   {choice.why_not}" if choice.why_not else choice.word
        word = plain(text, "$muted" if choice.why_not else choice.style)
        return Content.assemble(
            plain(" > " if is_lit else "   ", "$primary bold"), plain(choice.key, "$key bold"), "  ", word
        )

    def _light(self, number: int) -> None:
        """Light the row of a choice, or the nearest there is."""
        self._lit = min(max(number, 0), len(self._choices) - 1)
        for at, row in enumerate(self.query(".choice").results(Static)):
            row.update(self._shown(self._choices[at], is_lit=at == self._lit))
            row.set_class(at == self._lit, "-lit")
        self._hint()

    def take_key(self, event: events.Key) -> bool:
        """Choose by a key, or move; return whether the key was used."""
        chosen = next((choice for choice in self._choices if choice.key in (event.character, event.key)), None)
        if chosen is not None:
            self._choose(chosen)
        elif event.key == "enter" and self._lit < 0:
            self.context.say("Press the key of a choice, or go to one by ↑↓ first.")
        elif event.key == "enter":
            self._choose(self._choices[self._lit])
        elif event.key in _MOVES and not (event.is_printable and self._confirms):
            self._move(_MOVES[event.key])
        elif self.context.keymap.means(event.key, "quit"):
            self.action_leave()
        elif event.is_printable:
            self.context.say(f"{show_key(event.key)} is no choice here. Esc goes back.")
            return False
        else:
            return False
        return True

    def _move(self, rows: int) -> None:
        if self._lit < 0:
            self._lit = next((at for at, choice in enumerate(self._choices) if not choice.why_not), 0)
            rows = max(rows - 1, 0)
        self._light(self._lit + rows)

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked; a click outside leaves."""
        clicked = event.widget.id or "" if event.widget is not None else ""
        if clicked.startswith("choice-"):
            self._choose(self._choices[int(clicked.removeprefix("choice-"))])
        elif event.widget is self:
            self.dismiss(None)

    def _choose(self, choice: Choice) -> None:
        """Close the menu; the letters of what was chosen, or words after a refusal, press no keys of the pane."""
        self.dismiss(None if choice.why_not else choice.key)
        if choice.why_not:
            self.context.say(choice.why_not)
            self.context.words.expect_words(choice.why_not)
        else:
            self.context.words.expect_rest(_word_of(choice))

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.dismiss(None)


DRAFT: Final = "This is your draft from before: ^u clears it."
"""What the foot says where a kept text is shown again, with the cursor at its end."""
KEPT: Final = "Kept what you typed: the same key brings it back."
"""What the foot says when Esc has kept a text."""


def keep_draft(context: Context, draft: str, text: str, given: str = "") -> None:
    """Keep text that Esc leaves, unless it is as it was `given`; say so if it is new. The dialog is closed already."""
    before = context.drafts.pop(draft, None)
    if not text.strip() or text == given:
        return
    context.drafts[draft] = text
    if text != before:
        context.say(KEPT)


@contextmanager
def draft_unless_done(context: Context, draft: str, text: str) -> Iterator[None]:
    """Keep text that was given, unless what is done with it succeeds."""
    context.drafts[draft] = text
    yield
    context.drafts.pop(draft, None)


class LineDialog(Dialog[str | None]):
    """A dialog with one line of text. Result: the text, or None.

    What Esc leaves, or what could not be done, comes back in the next dialog with the same `draft`.
    """

    AUTO_FOCUS = "AnswerLine"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self, context: Context, title: str, value: str = "", *, draft: str, done: str = "Keep", hint: str = ""
    ) -> None:
        """`draft` names the kind of text, and by id what it is about."""
        super().__init__(context)
        self._title = title
        self._value = value
        self._done = done
        self._hint = hint
        self._draft_key = draft
        self._given = ""

    def compose(self) -> ComposeResult:
        """Compose title and input, at the foot."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"), id="title")
            yield self._input(self.context.drafts.get(self._draft_key, self._value))
            yield FootLine(self.context, id="foot")

    def _input(self, text: str) -> Widget:
        return AnswerLine(text, id="answer", placeholder=self._hint, keys=self._line_keys)

    @property
    def _line_keys(self) -> Mapping[str, Callable[[], object]]:
        """What keys do in the input beside writing; the key that saves a form ends this too."""
        return {**dict.fromkeys(("enter", "ctrl+s"), self.submit), "escape": self.action_leave}

    def on_mount(self) -> None:
        """Show the keys; say of a text that an earlier dialog has kept that it is a draft."""
        self._show_keys()
        if self._brings_back:
            self.query_one(FootLine).say(DRAFT)

    @property
    def _brings_back(self) -> bool:
        return self._draft_key in self.context.drafts

    def _show_keys(self) -> None:
        self.query_one(FootLine).hint(*self._keys())

    def _keys(self) -> Sequence[Hint]:
        return ("Enter", self._done, ""), ("Esc", "Back", "")

    @property
    def _text(self) -> str:
        return self.query_one(AnswerLine).value

    def submit(self) -> None:
        """End with the typed text."""
        self.context.drafts.pop(self._draft_key, None)
        self._given = self._text
        self.dismiss(self._given)

    def keeps_unless_done(self) -> AbstractContextManager[None]:
        """Keep the text that was given as a result for the next dialog, unless what is done with it succeeds."""
        return draft_unless_done(self.context, self._draft_key, self._given)

    def action_leave(self) -> None:
        """Leave without a result."""
        text = self._text
        self.dismiss(None)
        keep_draft(self.context, self._draft_key, text, self._value)


class FilterDialog(LineDialog):
    """The words of a filter, which is applied at each letter; Enter keeps it, Esc clears it. No result."""

    def __init__(self, context: Context, value: str, apply: Callable[[str], object], *, hint: str) -> None:
        super().__init__(context, "Show only", value, draft="filter", hint=hint)
        self._apply = apply

    @override
    def _keys(self) -> Sequence[Hint]:
        return ("Enter", self._done, ""), ("Esc", "Clear", "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter by what is typed so far."""
        event.stop()
        self._apply(event.value.strip())

    @override
    def submit(self) -> None:
        self._apply(self._text.strip())
        self.dismiss(None)

    @override
    def action_leave(self) -> None:
        self._apply("")
        self.dismiss(None)

    def take_key(self, event: events.Key) -> bool:
        """Go to the rows, as in the list."""
        if event.key == "down":
            self.submit()
        return event.key == "down"


def _word_of(choice: Choice) -> str:
    """Return the words of a choice from the one that begins with its key."""
    found = re.search(rf"\b{re.escape(choice.key)}[\w ]*", choice.word, re.IGNORECASE)
    return found[0].casefold() if found else {"y": "yes", "n": "no"}.get(choice.key, choice.key)


async def confirm(context: Context, question: str, yes: str, no: str = "no") -> bool:
    """Ask the human to confirm, from an action's coroutine; return whether they did. Enter alone confirms nothing."""
    key: str | None = await context.ask(Menu(context, question, [Choice("y", yes), Choice("n", no)], lit="n"))
    return key == "y"
