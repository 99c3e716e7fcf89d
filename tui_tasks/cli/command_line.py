"""The parser of the command line, and running one: check who may run it, run it. Each command imports only what it
needs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tui_tasks import __version__
from tui_tasks.cli import person, streams
from tui_tasks.cli.command_table import COMMANDS, DAILY, EXAMPLES, SCREEN, Command
from tui_tasks.cli.options import (
    INTERRUPTED,
    REFUSED,
    USAGE,
    check_speaker,
    declare_options,
    parse,
    print_refusal,
    table_of,
)
from tui_tasks.cli.plain_words import NeedsParser, WordReader

if TYPE_CHECKING:
    import argparse

# The parser of the command line.


_EPILOG = (
    "All commands: tui-tasks help commands. One command: tui-tasks COMMAND --help. Its options may also precede it. "
    "JSON lines on standard input are an agent's control channel; the screen stays on the terminal.\n\n"
    "Exit status: 0 done, 1 refused, 2 wrong usage, 130 interrupted."
)


def parser(name: str | None = None, *, whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of the program.

    Only the named command gets its arguments, or all commands with `whole`: declaring arguments imports the command's
    modules, which takes longer than most commands run.
    """
    import argparse

    from tui_tasks.cli.command_parser import help_format

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
    if name in COMMANDS and not whole:
        _add(commands, COMMANDS[name], declares=True)
        return made

    for command in COMMANDS.values():
        _add(commands, command, declares=whole)
        if not whole and command.name not in DAILY:
            commands._choices_actions.pop()
    return made


def _add(commands: argparse._SubParsersAction[argparse.ArgumentParser], command: Command, *, declares: bool) -> None:
    import argparse

    from tui_tasks.cli.command_parser import help_format

    # `call` prints its own help, with the tools.
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
        added.epilog = _with_examples(command.name, added.epilog)


def _with_examples(name: str, epilog: str | None) -> str | None:

    if name not in EXAMPLES:
        return epilog
    lines = EXAMPLES[name].splitlines()
    examples = "\n".join([f"example{'s' if len(lines) > 1 else ''}:", *(f"  {line}" for line in lines)])
    return f"{epilog}\n\n{examples}" if epilog else examples


def command_of(arguments: Sequence[str]) -> str | None:
    """Return the word that is the command; None if there is none, or an unknown option comes before it."""
    if arguments[:1] and not arguments[0].startswith("-"):
        return arguments[0]
    options = _shared_alone(arguments)
    others = options[1] if options is not None else []
    return others[0] if others and not others[0].startswith("-") else None


def unknown_option(arguments: Sequence[str]) -> str | None:
    """Return an unknown option before a command, which would be blamed for it; None if there is none."""
    options = None if arguments[:1] and not arguments[0].startswith("-") else _shared_alone(arguments)
    first, *others = (options[1] if options is not None else []) or [""]
    is_known = not first.startswith("--") or any(each.startswith(first) for each in ("--help", "--version"))
    return first if not is_known and any(word in COMMANDS for word in others) else None


def screen_alone(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return the options if only the screen is asked for; None if the whole parser is needed.

    Making the whole parser takes longer than everything else before the screen appears.
    """
    if arguments[:1] and not arguments[0].startswith("-"):
        return None
    shared = _shared_alone(arguments)
    if shared is None or shared[1]:
        return None
    options = shared[0]
    is_bounded = options.agent_only is not None or options.list_only is not None
    return None if is_bounded or not all(word.isascii() for word in arguments) else options


def _shared_alone(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]] | None:
    """Parse the screen's options; return them with the other words, or None if they are wrong."""
    import argparse

    from tui_tasks.cli.command_parser import help_format

    made = argparse.ArgumentParser(formatter_class=help_format, add_help=False, allow_abbrev=False, exit_on_error=False)
    declare_options(made, SCREEN.options, None)
    made.set_defaults(command=SCREEN, tools=None)
    try:
        return made.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None


def words_alone(arguments: Sequence[str]) -> Any:
    """Return the options of a short command that is given words alone; None if the parser is needed."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None or not command.is_short:
        return None
    words = WordReader()
    try:
        declare_options(words, SCREEN.options, None)
        words.set_defaults(command=command, tools=None)
        command.load().declare(command.name, words)
        return SimpleNamespace(**words.read(arguments[1:]))
    except NeedsParser:
        return None


def is_short(arguments: Sequence[str]) -> bool:
    """Return whether the command's process is short-lived."""
    name = command_of(arguments)
    return name in COMMANDS and COMMANDS[name].is_short


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit status."""
    from tui_tasks.core.errors import DatabaseRefused, Refusal

    name = command_of(arguments)
    if name is not None and name not in COMMANDS:
        return _print_unknown_command(name)
    if name is None and (option := unknown_option(arguments)) is not None:
        from tui_tasks.text.safe import safe_line

        print(f"tui-tasks: no option {safe_line(option, 40)}; `tui-tasks --help` lists them", file=sys.stderr)
        return USAGE
    try:
        # Inside the `try`: declaring a command imports its modules, and importing refuses a missing or unsafe SQLite.
        return _run_command(words_alone(arguments) or screen_alone(arguments) or parse(parser(name), arguments))
    except (DatabaseRefused, Refusal) as refused:
        print_refusal(refused)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _print_unknown_command(name: str) -> int:
    from difflib import get_close_matches

    from tui_tasks.text.safe import safe_line

    near = get_close_matches(name, COMMANDS, 3)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    print(f"tui-tasks: no command {safe_line(name, 40)}.{meant} `tui-tasks --help` lists them", file=sys.stderr)
    return USAGE


def _run_command(options: argparse.Namespace) -> int:
    from tui_tasks.core.errors import InvalidRequest
    from tui_tasks.settings import project

    if not options.command.is_screen:
        streams.prepare()
    try:
        check_speaker(options)
        if options.project:
            project.checked(options.project)
        if getattr(options, "tools", None) is not None:
            table_of(options)
        person.check(options)
    except InvalidRequest as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return USAGE
    status: int = options.command.load().run(options.command.name, options)
    return status
