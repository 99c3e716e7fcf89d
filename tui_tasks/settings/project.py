"""Finds the project of a folder (docs: protocol, section 5) in `.tui-tasks.toml`, there or in a folder above.

The file is committed with the project, so anybody may have written it: it names the project and no programs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from tui_tasks import regular_files
from tui_tasks.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def is_without(named: str | None) -> bool:
    """Return whether the working directory is in a git repository that has no project, and no project is named.

    Such a folder shares its lists with all folders without a project, which a person may not expect.
    """
    if named is not None or "TUI_TASKS_PROJECT" in os.environ:
        return False
    try:
        folder = os.getcwd()
    except OSError:  # the folder was deleted
        return False
    return work_tree(folder) is not None and of_folder(folder) is None


def work_tree(folder: str | Path) -> str | None:
    """Return the git work tree that a folder is in; None if it is in none."""
    return next((place for place in _upwards(folder) if os.path.exists(os.path.join(place, ".git"))), None)


def of_folder(folder: str | Path) -> str | None:
    """Return the project in the nearest `.tui-tasks.toml`, in a folder or above it; None without one.

    A git work tree that has no such file takes that of its repository's main work tree: the file may not be committed
    yet, or be younger than the branch. A file of another user is skipped, as anybody could put one above a shared
    folder.

    Raises:
        ProjectRefused: the file cannot be read, or names no project.
    """
    linked = None
    for place in _upwards(folder):
        if _is_trusted(file := os.path.join(place, FILE)):
            return _read(file)
        linked = linked or _main_tree(place)
    file = os.path.join(linked, FILE) if linked else ""
    return _read(file) if file and _is_trusted(file) else None


def _upwards(folder: str | Path) -> Iterator[str]:
    place, above = "", os.path.abspath(folder)
    while place != above:
        place, above = above, os.path.dirname(above)
        yield place


def _is_trusted(file: str) -> bool:
    try:
        return os.stat(file).st_uid in (os.geteuid(), 0)
    except OSError:
        return False


def _main_tree(place: str) -> str | None:
    """Return the main work tree of the repository whose linked work tree a folder is (gitrepository-layout(5)); None if
    it is none.

    Git's files are read without running git, as the folder may be anybody's.
    """
    pointer = os.path.join(place, ".git")
    if not os.path.isfile(pointer) or not _is_trusted(pointer):
        return None
    try:
        of_tree = regular_files.read_text(pointer, MAX_BYTES).removeprefix("gitdir:").strip()
        of_tree = os.path.join(place, of_tree)
        common = regular_files.read_text(os.path.join(of_tree, "commondir"), MAX_BYTES).strip()
    except (OSError, ValueError):  # a submodule has a pointer, and no common folder
        return None
    repository = os.path.normpath(os.path.join(of_tree, common))
    return os.path.dirname(repository) if os.path.basename(repository) == ".git" else None


def _read(file: str) -> str:
    import tomllib

    try:
        held = tomllib.loads(regular_files.read_text(file, MAX_BYTES))
    except (OSError, ValueError) as error:  # tomllib's errors and those of UTF-8 are ValueErrors
        why = regular_files.reason(error)
        raise ProjectRefused(
            f"{file} cannot be used: {why}; correct it, or remove it and run tui-tasks init"
        ) from error
    name = held.get("project")
    if not isinstance(name, str):
        raise ProjectRefused(f'{file} names no project: write project = "NAME" into it')
    return checked(name)
