"""`init`: makes the current folder a project's (docs: protocol, section 5)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tui_tasks.cli.options import REFUSED
from tui_tasks.settings import project
from tui_tasks.text.safe import safe_line


def declare(_: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    command.add_argument(
        "name", metavar="NAME", nargs="?", help="the project (else the git remote's, else the folder's)"
    )


def run(_: str, options: argparse.Namespace) -> int:
    """Write `.tui-tasks.toml`; return the exit status."""
    folder = Path.cwd()
    name = options.name or options.project or project.proposed(folder)
    try:
        file = project.init(folder, name)
    except OSError as error:
        print(f"tui-tasks init: {folder / project.FILE} cannot be written: {error.strerror}", file=sys.stderr)
        return REFUSED
    print(f"{safe_line(str(file))}: this folder belongs to the project {name} now. Commit the file.")
    return 0
