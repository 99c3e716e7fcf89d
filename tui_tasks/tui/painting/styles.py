"""The theme's colours: its variables, Textual's and ours, with defaults for those that a theme does not set; and the
styles that widgets draw their own lines in, part by part, with letters for glyphs where the terminal has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import ANSIToTruecolor, LineFilter
from textual.strip import Strip
from textual.theme import Theme

from tui_tasks.text.safe import cell_len

Part = tuple[str, str]
"""Safe text and the name of its style: an empty string, `$state-done`, `$muted`, `$key bold` ...

`@state-done` is a ground tinted with that colour, `^panel` a ground of it, `~primary` a dimmer tone of it for large
surfaces.
"""
Act = Callable[[], None]
"""What a click on a part does."""
NEW: Final = "$primary"
"""The style of the mark of what has changed since the human looked."""
_TINT: Final = 0.16
_DIM: Final = 0.6
# Each replacement is as wide as its glyph. Scroll bars are drawn in eighths of a cell.
_LETTERS: Final = str.maketrans(
    {
        **dict.fromkeys("–—─▔▁▂", "-"),
        **dict.fromkeys("│┃▏▕▐▌▎▍", "|"),
        **dict.fromkeys("█▇▆▅▄▃▉▊▋━", "#"),
        **dict.fromkeys("┬┴├┤┼", "+"),
        "▲": "!",
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
        made = cls._made.get(id(variables))
        if made is None or made._variables is not variables:
            cls._made.clear()
            true = [each for each in app.get_line_filters() if isinstance(each, ANSIToTruecolor)]
            made = cls._made[id(variables)] = cls(variables, true)
        return made

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


_FRONT: Final = ("primary", "secondary", "accent", "success", "warning", "error", "foreground")
COLORS: Final = (*_FRONT, "background", "surface", "panel")
REQUIRED: Final = ("primary", "foreground", "background")
STATES: Final = ("pending", "in-progress", "needs-you", "blocked", "done", "failed", "skipped", "overdue")
PARTS: Final = ("muted", "key", "changed", "urgent", "rule", "cursor-text", "cursor-background")
STYLES: Final = ("muted-style", "rule-style", "cursor-style")
"""Text styles, for themes without the colours to say it: `text-style: $muted-style`."""
OWN: Final = frozenset({*(f"state-{state}" for state in STATES), *PARTS, *STYLES})
"""Every variable that is ours and not Textual's."""

# The default of each of our variables, and Textual's variables that are derived from ours or from its others.
_ROLES: Final = {
    "state-pending": "foreground",
    "state-in-progress": "primary",
    "state-needs-you": "warning",
    "state-blocked": "secondary",
    "state-done": "success",
    "state-failed": "error",
    "state-skipped": "muted",
    "state-overdue": "accent",
    "key": "accent",
    "changed": "foreground",
    "cursor-text": "foreground",
}
# The first of these that is not green is the colour of an urgent priority: green says that all is well.
_URGENT: Final = ("urgent", "state-overdue", "warning", "error", "foreground")
_GREEN: Final = (70 / 360, 190 / 360)
_WIDGETS: Final = {
    "text-muted": "muted",
    "text-disabled": "muted",
    "foreground-muted": "muted",
    "foreground-disabled": "muted",
    "border": "primary",
    "border-blurred": "rule",
    "scrollbar": "rule",
    "scrollbar-hover": "muted",
    "scrollbar-active": "primary",
    "scrollbar-background": "background",
    "scrollbar-background-hover": "background",
    "scrollbar-background-active": "background",
    "scrollbar-corner-color": "background",
    "footer-background": "background",
    "footer-foreground": "foreground",
    "footer-key-foreground": "key",
    "footer-description-foreground": "muted",
    "block-cursor-foreground": "cursor-text",
    "block-cursor-background": "cursor-background",
    "block-cursor-blurred-foreground": "cursor-text",
    "block-cursor-blurred-background": "cursor-background",
    "block-hover-background": "panel",
    "input-cursor-foreground": "background",
    "input-cursor-background": "foreground",
    "input-selection-foreground": "cursor-text",
    "input-selection-background": "cursor-background",
    "screen-selection-foreground": "cursor-text",
    "screen-selection-background": "cursor-background",
    "button-color-foreground": "background",
    "link-color": "foreground",
    "link-color-hover": "cursor-text",
    "link-background-hover": "cursor-background",
}
# Used where there are no shades, and for what Textual's CSS needs but its ANSI themes lack.
_ANSI: Final = {
    "surface-active": "transparent",
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "block-cursor-text-style": "reverse",
    "block-cursor-blurred-text-style": "bold",
    "input-selection-foreground": "ansi_black",
    "input-selection-background": "ansi_white",
    "screen-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_white",
}


def parts_width(parts: Iterable[Part]) -> int:
    """Return the width of parts in cells."""
    return sum(cell_len(text) for text, _ in parts)


class Group(msgspec.Struct, frozen=True):
    """Parts of a line that belong together, what a click on them does, and the gap before them, of which the first of a
    line keeps one blank.
    """

    parts: Sequence[Part]
    act: Act | None = None
    gap: str = "   "

    @property
    def size(self) -> int:
        """The width in cells, without the gap."""
        return parts_width(self.parts)


def complete(theme: Theme, overrides: Mapping[str, str] | None = None) -> Theme:
    """Return the theme with all of the program's variables, and with styles for Textual's widgets that match.

    The theme's own values are kept; `overrides` take precedence over all.
    """
    values = theme.to_color_system().generate()
    own = _own_variables(theme, values)
    values |= own
    widgets = {name: values[source] for name, source in _WIDGETS.items()} | (_ANSI if theme.ansi else {})
    return replace(theme, variables=widgets | own | theme.variables | dict(overrides or {}))


def _own_variables(theme: Theme, generated: Mapping[str, str]) -> dict[str, str]:
    """Return all our variables: as given, else derived from the colours that Textual has `generated`."""
    values = dict(generated)
    if theme.ansi:
        shades = dict.fromkeys(("muted", "rule", "cursor-background"), values["foreground"])
    else:
        front, ground, primary = (Color.parse(values[name]) for name in ("foreground", "background", "primary"))
        shades = {
            "muted": front.blend(ground, 0.25).hex6,
            "rule": ground.blend(front, 0.25).hex6,
            "cursor-background": ground.blend(primary, 0.15).hex6,
        }
    dim = "dim" if theme.ansi else "none"
    styles = {"muted-style": dim, "rule-style": dim, "cursor-style": "bold" if theme.ansi else "none"}
    values |= shades | styles | theme.variables
    roles = {name: values[source] for name, source in _ROLES.items()}
    known = [(roles | values).get(name, "ansi_green") for name in _URGENT]
    roles["urgent"] = next(color for color in known if not is_green(color))
    return shades | styles | roles | {name: value for name, value in theme.variables.items() if name in OWN}


def is_green(color: str) -> bool:
    """Return whether a colour's hue is from yellow-green to teal; greys have no hue."""
    if color.startswith("ansi_"):
        return color.removeprefix("ansi_bright_").removeprefix("ansi_") in ("green", "cyan")
    hsl = Color.parse(color).hsl
    return hsl.s > 0.1 and _GREEN[0] <= hsl.h <= _GREEN[1]


@cache
def variable_defaults() -> dict[str, str]:
    """Return a value for each of our variables, for `App.get_theme_variable_defaults`.

    The App makes its styles before it has one of our themes, which set all of them: no default is seen.
    """
    grey = "#808080"
    return _own_variables(Theme("grey", primary=grey), dict.fromkeys(COLORS, grey))
