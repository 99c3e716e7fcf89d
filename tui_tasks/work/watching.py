"""Watches the work of agents beside a front end: counts what git has, and sets ready or failed what has ended."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store

Clock = Callable[[], int]
Look = Callable[[Store, Clock], None]
_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 2.0


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
        self._repeat(_nothing, _look)
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


def _look(store: Store, clock: Clock) -> None:
    if not work_queries.live_here(store.db) and not work_queries.begun(store.db):
        return
    from tui_tasks.work import progress, recovery  # for databases with work alone

    recovery.recover(store, clock())
    progress.look(store, clock())


def _switch_off_old(store: Store, clock: Clock) -> None:
    if work_queries.switched_on_autos(store.db):
        from tui_tasks.work import starting

        starting.switch_off_old(store, clock())


def _start_tasks(store: Store, clock: Clock) -> None:
    """Start tasks of lists that work themselves off. A start takes as long as the human's setup command."""
    if work_queries.switched_on_autos(store.db):
        from tui_tasks.work import starting

        starting.start_ready_tasks(store, clock)


@contextlib.contextmanager
def watching(path: str, clock: Callable[[], int], *, wanted: bool) -> Iterator[None]:
    """Watch the work of a database while the block runs, if wanted."""
    if not wanted:
        yield
        return
    watch = WorkWatch(path, clock)
    thread = threading.Thread(target=watch.run, name="work", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.stop()
        thread.join(_STOP_SECONDS)
