"""The command `call`: its arguments, and what it opens."""

from __future__ import annotations

import argparse
import sys

from tui_tasks.cli.options import USAGE, hosts_scheduler, open_store, session_of


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("tool", metavar="TOOL", nargs="?", help="its name; without one the tools are listed")
    command.add_argument("arguments", metavar="ARGUMENTS", nargs="*", help="one JSON object, or name=value words")
    command.add_argument("-h", "--help", action="store_true", help="show what the tool does and takes")
    command.set_defaults(usage=command.format_help)


def run(name: str, options: argparse.Namespace) -> int:
    """Make the request, or print the tools; return the exit status."""
    from tui_tasks.cli.agents import call

    if options.tool is None:
        print(options.usage() if options.help else call.listing())
        return 0
    if options.help:
        return call.describe(options.tool)
    try:
        arguments = call.words(options.arguments)
    except ValueError as error:
        print(f"tui-tasks call: {error}", file=sys.stderr)
        return USAGE
    with open_store(options) as store:
        if options.tool == "control:agents" and not options.read_only:
            from tui_tasks import clock
            from tui_tasks.hooks.presence import departures

            departures.end_departed(store, clock.now())
        status = call.call(session_of(options, store), options.tool, arguments)
        if options.tool == "scheduler:run_task" and status == 0 and hosts_scheduler(options):
            from tui_tasks.channel import hosting

            hosting.start_waiting(store)
    return status
