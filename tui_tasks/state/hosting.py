"""Hosts the scheduler in a thread with its own database connection, beside a front end or alone."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from tui_tasks.core.read.agents.stuck_agents import Thresholds
from tui_tasks.core.store import Store
from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper
from tui_tasks.runner.run_context import inside_run
from tui_tasks.runner.service import SchedulerService
from tui_tasks.settings import config, paths
from tui_tasks.settings.live_settings import CheckSettings, answer_rules, ask_limits, review_settings, runners

_log = logging.getLogger(__name__)
# Seconds that the scheduler has to finish its turn when it is stopped.
STOP_SECONDS = 2.0


def thresholds() -> Thresholds:
    """Read the configured thresholds after which an agent counts as stuck."""
    return config.load(paths.configuration())[0].stuck


def start_waiting(store: Store) -> None:
    """Start the waiting runs from a process that ends soon; the runs outlive it."""
    if not inside_run(os.environ, store.db):
        SchedulerService(store.path, runners, checks=CheckKeeper(CheckSettings())).turn(store)


def _phone(path: str) -> contextlib.AbstractContextManager[None]:
    """Send what needs the human to the phone while the block runs, if one is configured at its start."""
    settings = config.load(paths.configuration())[0].ntfy
    if not settings.topic:
        return contextlib.nullcontext()
    from tui_tasks import (
        clock,
        phone,  # imported here, as few configure a phone
    )

    return phone.following(path, settings, config.ntfy_token(), clock.now)


@contextlib.contextmanager
def hosted(path: str, *, wanted: bool, alone: bool = False, authority: Authority = Authority.ADDS) -> Iterator[None]:
    """Host the scheduler of a database while the block runs, if `wanted`; started runs outlive it.

    `alone` and `authority` are as for `CheckKeeper`: the human's screen removes the checks of other configuration
    files, and records its own.
    """
    if not wanted:
        yield
        return
    keeper = CheckKeeper(
        CheckSettings(), review_settings(), answer_rules(), ask_limits(), authority=authority, alone=alone
    )
    service = SchedulerService(path, runners, thresholds=thresholds, checks=keeper)

    def serve() -> None:
        try:
            service.run()
        except Exception:  # the front end continues without it
            _log.exception("the scheduler has ended")

    thread = threading.Thread(target=serve, name="scheduler", daemon=True)
    thread.start()
    try:
        with _phone(path):
            yield
    finally:
        service.stop()
        thread.join(STOP_SECONDS)
