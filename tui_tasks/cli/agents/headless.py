"""`serve` and `scheduler`: the control channel (docs: protocol, section 1) or the scheduler, without a screen."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import select
import signal
import sys

from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    following_hooks,
    hosts_scheduler,
    open_store,
    print_permission_findings,
    session_of,
)


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare nothing beside the shared options."""


def run(name: str, options: argparse.Namespace) -> int:
    """Run until the input or a signal ends it; return the exit status."""
    return _serve(options) if name == "serve" else _schedule(options)


def _serve(options: argparse.Namespace) -> int:
    """Serve until the input ends; return the exit status."""
    from tui_tasks.channel.pipe.loop import ControlChannel
    from tui_tasks.terminal import claim_without_screen

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
            from tui_tasks.state import hosting

            running.enter_context(hosting.hosted(store.path, wanted=True))
        channel.run()
    return REFUSED if channel.has_failed else 0


def _schedule(options: argparse.Namespace) -> int:
    """Start due jobs until a signal ends it; return the exit status."""
    from tui_tasks.state import hosting

    if not hosts_scheduler(options):
        print("tui-tasks scheduler: it does nothing with --read-only or --no-scheduler", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.INFO, format="tui-tasks: %(message)s")
    with open_store(options) as store:
        print_permission_findings(options)
        path = store.path
    # The system delivers a signal to any thread, but Python's handlers run in this one: the pipe wakes it.
    told, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: None)
    with hosting.hosted(path, wanted=True), following_hooks(options, store):
        select.select([told], [], [])
    return 0
