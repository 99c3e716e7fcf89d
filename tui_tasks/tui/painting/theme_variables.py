"""The variables of a theme: Textual's and ours, with the defaults that apply where a theme does not set them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

_FRONT: Final = ("primary", "secondary", "accent", "success", "warning", "error", "foreground")
COLORS: Final = (*_FRONT, "background", "surface", "panel")
REQUIRED: Final = ("primary", "foreground", "background")
STATES: Final = ("pending", "in-progress", "needs-you", "blocked", "done", "failed", "skipped", "overdue")
PARTS: Final = ("muted", "key", "changed", "urgent", "rule", "cursor-text", "cursor-background")
STYLES: Final = ("muted-style", "cursor-style")
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


def complete(theme: Theme, overrides: Mapping[str, str] | None = None) -> Theme:
    """Return `theme` with a value for every variable of ours, and Textual's widgets styled to match.

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
    styles = {"muted-style": "dim" if theme.ansi else "none", "cursor-style": "bold" if theme.ansi else "none"}
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

    The App reads its CSS before it has one of our themes.
    """
    theme = BUILTIN_THEMES["textual-dark"]
    return _own_variables(theme, theme.to_color_system().generate())
