"""The columns of the board at each width: what each holds, how its cards look, and tabs where one fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from textual import events
from textual.message import Message

from tui_tasks.core.read.pages.board_pages import NEEDS_YOU
from tui_tasks.text.glyphs import look
from tui_tasks.tui.painting.frame_line import FrameLine
from tui_tasks.tui.painting.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. `parts` are the parts of `board_pages` that it holds, in the order of its cards."""

    name: str
    parts: tuple[str, ...]
    sets: str | None
    """The status that a card gets by being moved here; None where cards cannot be moved."""
    lines: int
    """How many lines a card has, without the empty line of `gap`."""
    gap: bool = False
    """Whether an empty line follows each card."""
    state: str = ""
    """The state (`text.glyphs.look`) whose glyph and colour the head has."""
    counts: tuple[str, ...] = ()
    """The parts that the number beside the name counts."""
    apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parts that have a number of their own in the head, each with the state whose glyph it has."""

    @property
    def height(self) -> int:
        """How many lines a card takes."""
        return self.lines + self.gap

    @property
    def is_mixed(self) -> bool:
        """Whether its cards are of several states, so that a card shows its own."""
        return len(self.parts) > 1


def _of_part(name: str, part: str, lines: int) -> ColumnSpec:
    return ColumnSpec(name, (part,), None if part == NEEDS_YOU else part, lines, gap=True, state=part, counts=(part,))


_OVER: Final = ("skipped", "cancelled")
_ACTIVE: Final = ("in_progress", NEEDS_YOU)
_CLOSED: Final = ("failed", "done", *_OVER)
# Done comes before Failed, so that a card moved right from In progress becomes done.
WIDE: Final = (
    _of_part("Pending", "pending", 2),
    _of_part("In progress", "in_progress", 4),
    _of_part("Needs you", NEEDS_YOU, 4),
    ColumnSpec("Done", ("done", *_OVER), "done", 2, state="done", counts=("done",), apart=(("skipped", _OVER),)),
    _of_part("Failed", "failed", 4),
)
"""From 100 columns of the terminal."""
STACKED: Final = (
    replace(WIDE[0], gap=False),
    replace(WIDE[1], name="Active", parts=_ACTIVE, lines=2, gap=False, apart=((NEEDS_YOU, (NEEDS_YOU,)),)),
    replace(WIDE[3], name="Closed", parts=_CLOSED, counts=_CLOSED, apart=(("failed", ("failed",)),)),
)
"""From 60 columns of the terminal."""
NARROW: Final = tuple(replace(spec, lines=2, gap=False) for spec in WIDE)
"""Below that: one column at a time."""

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
