"""The theme's colours for widgets that draw their own lines, and letters for glyphs where the terminal has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import ANSIToTruecolor, LineFilter
from textual.strip import Strip

from tui_tasks.text.safe import cell_len

Part = tuple[str, str]
"""Safe text and the name of its style: an empty string, `$state-done`, `$muted`, `$key bold` ...

`@state-done` is a ground tinted with that colour, `^panel` a ground of it, `~state-done` a dimmer tone of it for large
surfaces.
"""
_TINT: Final = 0.16
_DIM: Final = 0.6
# Each replacement is as wide as its glyph. Scroll bars are drawn in eighths of a cell.
_LETTERS: Final = str.maketrans(
    {
        **dict.fromkeys("–—─▔▁▂", "-"),
        **dict.fromkeys("│┃▏▕▐▌▎▍", "|"),
        **dict.fromkeys("█▇▆▅▄▃▉▊▋", "#"),
        **dict.fromkeys("┬┴├┤┼", "+"),
        "▲": "!",
        "▰": "#",
        "▱": ".",
        "·": ".",
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


class StyleCache:
    """Rich styles by theme name, for one theme; `of` returns those of the App's current theme.

    `true` are the filters that convert ANSI colours: each style is converted once, so lines need not be.
    """

    _made: dict[int, StyleCache] = {}

    def __init__(self, variables: dict[str, str], true: Sequence[ANSIToTruecolor] = ()) -> None:
        self._variables = variables
        self._true = true
        self._styles: dict[tuple[str, bool], Style] = {}
        self._strips: dict[tuple[str, str], Strip] = {}
        self.ground = Color.parse(variables["background"])
        self._ground = self._colors("$background", "bgcolor")
        self._cursor = self._colors("$cursor-background", "bgcolor") + self._word(variables.get("cursor-style", ""))

    @classmethod
    def of(cls, app: App[Any]) -> StyleCache:
        """Return the styles of the App's current theme."""
        variables = app.theme_variables
        cache = cls._made.get(id(variables))
        if cache is None or cache._variables is not variables:
            cls._made.clear()
            true = [each for each in app.get_line_filters() if isinstance(each, ANSIToTruecolor)]
            cache = cls._made[id(variables)] = cls(variables, true)
        return cache

    def style(self, name: str, *, cursor: bool = False) -> Style:
        """Return the style of a name; with `cursor`, as on the cursor's line."""
        style = self._styles.get((name, cursor))
        if style is None:
            style = self._styles[name, cursor] = self._make(name, cursor)
        return style

    def strip(self, text: str, name: str = "") -> Strip:
        """Return a line of one style; it is the same object each time, since Textual caches what it renders of a
        strip.
        """
        style = self._strips.get((text, name))
        if style is None:
            style = self._strips[text, name] = Strip([Segment(text, self.style(name))], cell_len(text))
        return style

    def _make(self, name: str, cursor: bool) -> Style:
        style = self._cursor if cursor else self._ground
        style += self._colors("$cursor-text" if cursor else "$foreground", "color")
        for word in name.split():
            if word.startswith("^"):
                style += Style() if cursor or self.ground.ansi is not None else self._colors(f"${word[1:]}", "bgcolor")
            elif word.startswith("@"):
                style += Style() if cursor else self._tinted(word[1:])
            elif word.startswith("~"):
                style += self._dimmed(word[1:])
            elif not word.startswith("$"):
                style += self._word(word)
            elif not (cursor and word == "$muted"):
                style += self._colors(word, "color")
                style += self._word(self._variables.get(f"{word[1:]}-style", ""))
        for each in self._true:
            style = each.truecolor_style(style, self.ground.rich_color)
        return style

    def _colors(self, name: str, ground: str) -> Style:
        color = Color.parse(self._variables[name[1:]]).rich_color
        return Style(bgcolor=color) if ground == "bgcolor" else Style(color=color)

    def _tinted(self, name: str) -> Style:
        """Return a ground tinted with a colour; the plain one where there are no shades."""
        color = Color.parse(self._variables[name])
        if self.ground.ansi is not None or color.ansi is not None:
            return Style()
        return Style(bgcolor=self.ground.blend(color, _TINT).rich_color)

    def _dimmed(self, name: str) -> Style:
        """Return a colour that is nearer to the ground."""
        color = Color.parse(self._variables[name])
        if self.ground.ansi is not None or color.ansi is not None:
            return Style(color=color.rich_color, dim=True)
        return Style(color=self.ground.blend(color, _DIM).rich_color)

    @staticmethod
    def _word(words: str) -> Style:
        return Style.parse(words) if words and words != "none" else Style()


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
