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
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                with Store(self._path, makes=False) as store:
                    while not self._stopped.wait(LOOK_SECONDS):
                        self._look(store)
            except (Refusal, DatabaseRefused) as refusal:
                _log.warning("work is looked at later: %s", refusal)
            except Exception:  # the front end continues
                _log.exception("work could not be looked at")

    def _look(self, store: Store) -> None:
        if not work_queries.live(store.db):
            return
        from tui_tasks.work import progress, recovery  # for databases with work alone

        recovery.recover(store, self._clock())
        progress.look(store, self._clock())

    def stop(self) -> None:
        """End `run` soon; may be called in any thread."""
        self._stopped.set()


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
