"""Finds the project of a folder (docs: protocol, section 5) in `.tui-tasks.toml`, there or in a folder above.

The file is committed with the project, so anybody may have written it: it names the project and no programs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from tui_tasks.core.errors import InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = ".tui-tasks.toml"
MAX_BYTES: Final = 64 * 1024
_NAME: Final = r"[^\W_][\w.-]{0,63}"


class ProjectRefused(InvalidRequest):
    """A project cannot have that name, or its file cannot be used."""


def checked(name: str) -> str:
    """Return a project's name.

    Raises:
        ProjectRefused: it is invalid: not 1 to 64 letters, digits, `.`, `-` and `_`, beginning with a letter or digit.
    """
    if not re.fullmatch(_NAME, name):
        raise ProjectRefused(
            f"no project can be called {name[:64]!r}: up to 64 letters, digits, dots, - and _, beginning with a letter "
            "or digit"
        )
    return name


def of_process(named: str | None) -> str | None:
    """Return the named project, else that of `TUI_TASKS_PROJECT`, else that of the working directory; None outside any.

    An empty name means no project.

    Raises:
        ProjectRefused: the name is invalid, or the folder's file cannot be used.
    """
    named = named if named is not None else os.environ.get("TUI_TASKS_PROJECT")
    if named is not None:
        return checked(named) if named else None
    try:
        folder = os.getcwd()
    except OSError:  # the folder was deleted
        return None
    return of_folder(folder)


def of_folder(folder: str | Path) -> str | None:
    """Return the project in the nearest `.tui-tasks.toml`, in a folder or above it; None without one.

    A file of another user is skipped, as anybody could put one above a shared folder.

    Raises:
        ProjectRefused: the file cannot be read, or names no project.
    """
    place, above = "", os.path.abspath(folder)
    while place != above:
        place, above = above, os.path.dirname(above)
        file = os.path.join(place, FILE)
        try:
            owner = os.stat(file).st_uid
        except OSError:
            continue
        if owner in (os.geteuid(), 0):
            return _read(file)
    return None


def _read(file: str) -> str:
    import tomllib

    try:
        with open(file, "rb") as opened:
            held = tomllib.loads(opened.read(MAX_BYTES).decode())
    except (OSError, ValueError) as error:  # tomllib's errors and those of UTF-8 are ValueErrors
        raise ProjectRefused(f"{file} cannot be used ({error}): tui-tasks init writes one") from error
    name = held.get("project")
    if not isinstance(name, str):
        raise ProjectRefused(f'{file} names no project: write project = "NAME" into it')
    return checked(name)
