"""Finds the project of a folder (docs: protocol, section 5) in `.tui-tasks.toml`, there or in a folder above.

The file is committed with the project, so anybody may have written it: it names the project and no programs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tui_tasks.core.errors import InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = ".tui-tasks.toml"
_MOST_BYTES: Final = 64 * 1024
_NAME: Final = r"[^\W_][\w.-]{0,63}"
_REMOTE: Final = r"(?m)^\s*url\s*=\s*(\S+)"


class ProjectRefused(InvalidRequest):
    """A project cannot have that name, or its file cannot be used."""


def checked(name: str) -> str:
    """Return a project's name.

    Raises:
        ProjectRefused: it is none: 1 to 64 letters, digits, `.`, `-` and `_`, of which the first is a letter or digit.
    """
    if not re.fullmatch(_NAME, name):
        raise ProjectRefused(
            f"no project can be called {name[:64]!r}: up to 64 letters, digits, dots, - and _, beginning with a letter "
            "or digit"
        )
    return name


def of_process(named: str | None) -> str | None:
    """Return the named project, else that of `TUI_TASKS_PROJECT`, else of the folder; None outside any.

    An empty name means no project.

    Raises:
        ProjectRefused: the name is none, or the folder's file cannot be used.
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
            held = tomllib.loads(opened.read(_MOST_BYTES).decode())
    except (OSError, ValueError) as error:  # tomllib's errors and those of UTF-8 are ValueErrors
        raise ProjectRefused(f"{file} cannot be used ({error}): tui-tasks init writes one") from error
    name = held.get("project")
    if not isinstance(name, str):
        raise ProjectRefused(f'{file} names no project: write project = "NAME" into it')
    return checked(name)


def proposed(folder: Path) -> str:
    """Return a project name for a folder: the last part of its git remote, else the name of its work tree, else its
    own.

    Git's files are read without running git, as the folder may be anybody's.
    """
    tree = _work_tree(folder)
    names = [*_remotes(tree), tree.name] if tree is not None else [folder.name]
    cleaned = (re.sub(r"[^\w.-]+", "-", name).strip("-._")[:64] for name in names)
    return next((name for name in cleaned if name), "project")


def _work_tree(folder: Path) -> Path | None:
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def _remotes(tree: Path) -> Iterator[str]:
    try:
        text = (tree / ".git" / "config").read_bytes()[:_MOST_BYTES].decode(errors="replace")
    except OSError:  # a linked work tree, whose `.git` is a file
        return
    for url in re.findall(_REMOTE, text):
        yield re.split(r"[/:]", url.rstrip("/").removesuffix(".git"))[-1]


def init(folder: Path, name: str) -> Path:
    """Write the file that makes a folder part of a project; return its path.

    Raises:
        ProjectRefused: the name is none, or there is such a file already.
        OSError: it cannot be written.
    """
    file = folder / FILE
    text = (
        "# Tasks of agents and people in this folder belong to this project (tui-tasks help protocol, Lists).\n"
        f'project = "{checked(name)}"\n'
    )
    try:
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError as error:
        raise ProjectRefused(f"{file} is there already") from error
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(text)
    return file
