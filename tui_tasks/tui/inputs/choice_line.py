"""A field of a form with a few values: arrows, Space and clicks change the value, Tab goes to the next field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.widgets import Static

from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import ResilientMessages


class Option(NamedTuple):
    """A value of a field, its text for people (empty: the value), and what is said of it beside."""

    value: str
    text: str = ""
    note: str = ""


_STEPS = {"right": 1, "space": 1, "left": -1}


class ChoiceLine(ResilientMessages, Static, can_focus=True):
    """The field. A letter goes to the next value that begins with it; `keys` maps other keys to functions."""

    class Changed(Message):
        """Another value was chosen."""

    def __init__(
        self,
        options: Sequence[Option],
        value: str,
        *,
        id: str,
        keys: Mapping[str, Callable[[], object]],
    ) -> None:
        super().__init__("", id=id)
        self._options = list(options)
        self._at = next((at for at, option in enumerate(self._options) if option.value == value), 0)
        self._keys = keys

    @property
    def value(self) -> str:
        """The value."""
        return self._options[self._at].value

    def on_mount(self) -> None:
        """Show the value."""
        self._show()

    def _show(self) -> None:
        option = self._options[self._at]
        note = plain(f"  {option.note}", "$muted") if option.note else ""
        self.update(plain(option.text or option.value, "bold") + note)

    def on_key(self, event: events.Key) -> None:
        """Change the value, or do what `keys` says."""
        does = self._keys.get(event.key)
        if does is not None:
            does()
        elif event.key in _STEPS:
            self._move(_STEPS[event.key])
        elif event.character is not None and event.is_printable:
            later = [*range(self._at + 1, len(self._options)), *range(self._at)]
            begins = (at for at in later if self._options[at].value.startswith(event.character))
            self._move(next(begins, self._at) - self._at)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_click(self) -> None:
        """Change the value."""
        self.focus()
        self._move(1)

    def _move(self, by: int) -> None:
        at = (self._at + by) % len(self._options)
        if at != self._at:
            self._at = at
            self._show()
            self.post_message(self.Changed())
