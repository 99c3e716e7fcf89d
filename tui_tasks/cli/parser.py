"""The parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tui_tasks import __version__
from tui_tasks.cli.command_table import COMMANDS, SCREEN, Command
from tui_tasks.cli.options import declare_options, help_format

_EPILOG = (
    "Options before a command hold for it where it has them: `tui-tasks COMMAND --help` tells. With JSON lines on "
    "standard input, they are the control channel and the screen is the terminal.\n\n"
    "Exit status: 0 done, 1 refused, 2 wrong usage, 130 interrupted."
)


def parser(name: str | None = None, *, whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of the program.

    Only the command of that name has its arguments, or every one with `whole`: declaring them takes longer than most
    commands, as it imports their modules.
    """
    made = argparse.ArgumentParser(
        prog="tui-tasks",
        formatter_class=help_format,
        description="A human and AI agents work on the same live tasks, in a terminal.",
        epilog=_EPILOG,
    )
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    declare_options(made, SCREEN.options, None)
    made.set_defaults(command=SCREEN, tools=None)
    commands = made.add_subparsers(title="commands", metavar="COMMAND", prog=made.prog)
    for command in [COMMANDS[name]] if name in COMMANDS and not whole else COMMANDS.values():
        _add(commands, command, declares=whole or command.name == name)
    return made


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], command: Command, *, declares: bool) -> None:
    # `call` tells of the tools in its help, which argparse cannot know.
    added = commands.add_parser(
        command.name,
        help=command.help,
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        formatter_class=help_format,
        add_help=command.name != "call",
    )
    added.set_defaults(command=command)
    if declares:
        command.load().declare(command.name, added)
        declare_options(added, command.options, argparse.SUPPRESS)


def command_of(arguments: Sequence[str]) -> str | None:
    """Return the name of the command that is asked for, or None where it is the screen, or unknown."""
    if arguments[:1] and not arguments[0].startswith("-"):
        return arguments[0]
    found = _shared_alone(arguments)
    others = found[1] if found is not None else []
    return next((word for word in others if not word.startswith("-")), None)


def screen_alone(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return what was asked for where it is the screen and nothing else; None where the whole parser must tell.

    To make that one takes longer than all else that is done before the screen is.
    """
    if arguments[:1] and not arguments[0].startswith("-"):
        return None
    found = _shared_alone(arguments)
    if found is None or found[1]:
        return None
    options = found[0]
    is_bounded = options.agent_only is not None or options.list_only is not None
    return None if is_bounded or not all(word.isascii() for word in arguments) else options


def _shared_alone(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]] | None:
    """Take the options of the screen; return them with the other words, or None where they are wrong."""
    made = argparse.ArgumentParser(formatter_class=help_format, add_help=False, allow_abbrev=False, exit_on_error=False)
    declare_options(made, SCREEN.options, None)
    made.set_defaults(command=SCREEN, tools=None)
    try:
        return made.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None
