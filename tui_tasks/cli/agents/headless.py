"""`serve` and `scheduler`: the control channel (docs: protocol, section 1) or the scheduler, without a screen."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import select
import signal
import sys
from typing import TYPE_CHECKING

from tui_tasks.cli.options import (
    REFUSED,
    USAGE,
    following_hooks,
    hosts_scheduler,
    open_store,
    print_permission_findings,
    session_of,
)

if TYPE_CHECKING:
    from tui_tasks.core.store import Store
    from tui_tasks.runner.checks.check_keeper import Authority


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare nothing beside the shared options."""


def run(name: str, options: argparse.Namespace) -> int:
    """Run until the input or a signal ends it; return the exit status."""
    return _serve(options) if name == "serve" else _schedule(options)


def _serve(options: argparse.Namespace) -> int:
    """Serve until the input ends; return the exit status."""
    from tui_tasks.channel.loop import ControlChannel
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
    from tui_tasks import clock
    from tui_tasks.state import hosting
    from tui_tasks.work import watching

    if not hosts_scheduler(options):
        print("tui-tasks scheduler: it does nothing with --read-only or --no-scheduler", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.INFO, format="tui-tasks: %(message)s")
    with open_store(options) as store:
        print_permission_findings(options)
        path, authority = store.path, _authority(store)
    # The system delivers a signal to any thread, but Python's handlers run in this one: the pipe wakes it.
    wakeup, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, lambda *_: None)
    with (
        hosting.hosted(path, wanted=True, authority=authority),
        following_hooks(options, store),
        watching.watching(path, clock.now, wanted=True),
    ):
        select.select([wakeup], [], [])
    return 0


def _authority(store: Store) -> Authority:
    """Return what a scheduler may write of its settings: a person's records them, also one that a service manager
    starts updates them.
    """
    from tui_tasks.runner.checks.check_keeper import Authority
    from tui_tasks.state import person

    if person.other_caller(store.db, None) is not None:
        return Authority.ADDS
    return Authority.RECORDS if person.has_terminal() else Authority.UPDATES
