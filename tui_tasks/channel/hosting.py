"""The scheduler beside another front end, or alone: on a thread of its own, with a connection of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from tui_tasks.core.read.stuck import Thresholds
from tui_tasks.core.store import Store
from tui_tasks.runner import profiles
from tui_tasks.runner.check_keeper import CheckKeeper
from tui_tasks.runner.profiles import Runners
from tui_tasks.runner.run_context import inside_run
from tui_tasks.runner.service import SchedulerService
from tui_tasks.settings import config, paths
from tui_tasks.settings.checks import CheckSettings

_log = logging.getLogger(__name__)
# Seconds that it may take to finish what it is at.
STOP_SECONDS = 2.0


def runners() -> Runners:
    """What the human has configured to run jobs with, read anew: an edit holds from the next start on."""
    file = paths.configuration()
    settings, _ = config.load(file)
    return profiles.read(settings.runner, str(file))[0]


def thresholds() -> Thresholds:
    """When the human wants an agent called stuck, read anew."""
    return config.load(paths.configuration())[0].stuck


def start_waiting(store: Store) -> None:
    """Start the runs that wait, from a process that ends soon: what it starts goes on without it."""
    service = SchedulerService(store.path, runners, checks=CheckKeeper(CheckSettings()))
    if not inside_run(os.environ, store.db):
        service.turn(store)


@contextlib.contextmanager
def hosted(path: str, *, wanted: bool, alone: bool = False) -> Iterator[None]:
    """Host the scheduler of a database while the block runs, where that is wanted; runs go on afterwards.

    `alone`: this process's configuration file is the human's, and no other's checks count (`CheckKeeper`).
    """
    if not wanted:
        yield
        return
    keeper = CheckKeeper(CheckSettings(), alone=alone)
    service = SchedulerService(path, runners, thresholds=thresholds, checks=keeper)

    def serve() -> None:
        try:
            service.run()
        except Exception:  # the front end goes on without it
            _log.exception("the scheduler has ended")

    thread = threading.Thread(target=serve, name="scheduler", daemon=True)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(STOP_SECONDS)
