"""The sizes of the terminal at which the layout changes."""

from __future__ import annotations

from typing import Final

from textual.geometry import Size

NARROW: Final = 60
"""Columns under which there is room for one thing only."""
WIDE: Final = 100
"""Columns from which two things stand side by side."""
SHORT: Final = 16
"""Rows under which there is room for one thing only."""

HORIZONTAL: Final = [(0, "-narrow"), (NARROW, "-stacked"), (WIDE, "-wide")]
VERTICAL: Final = [(0, "-short"), (SHORT, "-tall")]


def is_compact(size: Size) -> bool:
    """Return whether there is room only for the Now line and one pane."""
    return size.width < NARROW or size.height < SHORT


def is_wide(size: Size) -> bool:
    """Return whether there is room for two things side by side."""
    return not is_compact(size) and size.width >= WIDE
