"""Follows a database: processes what hooks leave beside it, and finds processes that have ended.

For long-running processes; it has a thread and a connection of its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import DatabaseRefused, Refusal
from tui_tasks.core.store import Store
from tui_tasks.hooks import hooks_folder, intake
from tui_tasks.hooks.presence import departures
from tui_tasks.hooks.record_watching import RecordWatch
from tui_tasks.hooks.replies.codex_queue import CodexQueue
from tui_tasks.hooks.replies.outbox import Outbox

_log = logging.getLogger(__name__)

LOOK: Final = 0.15
"""Seconds between looks at the folder."""
_BETWEEN_COMMITS: Final = 0.01
"""Seconds at least between two looks for an answer, while others commit without a pause."""
LOOKS_A_CHECK: Final = 6
"""Looks between checks of processes: an agent whose process has ended is gone within two seconds."""
_PATIENCE: Final = 5.0
"""Seconds until a failed step is retried."""
_STOP: Final = 2.0


class Follower:
    """Periodic work on a database; `run` does it until `stop`."""

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._payloads = os.path.join(hooks_folder(path), "payloads")
        self._clock = clock
        self._stopped = threading.Event()
        self._looks = 0
        # The refusal that was logged last; "" after a success.
        self._refusal = ""
        self._store: Store | None = None
        self._outbox: Outbox | None = None
        self._watch: Watch | None = None
        self._records: RecordWatch | None = None
        self._codex: CodexQueue | None = None

    def run(self) -> None:
        """Follow the database's hooks until `stop`."""
        try:
            while not self._stopped.is_set():
                try:
                    self._look()
                    self._refusal = ""
                    self._pause()
                except (Refusal, DatabaseRefused) as refusal:
                    if str(refusal) != self._refusal:
                        self._refusal = str(refusal)
                        _log.warning("hook payloads will be read later: %s", refusal)
                    self._stopped.wait(_PATIENCE)
                except Exception:  # the front end continues
                    _log.exception("hook payloads could not be read")
                    self._stopped.wait(_PATIENCE)
        finally:
            if self._watch is not None:
                self._watch.close()
            if self._store is not None:
                self._store.close()

    def stop(self) -> None:
        """End `run` soon; may be called in any thread."""
        self._stopped.set()

    def _look(self) -> None:
        self._looks += 1
        if _has_payloads(self._payloads):
            self._process_payloads()
        if self._looks % LOOKS_A_CHECK == 0:
            departures.end_departed(self._opened(), self._clock())
            departures.note_stopped(self._opened(), self._clock())
            self._records = self._records or RecordWatch(self._opened(), self._process_payloads, intake.human_settings)
            self._records.look(self._clock())
            self._codex = self._codex or CodexQueue(self._opened())
            self._codex.look()
        if os.path.isdir(self._payloads):
            self._outbox = self._outbox or Outbox(self._opened())
            self._outbox.look(self._clock())

    def _pause(self) -> None:
        """Wait until the next look. While a hook waits for an answer, send what a commit brings at once."""
        outbox = self._outbox
        if outbox is None or not outbox.is_waited_for:
            self._stopped.wait(LOOK)
            return
        self._watch = self._watch or Watch(self._opened().db)
        until = time.monotonic() + LOOK
        while (left := until - time.monotonic()) > 0 and not self._stopped.is_set():
            self._watch.sleep(left)
            if self._watch.changed(time.monotonic()):
                outbox.look(self._clock())
                self._stopped.wait(_BETWEEN_COMMITS)

    def _process_payloads(self) -> None:
        intake.process_payloads(self._opened(), self._clock())

    def _opened(self) -> Store:
        self._store = self._store or Store(self._path, makes=False)
        return self._store


def _has_payloads(folder: str) -> bool:
    try:
        return any(not name.startswith(".") for name in os.listdir(folder))
    except OSError:
        return False  # no hook has left anything for this database yet


@contextlib.contextmanager
def following(path: str, clock: Callable[[], int], *, wanted: bool) -> Iterator[None]:
    """Follow the hooks of a database while the block runs, if wanted."""
    if not wanted:
        yield
        return
    follower = Follower(path, clock)
    thread = threading.Thread(target=follower.run, name="hooks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        follower.stop()
        thread.join(_STOP)
