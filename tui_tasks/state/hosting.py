"""Hosts in threads, each with a database connection of its own, beside a front end or alone: the scheduler, the phone,
and what watches the work of agents.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.stuck_causes import Thresholds
from tui_tasks.core.store import Store
from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper
from tui_tasks.runner.run_marks import inside_run
from tui_tasks.runner.scheduler_service import SchedulerService
from tui_tasks.settings import config, paths
from tui_tasks.settings.live_settings import answer_rules, ask_limits, check_profiles, review_settings, runners

Clock = Callable[[], int]
Look = Callable[[Store, Clock], None]
_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 2.0
# Seconds that a thread has to finish its turn when it is stopped.
_STOP_SECONDS: Final = 2.0


def thresholds() -> Thresholds:
    """Read the configured thresholds after which an agent counts as stuck."""
    return config.load(paths.configuration())[0].stuck


def start_waiting_runs(store: Store) -> None:
    """Start the waiting runs from a process that ends soon; the runs outlive it."""
    if not inside_run(os.environ, store.db):
        SchedulerService(store.path, runners, checks=CheckKeeper(check_profiles())).turn(store)


class _Service(Protocol):
    """What runs until it is stopped."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


@contextlib.contextmanager
def _in_thread(service: _Service, name: str) -> Iterator[None]:
    """Run a service in a thread while the block runs. The front end continues without one that fails."""

    def run() -> None:
        try:
            service.run()
        except Exception:
            _log.exception("the thread %s has ended", name)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(_STOP_SECONDS)


def _phone(path: str) -> contextlib.AbstractContextManager[None]:
    """Send what needs the human to the phone while the block runs, if one is configured at its start."""
    settings = config.load(paths.configuration())[0].ntfy
    if not settings.topic:
        return contextlib.nullcontext()
    # Imported here, as few configure a phone.
    from tui_tasks import clock, phone

    return _in_thread(phone.PhoneService(path, settings, config.ntfy_token(), clock.now), "ntfy")


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
        check_profiles(), review_settings(), answer_rules(), ask_limits(), authority=authority, alone=alone
    )
    service = SchedulerService(path, runners, thresholds=thresholds, checks=keeper)
    with _in_thread(service, "scheduler"), _phone(path):
        yield


class WorkWatch:
    """Periodic looks at the work of a database; `run` makes them until `stop`."""

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._clock = clock
        self._stopped = threading.Event()

    def run(self) -> None:
        """Look until `stop`."""
        starter = threading.Thread(target=self._repeat, args=(_switch_off_old, _start_tasks), name="auto", daemon=True)
        starter.start()
        self._repeat(_nothing, _look_at_work)
        starter.join(_STOP_SECONDS)

    def _repeat(self, begin: Look, look: Look) -> None:
        """Open the database, begin, and look until `stop`; begin again after a failure."""
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                with Store(self._path, makes=False) as store:
                    begin(store, self._clock)
                    begin = _nothing
                    while not self._stopped.wait(LOOK_SECONDS):
                        look(store, self._clock)
            except (Refusal, DatabaseRefused) as refusal:
                _log.warning("work will be checked later: %s", refusal)
            except Exception:  # the front end continues
                _log.exception("work could not be checked")

    def stop(self) -> None:
        """End `run` soon; may be called in any thread."""
        self._stopped.set()


def _nothing(store: Store, clock: Clock) -> None:
    """Do nothing."""


def _look_at_work(store: Store, clock: Clock) -> None:
    if not work_queries.live_here(store.db) and not work_queries.begun(store.db):
        return
    from tui_tasks.work import recovery, work_outcomes  # few databases have work

    recovery.recover(store, clock())
    work_outcomes.look(store, clock())


def _switch_off_old(store: Store, clock: Clock) -> None:
    if work_queries.switched_on_autos(store.db):
        from tui_tasks.work import auto_lists

        auto_lists.switch_off_old(store, clock())


def _start_tasks(store: Store, clock: Clock) -> None:
    """Start tasks of lists that work themselves off. A start takes as long as the human's setup command."""
    if work_queries.switched_on_autos(store.db):
        from tui_tasks.work import auto_lists

        auto_lists.start_ready_tasks(store, clock)


def watching(path: str, clock: Clock, *, wanted: bool) -> contextlib.AbstractContextManager[None]:
    """Watch the work of a database while the block runs, if wanted."""
    return _in_thread(WorkWatch(path, clock), "work") if wanted else contextlib.nullcontext()
