"""`serve`: the control channel without a screen (docs: protocol, section 1)."""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys

from tui_tasks.channel.loop import ControlChannel
from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    following_hooks,
    hosts_scheduler,
    open_store,
    print_permission_findings,
    session_of,
)
from tui_tasks.terminal import claim_without_screen


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare nothing beside the shared options."""


def run(name: str, options: argparse.Namespace) -> int:
    """Serve until the input ends; return the exit status."""
    logging.basicConfig(level=logging.WARNING, format="tui-tasks: %(message)s")
    if sys.__stdin__ is None or sys.__stdout__ is None:
        print("tui-tasks serve: standard input and output must be open", file=sys.stderr)
        return USAGE
    with open_store(options) as store, contextlib.ExitStack() as running:
        print_permission_findings(options)
        claimed = claim_without_screen()
        assert claimed.input_fd is not None
        assert claimed.output_fd is not None
        channel = ControlChannel(session_of(options, store, stays=True), claimed.input_fd, claimed.output_fd)
        channel.stop_on(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        running.enter_context(following_hooks(options, store))
        if hosts_scheduler(options):
            from tui_tasks.channel import hosting

            running.enter_context(hosting.hosted(store.path, wanted=True))
        channel.run()
    return REFUSED if channel.has_failed else 0
