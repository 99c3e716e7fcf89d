"""The entry point of the command line: reads it, checks who may run the command, and runs it.

Each command imports only what it needs. A simple command line is read without argparse, whose import and parser take
a tenth of a short command.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tui_tasks import __version__
from tui_tasks.cli import person_rights, streams
from tui_tasks.cli.command_table import COMMANDS, SCREEN
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

if TYPE_CHECKING:
    import argparse


class NeedsParser(Exception):
    """The command line has an option, or is wrong usage, or the command declares what only argparse reads."""


class WordReader:
    """Takes the declarations of a command as `argparse.ArgumentParser` does, and reads words."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._declared: list[tuple[str, dict[str, Any]]] = []
        self._flags: dict[str, tuple[str, bool]] = {}

    def add_argument(self, *names: str, **given: Any) -> None:
        """Declare an argument; an option has its default."""
        name = names[-1]
        if not name.startswith("-"):
            self._declared.append((name, given))
            return
        if given.get("required"):
            raise NeedsParser
        dest = given.get("dest") or name.lstrip("-").replace("-", "_")
        self._flags[name] = dest, given.get("action") == "store_true"
        self._values[dest] = given.get("default", False if given.get("action") == "store_true" else None)

    def add_argument_group(self, _title: str) -> WordReader:
        """Return itself: groups are for `--help`."""
        return self

    def add_mutually_exclusive_group(self, *, required: bool) -> WordReader:
        """Return itself where no option of the group is needed."""
        if required:
            raise NeedsParser
        return self

    def set_defaults(self, **given: Any) -> None:
        """Set values that no word sets."""
        self._values |= given

    def get_default(self, name: str) -> Any:
        """Return a value of `set_defaults`."""
        return self._values.get(name)

    def format_help(self) -> str:
        """Leave the help to argparse."""
        raise NeedsParser

    def read_options(self, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the values of all arguments, and the words from the first on that is no option.

        Raises:
            NeedsParser: argparse must read the options, or one comes after such a word.
        """
        left, values = list(words), dict(self._values)
        while left and left[0] in self._flags:
            dest, is_flag = self._flags[left[0]]
            if not is_flag and not _is_plain("".join(left[1:2])):
                raise NeedsParser
            values[dest] = True if is_flag else left[1]
            del left[: 1 if is_flag else 2]
        if not all(map(_is_plain, left)):
            raise NeedsParser
        return values, left

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments.

        Raises:
            NeedsParser: argparse must read the words, or refuse them.
        """
        left, values = list(words), dict(self._values)
        for name, given in self._declared:
            count = given.get("nargs")
            if count in ("*", "+"):
                taken, left = left, []
                values[name] = taken
            else:
                taken, left = left[:1], left[1:]
                values[name] = taken[0] if taken else given.get("default")
            choices = given.get("choices")
            if (not taken and count in (None, "+")) or (choices and not set(taken) <= set(choices)) or "type" in given:
                raise NeedsParser
        if left or not all(_is_plain(word) for word in words):
            raise NeedsParser
        return values


def _is_plain(word: str) -> bool:
    """Return whether a word is no option, and was UTF-8; other bytes are surrogates in it."""
    try:
        return bool(word.encode()) and not word.startswith("-")
    except UnicodeEncodeError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status: 0 done, 1 refused, 2 wrong usage."""
    if arguments is None and "_ARGCOMPLETE" in os.environ and not sys.argv[1:]:
        from tui_tasks.cli.completion import complete

        complete(command_of)
    if (sys.argv[1:] if arguments is None else list(arguments)) == ["--version"]:
        return _flushed(_print_version)
    if arguments is not None:
        return run(arguments)
    # Imports leave hardly any garbage. Collecting it takes a thirtieth of a start, and a sixth of a short command.
    gc.disable()
    given = sys.argv[1:]
    if not is_short(given):
        status = _flushed(lambda: run(given))
        gc.freeze()
        return status
    # A regular exit of the interpreter takes a thirtieth of such a process's time.
    status = _flushed(lambda: run(given))
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(status)


def _print_version() -> int:
    streams.prepare()
    print(f"tui-tasks {__version__}")
    return 0


def _flushed(run: Callable[[], int]) -> int:
    """Run something that prints, and report if its output could not be written; return the exit status."""
    try:
        try:
            return run()
        finally:
            if sys.stdout is not None:
                streams.flush()
    except streams.OutputFailed as failed:
        print(f"tui-tasks: standard output cannot be written: {failed}; what was changed is kept", file=sys.stderr)
    except BrokenPipeError:
        streams.discard()  # the reader of the output has read enough, as `head` does
        return 0
    streams.discard()
    return 1


def command_of(arguments: Sequence[str]) -> str | None:
    """Return the word that is the command; None if there is none, or an unknown option comes before it."""
    if arguments[:1] and not arguments[0].startswith("-"):
        return arguments[0]
    options = _screen_options(arguments)
    others = options[1] if options is not None else []
    return others[0] if others and not others[0].startswith("-") else None


def unknown_option(arguments: Sequence[str]) -> str | None:
    """Return an unknown option before a command, which would be blamed for it; None if there is none."""
    options = None if arguments[:1] and not arguments[0].startswith("-") else _screen_options(arguments)
    first, *others = (options[1] if options is not None else []) or [""]
    is_known = not first.startswith("--") or any(each.startswith(first) for each in ("--help", "--version"))
    return first if not is_known and any(word in COMMANDS for word in others) else None


def screen_alone(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return the options if only the screen is asked for; None if the whole parser is needed.

    Making the whole parser takes longer than everything else before the screen appears.
    """
    if arguments[:1] and not arguments[0].startswith("-"):
        return None
    read = _screen_options(arguments)
    if read is None or read[1]:
        return None
    options = read[0]
    is_bounded = options.agent_only is not None or options.list_only is not None
    return None if is_bounded or not all(word.isascii() for word in arguments) else options


def _screen_options(arguments: Sequence[str]) -> tuple[Any, list[str]] | None:
    """Return the screen's options and the other words; None if the options are wrong."""
    words = WordReader()
    declare_options(words, SCREEN.options, None)
    words.set_defaults(command=SCREEN, tools=None)
    try:
        values, others = words.read_options(arguments)
        return SimpleNamespace(**values), others
    except NeedsParser:
        return _screen_options_by_argparse(arguments)


def _screen_options_by_argparse(arguments: Sequence[str]) -> tuple[Any, list[str]] | None:
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
    options = None
    try:
        # Inside the `try`: declaring a command imports its modules, and importing refuses a missing or unsafe SQLite.
        options = words_alone(arguments) or screen_alone(arguments) or _parsed(name, arguments)
        return _run_command(options)
    except (DatabaseRefused, Refusal) as refused:
        print_refusal(refused)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, streams.OutputFailed):
        raise
    except Exception:
        if not (reason := _folder_gone() or _damage(options)):
            raise
        print_refusal(DatabaseRefused(reason))
        return REFUSED


def _folder_gone() -> str:
    """Return that the folder in which a command runs was deleted, for people; empty if it was not."""
    from pathlib import Path

    try:
        Path.cwd()
    except FileNotFoundError:
        return "the folder in which you are was deleted: cd to another one, and try again"
    return ""


def _damage(options: Any) -> str:
    """Return what is damaged in the database of a command that failed by none of its refusals; empty: nothing is."""
    from tui_tasks.core.errors import DatabaseRefused
    from tui_tasks.core.maintenance import database_findings
    from tui_tasks.settings import paths

    try:
        return database_findings.damage(paths.database(getattr(options, "db", None)))
    except DatabaseRefused:
        return ""


def _parsed(name: str | None, arguments: Sequence[str]) -> argparse.Namespace:
    from tui_tasks.cli.command_parser import parser

    return parse(parser(name), arguments)


_OTHER_COMMANDS = {
    **dict.fromkeys(("delete", "del", "remove"), "rm"),
    "modify": "edit",
    "rename": "edit",
    "new": "add",
    "create": "add",
    "list": "ls",
    "finish": "done",
    "complete": "done",
}
"""Words of other programs for commands."""
_INSTEAD = {
    **dict.fromkeys(("search", "find", "grep"), "`tui-tasks ls WORD` searches tasks."),
    **dict.fromkeys(("history", "report", "summary"), "`tui-tasks digest --since 8h` says what happened."),
    **dict.fromkeys(("stats", "statistics"), "`S` on the screen shows statistics."),
    "merge": "`tui-tasks work merge` merges work.",
    "version": "`tui-tasks --version` prints it.",
}
"""What does the work of a command that people look for."""


def _print_unknown_command(name: str) -> int:
    from difflib import get_close_matches

    from tui_tasks.text.safe import safe_line

    meant = _OTHER_COMMANDS.get(name)
    near = [meant] if meant is not None else get_close_matches(name, COMMANDS, 3)
    hint = f" {_INSTEAD[name]}" if name in _INSTEAD else f" Did you mean {' or '.join(near)}?" if near else ""
    if name.lstrip("#").isdecimal():
        hint = f" The command comes first: `tui-tasks done {name.lstrip('#')}`."
    print(f"tui-tasks: no command {safe_line(name, 40)}.{hint} `tui-tasks --help` lists them", file=sys.stderr)
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
        person_rights.check(options)
    except InvalidRequest as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return USAGE
    command = options.command.load()
    if not (options.command.is_short or options.command.is_screen):
        gc.enable()
    status: int = command.run(options.command.name, options)
    return status
