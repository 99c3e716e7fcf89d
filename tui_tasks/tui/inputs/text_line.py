"""Lines of text that are typed in. Imported once there is one: they are the largest part of Textual that we use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from rich.text import Text
from textual import events
from textual.widgets import Input

from tui_tasks.dialects.requests.quick_add_syntax import lines_of
from tui_tasks.text.input_display import one_to_one
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages


class WordLine(ResilientMessages, Input):
    """A line of text. The cursor does not blink; `keys` are what keys do beside writing."""

    def __init__(
        self,
        value: str = "",
        *,
        keys: Mapping[str, Callable[[], object]] | None = None,
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(value, placeholder=placeholder, id=id, compact=True)
        self.cursor_blink = False
        # A letter that is typed is added, and takes nothing away.
        self.select_on_focus = False
        self._keys = keys or {}

    @property
    def _value(self) -> Text:
        # What Textual draws; it would pass control characters on.
        return Text(one_to_one(self.value), no_wrap=True, overflow="ignore", end="")

    def focus(self, scroll_visible: bool = True, **_: Any) -> Self:
        """Take the focus at once, before the next key is looked at."""
        self.screen.set_focus(self, scroll_visible)
        return self

    def does(self, key: str) -> Callable[[], object] | None:
        """What a key does here beside writing; None: nothing. It is done once all that was typed before is written."""
        return self._keys.get(key)


class FilterWords(WordLine):
    """The words of a filter."""


class AddWords(WordLine):
    """The words of a quick add. `pasted` is given a text of several lines that is pasted, which a line cannot take."""

    def __init__(self, *, keys: Mapping[str, Callable[[], object]], pasted: Callable[[str], object]) -> None:
        super().__init__(keys=keys)
        self._pasted = pasted

    def on_paste(self, event: events.Paste) -> None:
        """Pass on what has several lines, and leave a single line to the input."""
        if len(lines_of(event.text)) > 1:
            event.stop()
            event.prevent_default()
            self._pasted(event.text)


class PickerWords(WordLine):
    """The words that are searched for in a picker."""


class AnswerLine(WordLine):
    """The answer to a prompt."""
