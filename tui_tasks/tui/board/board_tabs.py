"""The tabs of the columns on a small screen, which shows one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual import events
from textual.message import Message

from tui_tasks.text.glyphs import look
from tui_tasks.tui.painting.frame_line import FrameLine
from tui_tasks.tui.painting.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The parts that each tab is drawn from, so that a click finds it.
_PARTS: Final = 5


class BoardTabs(FrameLine):
    """` < ○ 2  [◐ 1]  ? 2  ✗ 1  ✓ 2 >`: the columns, each as the glyph of its status and its number of cards."""

    class Chosen(Message):
        """A tab was clicked; `number` counts from 0."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, context: Context) -> None:
        super().__init__(context, self._tab_parts)
        self._tabs: Sequence[tuple[str, str]] = ()
        self._at = 0

    def show(self, tabs: Sequence[tuple[str, str]], at: int) -> None:
        """Show these tabs, each a state and a count, with one of them as the current."""
        self._tabs, self._at = tabs, at
        self.again()

    def _tab_parts(self, width: int) -> Sequence[Part]:
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
