"""The command `hook`: its help, and arguments that the short way (`hooks.main`) does not take."""

from __future__ import annotations

import argparse

from tui_tasks.hooks import main


def declare(_name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("program", metavar="PROGRAM", choices=main.PROGRAMS, help=f"one of {', '.join(main.PROGRAMS)}")


def run(_name: str, options: argparse.Namespace) -> int:
    """Run the hook."""
    main.run(options.program, options.db or "", options.project or "")
    return 0
