"""The entry point of the command line. Each command imports only what it needs."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from tui_tasks.cli import streams
from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.options import INTERRUPTED, REFUSED, USAGE, check_speaker, parse, print_refusal, table_of
from tui_tasks.cli.parser import command_of, parser, screen_alone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status: 0 done, 1 refused, 2 wrong usage."""
    if arguments is not None:
        return _run(arguments)
    if "_ARGCOMPLETE" in os.environ and not sys.argv[1:]:
        from tui_tasks.cli.completion.completing import complete

        complete()
    name = command_of(sys.argv[1:])
    if name in COMMANDS and COMMANDS[name].is_short:
        # Garbage collection takes a sixth of such a process's time; the end of the process frees everything.
        gc.disable()
    status = _run_and_flush(sys.argv[1:])
    gc.freeze()
    return status


def _run_and_flush(arguments: Sequence[str]) -> int:
    """Run the program, and report if its output could not be written."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                streams.flush()
    except streams.OutputFailed as failed:
        print(f"tui-tasks: standard output cannot be written: {failed}; what was changed is kept", file=sys.stderr)
    except BrokenPipeError:
        pass  # the reader of the output is gone
    streams.discard()
    return REFUSED


def _run(arguments: Sequence[str]) -> int:
    from tui_tasks.core.errors import DatabaseRefused, Refusal

    name = command_of(arguments)
    if name is not None and name not in COMMANDS:
        return _print_unknown_command(name)
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
    except InvalidRequest as refused:
        print(f"tui-tasks: {refused}", file=sys.stderr)
        return USAGE
    status: int = options.command.load().run(options.command.name, options)
    return status
