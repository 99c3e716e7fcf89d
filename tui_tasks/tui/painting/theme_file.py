"""Theme files: one TOML file for each theme, shipped in `themes/` or the user's own, and the one that is applied.
Mistakes are reported with their lines.

A file has four tables. `[colors]` holds Textual's own colours (`primary`, `background` ...), `[states]` the colours of
states, `[parts]` other colours as named in `styles`, and `[variables]` any other of Textual's theme variables.
Only `primary`, `foreground` and `background` are required: the rest is derived from them. All are available in TCSS and
in Content styles: `$state-done`, `$muted`, `$cursor-background`.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui_tasks import regular_files
from tui_tasks.tui.painting.styles import COLORS, PARTS, REQUIRED, STATES, complete

_MAX_BYTES: Final = 64 * 1024
NAME: Final = r"[a-z0-9][a-z0-9-]{0,39}"
_STYLE = r"((^| +)(not +)?(none|bold|b|dim|d|italic|i|underline|u|reverse|r|strike))+"
_COLOR_VALUE = r"(?P<color>\S+(?:\([^)]*\))?)(?: +\d{1,3}%)?"


class ThemeProblem(msgspec.Struct, frozen=True):
    """A mistake in a theme file, and its place."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def read(file: Path, problems: list[ThemeProblem]) -> Theme | None:
    """Read one file, and append its mistakes to `problems`; return None when it makes no theme."""
    try:
        data = regular_files.read_regular(file, _MAX_BYTES)
        text = data.decode()
        document = tomllib.loads(text)
    except OSError as error:
        problems.append(ThemeProblem(str(file), 1, f"cannot be read: {error.strerror}"))
    except tomllib.TOMLDecodeError as error:
        problems.append(ThemeProblem(str(file), _line_in(str(error), text), str(error)))
    except UnicodeDecodeError as error:
        problems.append(ThemeProblem(str(file), data.count(b"\n", 0, error.start) + 1, "not UTF-8"))
    except (ValueError, RecursionError) as error:
        problems.append(ThemeProblem(str(file), 1, str(error)))
    else:
        reader = _Reader(str(file), text, problems)
        return reader.theme(file.name.removesuffix(".toml"), document)
    return None


def _line_in(message: str, text: str) -> int:
    """Return the line that tomllib's message names; it names none at the end of the document."""
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else max(1, len(text.splitlines()))


class _Reader:
    """Converts a parsed file, and reports each mistake with its line."""

    def __init__(self, path: str, text: str, problems: list[ThemeProblem]) -> None:
        self.path = path
        self._text = text
        self.problems = problems
        self.ansi = False

    def wrong(self, table: str, key: str, message: str) -> None:
        """Add a problem at the line of `key`, else of its table, else line 1."""
        lines = _lines_of_keys(self._text)
        places = ((table, key), (table, ""), ("", table)) if table else (("", key), (key, ""))
        line = next((lines[place] for place in places if place in lines), 1)
        self.problems.append(ThemeProblem(self.path, line, message))

    def theme(self, stem: str, document: dict[str, Any]) -> Theme | None:
        """Return the theme; None when something required is missing."""
        self.unknown("", document, ("name", "dark", "ansi", "colors", "states", "parts", "variables"))
        name = document.get("name", stem)
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
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
        """Report unknown keys, each with the most similar known one."""
        known = list(known)
        for key in entries:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = (
                    f"; did you mean {near[0]!r}?" if near else f"; use one of {', '.join(known)}" * (len(known) < 20)
                )
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
        """Return the entries of [variables] that Textual uses and that do not break its CSS."""
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
    """Return why `value` cannot be a colour of a theme; empty when it can."""
    try:
        color = Color.parse(value)
    except (ColorParseError, ValueError) as error:
        return str(error)
    if (color.ansi is not None) != ansi:
        return "only the terminal's own colours (ansi_red ...)" if ansi else "ansi_ colours need ansi = true"
    return "a colour here is opaque" if color.a < 1 else ""


def _variable_fault(key: str, value: str, usual: str) -> str:
    """Return why `value` cannot replace the `usual` one in Textual's CSS; empty when it can."""
    if key.endswith("-style") or "-style-" in key:
        fits = re.fullmatch(_STYLE, value)
        return "" if fits else "a text style: none, bold, dim, italic, underline, reverse or strike"
    shape = re.fullmatch(_COLOR_VALUE, value)
    # If Textual's own value has none of these words, its CSS may not accept them.
    if shape and shape["color"] in ("auto", "initial") and usual.startswith(shape["color"]):
        return ""
    try:
        Color.parse(shape["color"] if shape else value)
    except (ColorParseError, ValueError) as error:
        return str(error)
    return ""


def _lines_of_keys(text: str) -> dict[tuple[str, str], int]:
    """Return the line of each (table, key) and, without key, of each table, as found by a simple scan."""
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


DEFAULT: Final = "dark"
NO_COLOR: Final = "ansi"
"""The theme for NO_COLOR: give `ansi_color=True` to the App as well, or Textual paints in greys."""


def load(user_folder: Path | None = None) -> tuple[dict[str, Theme], list[ThemeProblem]]:
    """Return the shipped themes and those in `user_folder` by name, the default first, and the mistakes in them.

    A user's theme replaces a shipped one of the same name. A file that cannot be used is skipped; a value that cannot
    be used is dropped, and derived from the others.
    """
    problems: list[ThemeProblem] = []
    themes: dict[str, Theme] = {}
    for folder in (shipped_folder(), user_folder):
        here: dict[str, Theme] = {}
        for file in _files(folder, problems):
            theme = read(file, problems)
            if theme is None:
                continue
            if theme.name in here:
                problems.append(ThemeProblem(str(file), 1, f"another file here is named {theme.name!r} too"))
            here.setdefault(theme.name, theme)
        themes |= here
    return dict(sorted(themes.items(), key=lambda item: (item[0] != DEFAULT, item[0]))), problems


def find(name: str, user_folder: Path | None = None) -> Theme | None:
    """Return only the theme of a name, if its file has that name: a start needs no other."""
    for folder in (user_folder, shipped_folder()) if re.fullmatch(NAME, name) else ():
        with contextlib.suppress(OSError):
            file = folder.joinpath(f"{name}.toml") if folder is not None else None
            if file is not None and file.is_file() and (theme := read(file, [])) and theme.name == name:
                return theme
    return None


def shipped_folder() -> Path:
    """Return the folder of shipped themes, in the installed package or else in the checkout."""
    # Without importlib.resources, whose import takes longer than reading the one theme that a start needs.
    packaged = Path(__file__).parents[2] / "themes"
    checkout = Path(__file__).parents[3]
    if not packaged.is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / "themes"
    return packaged


def _files(folder: Path | None, problems: list[ThemeProblem]) -> list[Path]:
    try:
        if folder is None or not folder.is_dir():
            return []
        entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml") and entry.is_file()]
    except OSError as error:
        problems.append(ThemeProblem(str(folder), 1, f"cannot be read: {error.strerror}"))
        return []
    return sorted(entries, key=lambda entry: entry.name)


class ThemeManager:
    """Loads and applies themes. Once loaded, `names` are those to choose from, `problems` the mistakes in the human's
    own.
    """

    def __init__(self, app: App[Any], user_themes: Path | None, settings: Path | None) -> None:
        """`app` is the App to which themes are applied; `settings` is the file in which a choice is kept."""
        self.names: tuple[str, ...] = ()
        self.problems: Sequence[object] = ()
        self._app = app
        self._user_themes = user_themes
        self._settings = settings
        self._is_loaded = False

    @property
    def has_user_themes(self) -> bool:
        """Whether the human has a folder of themes."""
        return self._user_themes is not None and self._user_themes.is_dir()

    @property
    def current(self) -> str:
        """The name of the theme that is applied."""
        return self._app.theme

    def apply(self, name: str) -> None:
        """Apply a loaded theme."""
        self._app.theme = name

    def apply_first(self, name: str) -> None:
        """Apply a theme, without reading others if it can be found by its file's name."""
        app, theme = self._app, find(name, self._user_themes)
        if theme is None:
            self.load()
            if name not in self.names:
                missing = f"no usable theme {name!r}; using {DEFAULT!r}"
                self.problems = [*self.problems, missing]
                name = DEFAULT
        else:
            app.register_theme(theme)
        if not app.is_running and app.current_theme.dark and theme is not None and theme.dark and not theme.ansi:
            # It changes between dark themes before anything is styled, so nothing has to be styled again.
            app.set_reactive(App.theme, name)
            app.stylesheet.set_variables(app.get_css_variables())
        else:
            app.theme = name

    def load(self) -> None:
        """Read all themes, for the choice of one."""
        if self._is_loaded:
            return
        self._is_loaded = True
        themes, problems = load(self._user_themes)
        self.names = tuple(themes)
        for theme in themes.values():
            if theme.name != self._app.theme:
                self._app.register_theme(theme)
        self.problems = problems

    async def keep(self, name: str, say: Callable[[str], None]) -> None:
        """Apply a theme, write it to the settings file, if there is one, for the next start, and tell the human."""
        from tui_tasks.settings import config

        self._app.theme = name
        if self._settings is None:
            return
        try:
            await asyncio.to_thread(config.keep_theme, self._settings, name)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            say(f"Theme {name} until you leave: {self._settings} cannot be changed ({why}).")
        else:
            say(f"Theme {name}, kept in {self._settings}.")
