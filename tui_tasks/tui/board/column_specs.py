"""The columns of the board at each width: what each holds, and how its cards look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tui_tasks.core.read.pages.board_pages import NEEDS_YOU


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. `parts` are the parts of `board_pages` that it holds, in the order of its cards."""

    name: str
    parts: tuple[str, ...]
    sets: str | None
    """The status that a card gets by being moved here; None where cards cannot be moved."""
    lines: int
    """How many lines a card has where not all cards fit, without the empty line of `gap`."""
    gap: bool = False
    """Whether an empty line follows each card."""
    state: str = ""
    """The state (`text.glyphs.look`) whose glyph and colour the head has; empty: it has the number of each state."""
    counts: tuple[str, ...] = ()
    """The parts that the number beside the name counts."""
    apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parts that have a number of their own in the head, each with the state whose glyph it has."""
    share: int = 10
    """How wide it is, in proportion to the others."""

    @property
    def is_mixed(self) -> bool:
        """Whether its cards are of several states, so that a card shows its own."""
        return len(self.parts) > 1


def _of_part(name: str, part: str, lines: int, share: int) -> ColumnSpec:
    sets = None if part == NEEDS_YOU else part
    return ColumnSpec(name, (part,), sets, lines, gap=True, state=part, counts=(part,), share=share)


def _each(parts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((part, (part,)) for part in parts)


EMPTY_SHARE: Final = 8
"""The share of a column without cards."""
_OVER: Final = ("skipped", "cancelled")
_ACTIVE: Final = (NEEDS_YOU, "in_progress")
_CLOSED: Final = ("failed", "done", *_OVER)
# Done comes before Failed, so that a card moved right from In progress becomes done.
WIDE: Final = (
    _of_part("Pending", "pending", 2, 11),
    _of_part("In progress", "in_progress", 4, 11),
    _of_part("Needs you", NEEDS_YOU, 4, 13),
    ColumnSpec("Done", ("done", *_OVER), "done", 2, state="done", counts=("done",), apart=(("skipped", _OVER),)),
    _of_part("Failed", "failed", 4, 12),
)
"""From 100 columns of the terminal."""
STACKED: Final = (
    replace(WIDE[0], gap=False),
    ColumnSpec("Active", _ACTIVE, "in_progress", 3, counts=_ACTIVE, apart=_each(_ACTIVE), share=13),
    ColumnSpec("Closed", _CLOSED, "done", 2, counts=_CLOSED, apart=(*_each(_CLOSED[:2]), ("skipped", _OVER)), share=12),
)
"""From 60 columns of the terminal."""
NARROW: Final = tuple(replace(spec, lines=2, gap=False) for spec in WIDE)
"""Below that: one column at a time."""
