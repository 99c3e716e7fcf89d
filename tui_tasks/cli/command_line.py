"""Run one command line: parse it, check who may run it, run it. Each command imports only what it needs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tui_tasks.cli import person, streams
from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.options import INTERRUPTED, REFUSED, USAGE, check_speaker, parse, print_refusal, table_of
from tui_tasks.cli.parser import command_of, parser, screen_alone, unknown_option


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
        return _run_command(screen_alone(arguments) or parse(parser(name), arguments))
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
