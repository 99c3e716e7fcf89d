"""Charts of characters: numbers in, lines of text out. Pure; one cell for each value unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_LETTERS: Final = " .:-=+*%#"


def spark(values: Sequence[float], top: float = 0, *, ascii_only: bool = False) -> str:
    """Return a line with a bar for each value, scaled to `top` or the greatest; a value above 0 is always visible."""
    return columns(values, 1, top=top, ascii_only=ascii_only)[0]


def columns(
    values: Sequence[float], height: int, width: int = 1, gap: int = 0, *, top: float = 0, ascii_only: bool = False
) -> list[str]:
    """Return `height` lines, the top first, with a bar `width` cells wide for each value, and `gap` cells after it.

    Bars grow by eighths of a line. The greatest value reaches the top, or `top` if that is greater; a value above 0 is
    always visible.
    """
    top = max([top, *values])
    eighths = [_share(value, top, height * 8) for value in values]
    steps = _LETTERS if ascii_only else _EIGHTHS
    return [
        "".join(steps[min(max(full - line * 8, 0), 8)] * width + " " * gap for full in eighths)
        for line in range(height - 1, -1, -1)
    ]


def bar(value: float, top: float, cells: int, *, ascii_only: bool = False) -> str:
    """Return a horizontal bar for `value` of `top`, in proportion to at most `cells` cells."""
    return ("#" if ascii_only else "▄") * _share(value, top, cells)


def _share(value: float, top: float, steps: int) -> int:
    if value <= 0 or top <= 0:
        return 0
    return min(max(1, round(value / top * steps)), steps)


def ticks(at: Sequence[int], cells: int, *, ascii_only: bool = False) -> str:
    """Return `cells` cells with a tick in each that is in `at`; a thicker one where it occurs several times."""
    counts = [0] * cells
    for cell in at:
        if 0 <= cell < cells:
            counts[cell] += 1
    signs = " |:#" if ascii_only else " ▏▌█"
    return "".join(signs[0 if not count else 1 if count == 1 else 2 if count < 4 else 3] for count in counts)
