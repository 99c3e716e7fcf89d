"""`web`: the screen in a browser on this machine."""

from __future__ import annotations

import argparse
import logging
import sys

from tui_tasks.cli.options import REFUSED, open_store, print_missing_extra, print_permission_findings, require_database
from tui_tasks.settings import paths

_PORT = 8766


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--port", type=int, default=_PORT, help=f"the port (default: {_PORT}; 0: any)")
    command.add_argument("--write", action="store_true", help="allow changes; without it the screen is read only")


def run(name: str, options: argparse.Namespace) -> int:
    """Serve until a signal ends it; return the exit status."""
    try:
        from tui_tasks.web import server
    except ImportError:
        print_missing_extra("tui-tasks web", "web")
        return REFUSED
    options.read_only = options.read_only or not options.write
    if options.read_only:
        require_database(options)
    # A database that cannot be used is refused here, not in each tab.
    with open_store(options):
        print_permission_findings(options)
    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    server.run(screen_of(options), options.port, lambda url: print(url, flush=True))
    return 0


def screen_of(options: argparse.Namespace) -> list[str]:
    """Return the command that draws the screen of a tab."""
    command = [sys.executable, "-m", "tui_tasks", *(["watch"] if options.read_only or not options.write else [])]
    command += ["--db", paths.database(options.db)]
    for option, value in (("--list", options.list), ("--project", options.project)):
        command += [option, value] if value is not None else []
    for option, is_given in (("--no-scheduler", options.no_scheduler), ("--ascii", options.ascii)):
        command += [option] if is_given else []
    return command
