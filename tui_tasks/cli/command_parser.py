"""Parts of the command line's parsers: the layout of `--help`, and commands with actions (`tui-tasks jobs run JOB`)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.options import declare_options


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps each line of a text separately, so that examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n".join(
            fill(line, width, indent + " " * (len(line) - len(line.lstrip()))) for line in text.splitlines()
        )


def help_format(prog: str) -> argparse.HelpFormatter:
    """Return a formatter as wide as the terminal, without importing shutil as argparse does for the width."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size().columns
    except OSError:
        width = 80
    return _HelpFormatter(prog, width=max(width, 40) - 2)


class CommandAction(NamedTuple):
    """An action of a command.

    Attributes:
        help: its line in `--help`.
        declare: declares its arguments.
        run: runs it with the parsed options.
    """

    help: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def declare_actions(name: str, command: argparse.ArgumentParser, actions: Mapping[str, CommandAction]) -> None:
    """Declare the actions of a command, each with its shared options and `--json`."""
    command.set_defaults(action=None)
    command.add_argument("--json", action="store_true", help="print JSON")
    parsers = command.add_subparsers(title="actions", metavar="ACTION", dest="action")
    for word, action in actions.items():
        help_text = f"{action.help[0].upper()}{action.help[1:]}."
        added = parsers.add_parser(word, help=action.help, description=help_text, formatter_class=help_format)
        action.declare(added)
        added.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        declare_options(added, COMMANDS[name].options, argparse.SUPPRESS)


def words(**each: str) -> Callable[[argparse.ArgumentParser], None]:
    """Return a function that declares arguments by name, each with its help; if that begins with `?` it is optional."""

    def declare(command: argparse.ArgumentParser) -> None:
        for name, help_text in each.items():
            nargs = "?" if help_text.startswith("?") else None
            command.add_argument(name, metavar=name.upper(), nargs=nargs, help=help_text.removeprefix("?"))

    return declare
