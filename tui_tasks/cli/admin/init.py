"""`init`: makes the current folder a project's (docs: protocol, section 5)."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tui_tasks import regular_files
from tui_tasks.cli.options import REFUSED
from tui_tasks.settings import paths, project
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count

_MAX_CONFIG_BYTES: Final = 1024 * 1024
_REMOTE: Final = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)


def declare(_: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    command.add_argument(
        "name", metavar="NAME", nargs="?", help="the project (else the git remote's, else the folder's)"
    )


def run(_: str, options: argparse.Namespace) -> int:
    """Write `.tui-tasks.toml`; return the exit status."""
    folder = Path.cwd()
    name = options.name or options.project or proposed(folder)
    try:
        file = write_project_file(folder, name)
    except OSError as error:
        print(f"tui-tasks init: {folder / project.FILE} cannot be written: {error.strerror}", file=sys.stderr)
        return REFUSED
    print(f"{safe_line(str(file))}: this folder belongs to the project {name} now. Commit the file.")
    if (known := _tasks_of(name)) is not None:
        print(
            f"tui-tasks init: the database has a project {name} already, with {count(known, 'task')}: "
            f"this folder shares it. If it is another project, write another name into {project.FILE}.",
            file=sys.stderr,
        )
    return 0


def _tasks_of(name: str) -> int | None:
    """Return how many tasks a project has in the database of this process; None where it is not known there."""
    database = paths.database(None)
    if not Path(database).exists():
        return None
    from tui_tasks.core.read.tasks import task_queries
    from tui_tasks.core.store import Store

    with Store(database, read_only=True) as store:
        found = task_queries.lists(store.db, name)
        return sum(home.total for home in found) if found else None


def proposed(folder: Path) -> str:
    """Return a project name for a folder: the last part of its git remote, else the name of its work tree, else its
    own.

    Git's files are read without running git, as the folder may be anybody's.
    """
    tree = project.work_tree(folder)
    names = [*_remotes(Path(tree)), Path(tree).name] if tree is not None else [folder.name]
    cleaned = (re.sub(r"[^\w.-]+", "-", name).strip("-._")[:64] for name in names)
    return next((name for name in cleaned if name), "project")


def _remotes(tree: Path) -> Iterator[str]:
    try:
        text = regular_files.read_regular(tree / ".git" / "config", _MAX_CONFIG_BYTES).decode(errors="replace")
    except OSError:  # a linked work tree, whose `.git` is a file
        return
    for url in _REMOTE.findall(text):
        yield re.split(r"[/:]", url.rstrip("/").removesuffix(".git"))[-1]


def write_project_file(folder: Path, name: str) -> Path:
    """Write the file that makes a folder part of a project; return its path.

    Raises:
        ProjectRefused: the name is invalid, or the file exists.
        OSError: it cannot be written.
    """
    file = folder / project.FILE
    text = (
        "# Tasks of agents and people in this folder belong to this project (tui-tasks help protocol, Lists).\n"
        f'project = "{project.checked(name)}"\n'
    )
    try:
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError as error:
        raise project.ProjectRefused(f"{file} is there already") from error
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(text)
    return file
