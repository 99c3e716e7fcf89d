"""Replaces glyphs with letters in all that is painted, unless the pane has drawn letters already."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# Each replacement is as wide as its glyph. Scroll bars are drawn in eighths of a cell.
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
    """Replaces the program's own glyphs with letters; text that somebody wrote stays as it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """See `LineFilter`."""
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(_LETTERS), segment.style, segment.control)
            for segment in segments
        ]
