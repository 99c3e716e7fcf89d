"""Themes as data: one TOML file each, shipped in `themes/` or the user's own.

A file has four tables. `[colors]` are Textual's own (`primary`, `background` ...); `[states]` the colours of
the states and `[parts]` those of what is not a state, as named in `STATES` and `PARTS`; `[variables]` any other
of Textual's theme variables. Only `primary`, `foreground` and `background` are required: the rest follows from
them. All of it is at hand in TCSS and in Content styles: `$state-done`, `$muted`, `$cursor-background`.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from textual.app import App

DEFAULT: Final = "dark"
NO_COLOR: Final = "ansi"
"""The theme for NO_COLOR: give `ansi_color=True` to the App as well, or Textual paints in greys."""

_FRONT: Final = ("primary", "secondary", "accent", "success", "warning", "error", "foreground")
COLORS: Final = (*_FRONT, "background", "surface", "panel")
REQUIRED: Final = ("primary", "foreground", "background")
STATES: Final = ("pending", "in-progress", "needs-you", "blocked", "done", "failed", "skipped", "overdue")
PARTS: Final = ("muted", "changed", "rule", "cursor-text", "cursor-background")
STYLES: Final = ("muted-style", "cursor-style")
"""Text styles, for themes without the colours to say it: `text-style: $muted-style`."""
OWN: Final = frozenset({*(f"state-{state}" for state in STATES), *PARTS, *STYLES})
"""Every variable that is ours and not Textual's."""

_MAX_BYTES: Final = 64 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_STYLE = re.compile(r"((^| +)(not +)?(none|bold|b|dim|d|italic|i|underline|u|reverse|r|strike))+")
_COLOR_VALUE = re.compile(r"(?P<color>\S+(?:\([^)]*\))?)(?: +\d{1,3}%)?")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a theme file, and where."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def load(user_folder: Path | None = None) -> tuple[dict[str, Theme], list[Problem]]:
    """Return the shipped themes and those in `user_folder` by name, the default first, and what is wrong.

    A theme of the user's takes the place of a shipped one of that name. A file that cannot be used is passed
    over; a value that cannot be used is left out of its theme, and what follows from the others stands in.
    """
    problems: list[Problem] = []
    found: dict[str, Theme] = {}
    for folder in (shipped_folder(), user_folder):
        here: dict[str, Theme] = {}
        for file in _files(folder, problems):
            theme = _read(file, problems)
            if theme is None:
                continue
            if theme.name in here:
                problems.append(Problem(str(file), 1, f"another file here is named {theme.name!r} too"))
            here.setdefault(theme.name, theme)
        found |= here
    return dict(sorted(found.items(), key=lambda item: (item[0] != DEFAULT, item[0]))), problems


def find(name: str, user_folder: Path | None = None) -> Theme | None:
    """Return the theme of that name alone, where its file is named after it: a start needs no other."""
    for folder in (user_folder, shipped_folder()) if _NAME.fullmatch(name) else ():
        with contextlib.suppress(OSError):
            file = folder.joinpath(f"{name}.toml") if folder is not None else None
            if file is not None and file.is_file() and (theme := _read(file, [])) and theme.name == name:
                return theme
    return None


def shipped_folder() -> Path:
    """Return the folder of shipped themes: in the installed package, else in the checkout."""
    # Not by importlib.resources: to import that takes longer than to read the one theme that a start needs.
    packaged = Path(__file__).parents[1] / "themes"
    checkout = Path(__file__).parents[2]
    if not packaged.is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / "themes"
    return packaged


@cache
def variable_defaults() -> dict[str, str]:
    """Return a value for each variable of ours, for `App.get_theme_variable_defaults`.

    The App reads its CSS before it has any theme of ours.
    """
    theme = BUILTIN_THEMES["textual-dark"]
    return _own_variables(theme, theme.to_color_system().generate())


def _files(folder: Path | None, problems: list[Problem]) -> list[Path]:
    try:
        if folder is None or not folder.is_dir():
            return []
        entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml") and entry.is_file()]
    except OSError as error:
        problems.append(Problem(str(folder), 1, f"cannot be read: {error.strerror}"))
        return []
    return sorted(entries, key=lambda entry: entry.name)


def _read(file: Path, problems: list[Problem]) -> Theme | None:
    """Read one file, and add to `problems` what is wrong with it; return None where it makes no theme."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ValueError(f"larger than {_MAX_BYTES // 1024} KiB")
        text = data.decode()
        document = tomllib.loads(text)
    except OSError as error:
        problems.append(Problem(str(file), 1, f"cannot be read: {error.strerror}"))
    except tomllib.TOMLDecodeError as error:
        problems.append(Problem(str(file), _line_told(str(error), text), str(error)))
    except UnicodeDecodeError as error:
        problems.append(Problem(str(file), data.count(b"\n", 0, error.start) + 1, "not UTF-8"))
    except (ValueError, RecursionError) as error:
        problems.append(Problem(str(file), 1, str(error)))
    else:
        reader = _Reader(str(file), text, problems)
        return reader.theme(file.name.removesuffix(".toml"), document)
    return None


def _line_told(message: str, text: str) -> int:
    """Return the line that tomllib's message names; it names none at the end of the document."""
    told = re.search(r"at line (\d+)", message)
    return int(told[1]) if told else max(1, len(text.splitlines()))


class _Reader:
    """Takes a parsed file apart and tells each thing that is wrong with the line it is on."""

    def __init__(self, path: str, text: str, problems: list[Problem]) -> None:
        self.path = path
        self.lines = _lines_of_keys(text)
        self.problems = problems
        self.ansi = False

    def wrong(self, table: str, key: str, message: str) -> None:
        """Add a problem at the line of `key`, else of its table, else the first."""
        places = ((table, key), (table, ""), ("", table)) if table else (("", key), (key, ""))
        line = next((self.lines[place] for place in places if place in self.lines), 1)
        self.problems.append(Problem(self.path, line, message))

    def theme(self, stem: str, document: dict[str, Any]) -> Theme | None:
        """Return the theme, or None where what is required is missing."""
        self.unknown("", document, ("name", "dark", "ansi", "colors", "states", "parts", "variables"))
        name = document.get("name", stem)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self.wrong("", "name", "a name has small letters, digits and hyphens, 40 at most")
            return None
        self.ansi = self.flag(document, "ansi", False)
        dark = self.flag(document, "dark", True)
        colors = self.colors(document, "colors", COLORS)
        states = self.colors(document, "states", STATES)
        parts = self.colors(document, "parts", PARTS)
        missing = [key for key in REQUIRED if key not in colors]
        if missing:
            self.wrong("colors", "", f"[colors] needs {', '.join(missing)}")
            return None
        own = {f"state-{key}": value for key, value in states.items()} | parts
        fields: dict[str, Any] = {"name": name, "dark": dark, "ansi": self.ansi, **colors}
        bare = Theme(**fields)
        others = self.variables(document, complete(bare)) if "variables" in document else {}
        return complete(replace(bare, variables=own), others)

    def flag(self, document: Mapping[str, Any], key: str, otherwise: bool) -> bool:
        """Return a key that is true or false."""
        value = document.get(key, otherwise)
        if isinstance(value, bool):
            return value
        self.wrong("", key, f"{key} is true or false")
        return otherwise

    def table(self, document: Mapping[str, Any], name: str, known: Iterable[str]) -> dict[str, str]:
        """Return the entries of a table that have a known key and a string."""
        table = document.get(name, {})
        if not isinstance(table, dict):
            self.wrong("", name, f"{name} is a table: [{name}]")
            return {}
        self.unknown(name, table, known)
        strings = {}
        for key, value in table.items():
            if not isinstance(value, str):
                self.wrong(name, key, f"{key} is a string, in quotes")
            elif key in known:
                strings[key] = value
        return strings

    def unknown(self, table: str, entries: Mapping[str, Any], known: Iterable[str]) -> None:
        """Tell of keys that mean nothing, with the nearest that does."""
        known = list(known)
        for key in entries:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}" * (len(known) < 20)
                self.wrong(table, key, f"unknown key {key!r}{hint}")

    def colors(self, document: Mapping[str, Any], name: str, known: Iterable[str]) -> dict[str, str]:
        """Return the entries of a table that are opaque colours."""
        good = {}
        for key, value in self.table(document, name, known).items():
            fault = _color_fault(value, self.ansi)
            if fault:
                self.wrong(name, key, f"{key}: {fault}")
            else:
                good[key] = value
        return good

    def variables(self, document: Mapping[str, Any], like: Theme) -> dict[str, str]:
        """Return the entries of [variables] that Textual has a use for and that would not break its CSS."""
        usual = like.variables | replace(like, variables={}).to_color_system().generate()
        good = {}
        for key, value in self.table(document, "variables", usual).items():
            fault = _variable_fault(key, value, usual[key])
            if fault:
                self.wrong("variables", key, f"{key}: {fault}")
            else:
                good[key] = value
        return good


def _color_fault(value: str, ansi: bool) -> str:
    """Return what keeps `value` from being a colour of a theme, or nothing."""
    try:
        color = Color.parse(value)
    except (ColorParseError, ValueError) as error:
        return str(error)
    if (color.ansi is not None) != ansi:
        return "only the terminal's own colours (ansi_red ...)" if ansi else "ansi_ colours need ansi = true"
    return "a colour here is opaque" if color.a < 1 else ""


def _variable_fault(key: str, value: str, usual: str) -> str:
    """Return what keeps `value` from taking the place of the `usual` one in Textual's CSS, or nothing."""
    if key.endswith("-style") or "-style-" in key:
        fits = _STYLE.fullmatch(value)
        return "" if fits else "a text style: none, bold, dim, italic, underline, reverse or strike"
    shape = _COLOR_VALUE.fullmatch(value)
    # Where Textual itself does not write these words, its CSS has places that cannot take them.
    if shape and shape["color"] in ("auto", "initial") and usual.startswith(shape["color"]):
        return ""
    try:
        Color.parse(shape["color"] if shape else value)
    except (ColorParseError, ValueError) as error:
        return str(error)
    return ""


def _lines_of_keys(text: str) -> dict[tuple[str, str], int]:
    """Return the line of each (table, key) and, with no key, of each table, as far as a glance tells."""
    lines: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*[\"']?([\w-]+)", line):
            table = header[1]
            lines.setdefault((table, ""), number)
        elif entry := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*(?:\.\s*[\"']?([\w-]+)[\"']?\s*)?=", line):
            place = (entry[1], entry[2]) if entry[2] else (table, entry[1])
            lines.setdefault(place, number)
    return lines


# What each of our variables takes where a theme does not say, and Textual's own variables from ours or its others.
_ROLES: Final = {
    "state-pending": "foreground",
    "state-in-progress": "primary",
    "state-needs-you": "warning",
    "state-blocked": "secondary",
    "state-done": "success",
    "state-failed": "error",
    "state-skipped": "muted",
    "state-overdue": "accent",
    "changed": "accent",
    "cursor-text": "foreground",
}
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
    "footer-key-foreground": "changed",
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
# Where there are no shades to be had, and for what Textual's CSS needs but its ANSI themes leave out.
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
    """Return `theme` with a value for every variable of ours, and with Textual's widgets dressed to match.

    What the theme says stands; `overrides` stand above all.
    """
    values = theme.to_color_system().generate()
    own = _own_variables(theme, values)
    values |= own
    widgets = {name: values[source] for name, source in _WIDGETS.items()} | (_ANSI if theme.ansi else {})
    return replace(theme, variables=widgets | own | theme.variables | dict(overrides or {}))


def _own_variables(theme: Theme, generated: Mapping[str, str]) -> dict[str, str]:
    """Return every variable of ours: as given, else as it follows from the colours that Textual has `generated`."""
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
    return shades | styles | roles | {name: value for name, value in theme.variables.items() if name in OWN}


def install(app: App[Any], themes: Mapping[str, Theme], chosen: str = DEFAULT) -> None:
    """Give `app` these themes in place of all others, and put on `chosen`, else the first.

    Called after `App.__init__`, and again when files have changed. With no themes, the app keeps what it has.
    """
    if not themes:
        return
    name = chosen if chosen in themes else next(iter(themes))
    for theme in themes.values():
        app.register_theme(theme)
    if app.theme != name:
        app.theme = name
    elif app.is_running:
        app.refresh_css(animate=False)
    for other in set(app.available_themes) - set(themes):
        app.unregister_theme(other)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, from 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
