"""`prime`: what an agent needs to know to start."""

from __future__ import annotations

import argparse

from tui_tasks.channel import prime
from tui_tasks.cli.options import open_store, require_database, session_of
from tui_tasks.core.errors import DatabaseRefused


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare nothing beside the shared options."""


def run(name: str, options: argparse.Namespace) -> int:
    """Print the rules and the existing tasks. Return exit status 0."""
    try:
        require_database(options)
    except DatabaseRefused as missing:
        # An agent that reads this may be the first to write.
        print(f"{prime.RULES}\nNo tasks yet: {missing}")
        return 0
    with open_store(options) as store:
        print(prime.text(session_of(options, store)))
    return 0
