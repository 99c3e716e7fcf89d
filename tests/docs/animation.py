"""Frames of a terminal as one animated SVG: rows that several frames share are drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from rich.color import Color, blend_rgb
from rich.segment import Segment
from rich.terminal_theme import MONOKAI
from textual.strip import Strip

_CELL: Final = 8.4  # pixels of a column
_LINE: Final = 18.0  # pixels of a row
_FONT: Final = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Frame(NamedTuple):
    """One picture: its caption, how long it stays, and the rows of the terminal."""

    caption: str
    seconds: float
    rows: tuple[Strip, ...]

    @property
    def text(self) -> str:
        """The text of the rows."""
        return "\n".join(strip.text for strip in self.rows)


def svg(frames: Sequence[Frame], columns: int, lines: int) -> str:
    """Return the frames as an SVG that plays them in a loop. A viewer without animation shows the first one."""
    drawing = _Drawing()
    groups = [drawing.frame(number, frame, lines) for number, frame in enumerate(frames)]
    total = sum(frame.seconds for frame in frames)
    width, height = columns * _CELL, (lines + 2) * _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">\n<style>\n'
        f"text {{ font: 14px {_FONT}; white-space: pre }}\n.caption {{ font-weight: bold; fill: #ffd866 }}\n"
        f"{drawing.styles()}{_timing(frames, total)}</style>\n<defs>\n{drawing.rows()}</defs>\n"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#0c0c0c"/>\n' + "".join(groups) + "</svg>\n"
    )


def _timing(frames: Sequence[Frame], total: float) -> str:
    """Return the style of each frame: visible in its own part of the loop."""
    made, at = [], 0.0
    for number, frame in enumerate(frames):
        begin, end = 100 * at / total, 100 * (at + frame.seconds) / total
        at += frame.seconds
        before = "" if number == 0 else f"0% {{ visibility: hidden }} {begin:.3f}% {{ visibility: visible }} "
        first = "0% { visibility: visible } " if number == 0 else ""
        made.append(
            f"@keyframes k{number} {{ {first}{before}{end:.3f}% {{ visibility: hidden }} "
            f"100% {{ visibility: hidden }} }}\n"
            f"#f{number} {{ visibility: {'visible' if number == 0 else 'hidden'}; "
            f"animation: k{number} {total:g}s step-end infinite }}\n"
        )
    return "".join(made)


class _Drawing:
    """The rows and colours that the frames share."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._styles: dict[str, int] = {}

    def frame(self, number: int, frame: Frame, lines: int) -> str:
        uses = [
            f'<use href="#r{self._rows.setdefault(drawn, len(self._rows))}" y="{(at + 1) * _LINE:g}"/>'
            for at, strip in enumerate(frame.rows)
            if (drawn := self._row(strip))
        ]
        caption = f'<text class="caption" x="{_CELL:g}" y="{(lines + 1.5) * _LINE:g}">{escape(frame.caption)}</text>'
        return f'<g id="f{number}">{"".join(uses)}{caption}</g>\n'

    def rows(self) -> str:
        return "".join(f'<g id="r{number}">{drawn}</g>\n' for drawn, number in self._rows.items())

    def styles(self) -> str:
        return "".join(f".s{number} {{ {style} }}\n" for style, number in self._styles.items())

    def _row(self, strip: Strip) -> str:
        made, column = [], 0
        for segment in strip:
            width = segment.cell_length
            fill, back, bold = _colours(segment)
            if back is not None:
                made.append(
                    f'<rect x="{column * _CELL:g}" width="{width * _CELL:g}" y="-14" height="{_LINE:g}" fill="{back}"/>'
                )
            text = segment.text.rstrip()
            lead = len(text) - len(text.lstrip())
            if text := text.lstrip():
                style = f"fill: {fill}" + ("; font-weight: bold" if bold else "")
                number = self._styles.setdefault(style, len(self._styles))
                cells = Segment(text).cell_length
                made.append(
                    f'<text class="s{number}" x="{(column + lead) * _CELL:g}" textLength="{cells * _CELL:g}">'
                    f"{escape(text)}</text>"
                )
            column += width
        return "".join(made)


def _colours(segment: Segment) -> tuple[str, str | None, bool]:
    """Return the colour of a text, of its background (None: the default), and whether it is bold."""
    style = segment.style
    if style is None:
        return _hex(None, is_text=True), None, False
    front, back = style.color, style.bgcolor
    if style.reverse:
        front, back = back, front
    fill = _hex(front, is_text=True)
    if style.dim:
        base = (back or Color.from_rgb(12, 12, 12)).get_truecolor(MONOKAI, foreground=False)
        text = (front or Color.default()).get_truecolor(MONOKAI)
        fill = blend_rgb(text, base, 0.5).hex
    return fill, None if back is None or back.is_default else _hex(back, is_text=False), bool(style.bold)


def _hex(colour: Color | None, *, is_text: bool) -> str:
    return (colour or Color.default()).get_truecolor(MONOKAI, foreground=is_text).hex
