"""The parsers of the command line: the layout of `--help`, commands, and their actions (`jobs run JOB`)."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple, NoReturn

from tui_tasks import __version__
from tui_tasks.cli.command_table import COMMANDS, DAILY, EXAMPLES, SCREEN, Command
from tui_tasks.cli.options import USAGE, declare_options
from tui_tasks.core import vocab
from tui_tasks.text.safe import safe_line

_EPILOG = (
    "Without a command: the screen. `tui-tasks help first-day` is a guide of 15 minutes, `tui-tasks help commands` "
    "lists all commands, `tui-tasks COMMAND --help` shows one. Options may stand before a command, too. "
    "JSON lines on standard input come from an agent; the screen stays on the terminal.\n\n"
    "Exit status: 0 done, 1 refused, 2 wrong usage, 130 interrupted."
)


_OTHER_WORDS: Final = {
    "add": "new",
    "create": "new",
    "delete": "rm",
    "remove": "rm",
    "modify": "edit",
    "todotxt": "todo.txt",
    **vocab.STATUSES_ELSEWHERE,
}
"""Words that other commands, or other programs, have for actions, statuses and formats."""
_OTHER_OPTIONS: Final = {
    "--as": "--agent",
    "--name": "--agent",
    "--user": "--agent",
    "--database": "--db",
    "--file": "--db",
    "-v": "--version",
    "-V": "--version",
    "--cron": "--when",
    "--schedule": "--when",
}
"""Words of other programs for options."""
_IN_WORDS: Final = {
    "--priority": "!high",
    "--prio": "!high",
    "--tag": "#tag",
    "--tags": "#tag",
    "--due": "due:fri",
    "--sort": "sort:due",
}
"""What stands among the words of a task or a filter, where other programs have options."""
_CHOICE: Final = re.compile(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
"""What argparse says of a word that is none of the choices of an argument."""
_NUMBER: Final = re.compile(r"argument (\S+): invalid int value: '(.*)'", re.DOTALL)
_NO_HELP: Final = re.compile(r"argument -h/--help: ignored explicit argument '(.*)'", re.DOTALL)
"""What argparse says of a word that begins with -h, such as -home."""


class _Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong, and which word of several is meant."""

    def error(self, message: str) -> NoReturn:
        if (no_help := _NO_HELP.fullmatch(message)) is not None:
            exit_unrecognized(self, self.prog, [f"-h{no_help[1]}"])
        message = _NUMBER.sub(r"\1 takes a whole number, not \2", message)
        choice = _CHOICE.fullmatch(message)
        if choice is None:
            self.exit(USAGE, f"{self.prog}: {safe_line(message, 200)}; `{self.prog} --help` lists what it takes\n")
        name, word, listed = choice.groups()
        words = [one.strip("'") for one in listed.split(", ")]
        near = [meant] if (meant := _OTHER_WORDS.get(word)) in words else get_close_matches(word, words, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        said = f"no {name.lower()} {safe_line(word, 40)}.{hint} Choose from {', '.join(words)}"
        self.exit(USAGE, f"{self.prog}: {said}\n")


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


def parser(name: str | None = None, *, whole: bool = False) -> argparse.ArgumentParser:
    """Return the parser of the program.

    Only the named command gets its arguments, or all commands with `whole`: declaring arguments imports the command's
    modules, which takes longer than most commands run.
    """
    made = _Parser(
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


def _add(commands: argparse._SubParsersAction[_Parser], command: Command, *, declares: bool) -> None:
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


def exit_unrecognized(parser: argparse.ArgumentParser, called: str, words: Sequence[str]) -> NoReturn:
    """End the process as wrong usage, and say what unknown words of a command may have meant.

    `parser` is that of the command, or of its action; `called` is how the command is called.
    """
    unknown = safe_line(" ".join(words), 60)
    meant = safe_line(_meant(parser, called.removeprefix("tui-tasks "), words), 60)
    hint = f": did you mean {meant}?" if meant else ";"
    parser.exit(USAGE, f"{called}: unrecognized arguments: {unknown}{hint} `{called} --help` lists what it takes\n")


def _meant(parser: argparse.ArgumentParser, command: str, words: Sequence[str]) -> str:
    """Return what an unknown option may have meant among those of a command; empty if nothing is near."""
    if command == "ls" and words[0] in ("-n", "--limit"):
        return "| head"
    if command == "ls" and words[0].startswith("-") and words[0][1:].isalnum():
        return f"-#{words[0][1:]}"
    if command == "export" and not words[0].startswith("-"):
        return f"> {words[0]}"
    option = next((word.partition("=")[0] for word in words if word.startswith("--") or word in _OTHER_OPTIONS), "")
    known = [option for action in parser._actions for option in action.option_strings]
    if not option or (meant := _OTHER_OPTIONS.get(option)) in known:
        return meant if option and meant else ""
    if option in _IN_WORDS and command in ("add", "edit", "ls"):
        return _IN_WORDS[option]
    return next(iter(get_close_matches(option, known, 1, 0.75)), "")
