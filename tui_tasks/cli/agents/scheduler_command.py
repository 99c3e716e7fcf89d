"""`scheduler`: the scheduler alone, as a service (docs: scheduling)."""

from __future__ import annotations

import argparse
import logging
import os
import select
import signal
import sys

from tui_tasks.channel import hosting
from tui_tasks.cli.options import USAGE, following_hooks, hosts_scheduler, open_store, print_permission_findings


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare nothing beside the shared options."""


def run(name: str, options: argparse.Namespace) -> int:
    """Start due jobs until a signal ends it; return the exit status."""
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
