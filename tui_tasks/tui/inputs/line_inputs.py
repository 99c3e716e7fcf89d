"""Inputs of one line: of the filter, quick add, pickers, forms and dialogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from rich.text import Text
from textual import events
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui_tasks.dialects.requests.quick_add_syntax import lines_of
from tui_tasks.text.safe import one_to_one
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, ResilientMessages


class InputRow(Horizontal, NoRelayout):
    """A line of the screen that holds an input and its sign."""


class InputSign(Static, NoRelayout):
    """The sign before an input of one line."""


class WordLine(ResilientMessages, Input, NoRelayout):
    """An input of one line. The cursor does not blink; `keys` maps keys to functions beside writing.

    Tab keeps the focus here unless `keys` says otherwise: what is typed next must not act on the rows.
    """

    def __init__(
        self,
        value: str = "",
        *,
        keys: Mapping[str, Callable[[], object]] | None = None,
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(value, placeholder=placeholder, id=id, compact=True, validate_on=())
        self.cursor_blink = False
        # A typed letter is inserted and replaces nothing.
        self.select_on_focus = False
        self._keys = keys or {}

    class LinesPasted(Message):
        """Text of several lines was pasted, of which the input has taken the first; `count`: how many there were."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def on_paste(self, event: events.Paste) -> None:
        """Insert the first line of a paste that is not empty, and report if there are more."""
        event.stop()
        event.prevent_default()
        lines = [line for line in event.text.splitlines() if line.strip()] or event.text.splitlines()[:1]
        for line in lines[:1]:
            self.replace(line, *self.selection)
        if len(lines) > 1:
            self.post_message(self.LinesPasted(len(lines)))

    @property
    def _value(self) -> Text:
        # Textual draws this value, and would pass control characters on.
        return Text(one_to_one(self.value), no_wrap=True, overflow="ignore", end="")

    def focus(self, scroll_visible: bool = True, **_: Any) -> Self:
        """Take the focus at once, before the next key is handled."""
        self.screen.set_focus(self, scroll_visible)
        return self

    def does(self, key: str) -> Callable[[], object] | None:
        """Return what a key does beside writing; None: nothing. It runs after all text typed before is inserted."""
        # Steps are as in every shell; no search opens over what is being typed.
        steps = {"ctrl+f": self.action_cursor_right, "ctrl+b": self.action_cursor_left}
        return self._keys.get(key, _do_nothing if key in ("tab", "shift+tab") else steps.get(key))


def _do_nothing() -> None:
    pass


class FilterWords(WordLine):
    """The input of a filter."""


class AddWords(WordLine):
    """The input of quick add. `pasted` is called with pasted text of several lines, which an input cannot take;
    `emptied` before the whole text is deleted or replaced.
    """

    def __init__(
        self,
        *,
        keys: Mapping[str, Callable[[], object]],
        pasted: Callable[[str], object],
        emptied: Callable[[], object],
    ) -> None:
        super().__init__(keys=keys)
        self._pasted = pasted
        self._emptied = emptied

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part of the text."""
        if self.value and min(start, end) <= 0 and max(start, end) >= len(self.value):
            self._emptied()
        super().replace(text, start, end)

    def on_paste(self, event: events.Paste) -> None:
        """Pass text of several lines to `pasted`; leave a single line to the input."""
        if len(lines_of(event.text)) > 1:
            event.stop()
            event.prevent_default()
            self._pasted(event.text)


class PickerWords(WordLine):
    """The search input of a picker."""


class AnswerLine(WordLine):
    """The input of a dialog."""
