"""The thread in which the screen writes, and the progress of a write."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.clock import Uptime

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction
    from tui_tasks.core.store import Store

STOP_SECONDS: Final = 6.0
Work = Callable[["Store"], Any]


class Writing:
    """The progress of a write. The writer's thread sets it, the screen's thread reads it. Until `begin`, the write
    waits.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._transaction: Transaction | None = None

    def begin(self, transaction: Transaction) -> None:
        """Note that the write holds the database's lock."""
        self._transaction = transaction

    def step(self) -> None:
        """Count an operation as done."""
        self.done += 1

    @property
    def has_begun(self) -> bool:
        """Whether the write holds the database's lock."""
        return self._transaction is not None

    @property
    def entries(self) -> int:
        """How many journal entries it has written so far."""
        return self._transaction.entries if self._transaction is not None else 0


class Writer:
    """The thread that writes, in order. It is started at the first write, also at the first one after a stop."""

    def __init__(self, path: str, uptime: Callable[[], Uptime]) -> None:
        self._path = path
        self._uptime = uptime
        self._queue: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, work: Work) -> Future[Any]:
        """Queue some work; return a future of its result or exception."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._queue.put((work, future))
        return future

    def stop(self) -> None:
        """End the thread after the work that is queued; wait at most `STOP_SECONDS`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(STOP_SECONDS)

    def _run(self) -> None:
        from tui_tasks.core.commit.database_clock import Elapsed
        from tui_tasks.core.store import Store

        store: Store | None = None
        while (item := self._queue.get()) is not None:
            work, future = item
            try:
                if store is None:
                    store = Store(self._path)
                    store.elapsed = Elapsed(self._uptime)
                result = work(store)
            except BaseException as error:  # raised where the future is awaited
                _resolve(future, error=error)
            else:
                _resolve(future, result)
        if store is not None:
            store.close()


def _resolve(future: Future[Any], result: Any = None, error: BaseException | None = None) -> None:
    # The loop that awaits the future may have been closed with the screen.
    with contextlib.suppress(Exception):
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
