"""Letters in place of glyphs, for all that is painted: what a pane draws with letters already, and what it does not."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# One cell for one cell. Scroll bars are drawn in eighths of a cell.
_LETTERS: Final = str.maketrans(
    {
        **dict.fromkeys("–—─━▔▁▂", "-"),
        **dict.fromkeys("│┃▏▕▐▌▎▍", "|"),
        **dict.fromkeys("█▇▆▅▄▃▉▊▋", "#"),
        **dict.fromkeys("┬┴├┤┼", "+"),
        **dict.fromkeys("·░", "."),
        "…": "~",
        "•": "*",
        "→": ">",
        "←": "<",
        "↑": "^",
        "↓": "v",
        "“": '"',
        "”": '"',
        "’": "'",
    }
)


class AsciiFilter(LineFilter):
    """Makes the program's own signs letters; other text, that somebody wrote, stays as it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """See `LineFilter`."""
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(_LETTERS), segment.style, segment.control)
            for segment in segments
        ]
