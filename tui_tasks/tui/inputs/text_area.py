"""An input of many lines."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.widgets import TextArea

from tui_tasks.text.safe import one_to_one

LONGEST_LINE: Final = 4_000
LONGEST: Final = 100_000
"""Characters from which on each key would be waited for."""
_SHOWN: Final = 1_000


class LongText(TextArea):
    """An input for a description or a prompt. The cursor does not blink; control characters are shown as pictures.

    A text that is too long to edit here shows only its beginning, and is changed in $EDITOR.
    """

    def __init__(self, text: str, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, show_line_numbers=False, tab_behavior="focus")
        self.cursor_blink = False
        self.value = text

    @property
    def value(self) -> str:
        """The whole text; unless changed it is exactly as given, including its line endings."""
        return self._given if self.text == self._loaded else self.text

    @value.setter
    def value(self, text: str) -> None:
        self._given = text
        self.read_only = len(text) > LONGEST or max(map(len, text.split("\n"))) > LONGEST_LINE
        if self.read_only:
            text = f"(too long to be changed here: ^e opens it in $EDITOR)\n\n{text[:_SHOWN]}…"
        self.text = text
        self._loaded = self.text

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn."""
        return Text(one_to_one(self.document.get_line(line_index)), end="", no_wrap=True)
