"""Theme files: one TOML file for each theme, shipped in `themes/` or the user's own.

A file has four tables. `[colors]` holds Textual's own colours (`primary`, `background` ...), `[states]` the colours of
states, `[parts]` other colours as named in `theme_variables`, and `[variables]` any other of Textual's theme variables.
Only `primary`, `foreground` and `background` are required: the rest is derived from them. All are available in TCSS and
in Content styles: `$state-done`, `$muted`, `$cursor-background`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from textual.theme import Theme

from tui_tasks.tui.themes.theme_file import NAME, ThemeProblem, read

DEFAULT: Final = "dark"
NO_COLOR: Final = "ansi"
"""The theme for NO_COLOR: give `ansi_color=True` to the App as well, or Textual paints in greys."""


def load(user_folder: Path | None = None) -> tuple[dict[str, Theme], list[ThemeProblem]]:
    """Return the shipped themes and those in `user_folder` by name, the default first, and the mistakes in them.

    A user's theme replaces a shipped one of the same name. A file that cannot be used is skipped; a value that cannot
    be used is dropped, and derived from the others.
    """
    problems: list[ThemeProblem] = []
    found: dict[str, Theme] = {}
    for folder in (shipped_folder(), user_folder):
        here: dict[str, Theme] = {}
        for file in _files(folder, problems):
            theme = read(file, problems)
            if theme is None:
                continue
            if theme.name in here:
                problems.append(ThemeProblem(str(file), 1, f"another file here is named {theme.name!r} too"))
            here.setdefault(theme.name, theme)
        found |= here
    return dict(sorted(found.items(), key=lambda item: (item[0] != DEFAULT, item[0]))), problems


def find(name: str, user_folder: Path | None = None) -> Theme | None:
    """Return only the theme of a name, if its file has that name: a start needs no other."""
    for folder in (user_folder, shipped_folder()) if NAME.fullmatch(name) else ():
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
