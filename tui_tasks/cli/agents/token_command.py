"""`token`: who may speak over HTTP, under which name and with which rights."""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import datetime

from tui_tasks.channel import requests
from tui_tasks.cli.options import USAGE
from tui_tasks.core.errors import Forbidden
from tui_tasks.runner.process.run_context import is_marked
from tui_tasks.settings import paths
from tui_tasks.settings.tokens import Tokens
from tui_tasks.text.safe import safe_line


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.description = (
        "Let agents on other machines use this database, over `tui-tasks mcp --http`. A token is for one agent, whose "
        "name it fixes; with --read-only it writes nothing. It is printed once, and kept as a hash."
    )
    command.add_argument("action", choices=("add", "list", "revoke"))
    command.add_argument("name", metavar="NAME", nargs="?", help="the agent's name, for add and revoke")


def run(name: str, options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if is_marked(os.environ):
        raise Forbidden("only the human hands out tokens, never a run of a job")
    tokens = Tokens(paths.database(options.db))
    if options.action == "list":
        for token in tokens.all():
            made = datetime.fromtimestamp(token.created_at)
            print(f"{safe_line(token.agent):24} {'read-only' if token.read_only else 'agent':10} {made:%Y-%m-%d}")
        return 0
    if options.name is None:
        print(f"tui-tasks token {options.action}: name the agent", file=sys.stderr)
        return USAGE
    if options.action == "revoke":
        tokens.revoke(options.name)
        print(f"{safe_line(options.name)} may speak over HTTP no more.")
        return 0
    agent = requests.agent_name(requests.name("NAME", options.name))
    assert agent is not None
    print(tokens.add(agent, read_only=options.read_only, now=int(time.time())))
    return 0
