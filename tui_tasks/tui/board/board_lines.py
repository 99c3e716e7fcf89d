"""The lines around the cards on a small screen, which shows one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import events
from textual.message import Message

from tui_tasks.text.glyphs import look
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.widgets.frame import FrameLine

# The parts that each tab is drawn from, so that a click finds it.
_PARTS: Final = 5


class BoardTabs(FrameLine):
    """` < ○ 2  [◐ 1]  ? 2  ✗ 1  ✓ 2 >`: the columns, each as the glyph of its status and its number of cards."""

    class Chosen(Message):
        """A tab was clicked; `number` counts from 0."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    _tabs: Sequence[tuple[str, str]] = ()
    _at = 0

    def show(self, tabs: Sequence[tuple[str, str]], at: int) -> None:
        """Show these tabs, each a state and a count, with one of them as the current."""
        self._tabs, self._at = tabs, at
        self.again()

    def left(self, width: int) -> Sequence[Part]:
        """Return the tabs, the current one in brackets."""
        last = len(self._tabs) - 1
        parts: list[Part] = [(" <" if self._at > 0 else "  ", "$muted")]
        for number, (state, cards) in enumerate(self._tabs):
            is_here, shown = number == self._at, look(state)
            text = f"{shown.mark(ascii_only=self.context.ascii_only)} {cards}"
            parts += [
                (" ", ""),
                ("[" if is_here else "", "bold"),
                (text, f"{shown.color} bold" if is_here else "$muted"),
                ("]" if is_here else "", "bold"),
                (" " if number < last else "", ""),
            ]
        return [*parts, (" >" if self._at < last else "", "$muted")]

    def on_click(self, event: events.Click) -> None:
        """Choose the tab that was clicked."""
        part = self.part_number(event.x)
        if part is not None:
            self.post_message(self.Chosen(min(max(part - 1, 0) // _PARTS, len(self._tabs) - 1)))


class BoardKeys(FrameLine):
    """` h/l column   H → Pending   L → Done`: the keys for a newcomer on a small screen."""

    _moves: Sequence[tuple[str, str]] = ()

    def show(self, moves: Sequence[tuple[str, str]]) -> None:
        """Show the keys for the card under the cursor, each an action and a word."""
        self._moves = moves
        self.again()

    def left(self, width: int) -> Sequence[Part]:
        """Return the keys, as they are mapped."""
        key_of = self.context.keymap.key_of
        parts: list[Part] = [(f" {key_of('column_left')}/{key_of('column_right')}", "$changed"), (" column", "$muted")]
        for action, word in self._moves:
            parts += [(f"   {key_of(action)}", "$changed"), (f" {word}", "$muted")]
        return parts
