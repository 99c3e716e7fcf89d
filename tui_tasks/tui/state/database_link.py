"""The link between the database and the screen: it announces changes in batches, and writes in a thread.

Reads are made on the screen's event loop with a connection of its own; in WAL mode no writer blocks them. Writes wait
up to five seconds for a lock, so a thread makes them with another connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from tui_tasks.clock import Uptime, uptime_beside
from tui_tasks.core import schema
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.read.overview import StateChanges, changes_since
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.vocab import HUMAN

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction
    from tui_tasks.core.engine.commit_watch import Watch
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.maintenance.moments import Moment
    from tui_tasks.core.operations import Operation
    from tui_tasks.core.store import Store

# Seconds at least between two reads of changes while others write without a pause; limits how often it is drawn.
PACE: Final = 0.03
# Seconds between two tries to read a database that cannot be read.
LOOK_AGAIN: Final = 1.0
# Seconds after which a human notices a wait; and seconds between two reports of a write's progress.
NOTICED: Final = 0.7
TOLD_EVERY: Final = 0.25
# Seconds that the screen waits at its end for what is being written.
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
        from tui_tasks.core.commit.database_clock import DatabaseClock
        from tui_tasks.core.store import Store

        store: Store | None = None
        while (item := self._queue.get()) is not None:
            work, future = item
            try:
                if store is None:
                    store = Store(self._path)
                    store.database_clock = DatabaseClock(self._uptime)
                result = work(store)
            except BaseException as error:  # raised where the future is awaited
                _resolve(future, error=error)
            else:
                _resolve(future, result)
        if store is not None:
            store.close()


def _resolve(future: Future[Any], result: Any = None, error: BaseException | None = None) -> None:
    # Whoever awaited it may have given it up, as when the screen was closed.
    with contextlib.suppress(InvalidStateError):
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


class DatabaseLink:
    """A screen's link to one database. It is used from the screen's thread only; the writer has its own thread."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool,
        clock: Callable[[], int],
        open_reader: Callable[[], Database] | None = None,
    ) -> None:
        """Open the database; `open_reader` opens connections for reading, None: by the path.

        Raises:
            DatabaseRefused: it cannot be used, and was left as it is.
        """
        self.path = path
        self.open_reader = open_reader or partial(schema.opened, path, read_only=True)
        self.db = open_reader() if open_reader is not None else schema.opened(path, read_only=read_only)
        self.read_only = read_only
        self.clock = clock
        self.seq = journal.newest(self.db)
        self._file = self.db.file
        # Called with each batch of changes: this screen's from the first commit on, others' after `watch`.
        self.on_changes: Callable[[StateChanges], None] = lambda changes: None
        # Called when others have committed something that has no journal entry.
        self.on_silent_commit: Callable[[], None] = lambda: None
        self._listener: _Listener | None = None
        self._writer = Writer(path, uptime_beside(clock)) if not read_only else None
        self._newest: asyncio.Future[Any] | None = None
        # Called repeatedly while a write takes longer than `NOTICED`, and with None when it has ended.
        self.on_writing: Callable[[Writing | None], None] = lambda writing: None
        # Called after a commit: the screen applies the announced changes at once.
        self.on_own_commit: Callable[[], None] = lambda: None
        # Why the database cannot be read, empty when it can; and what is called when that changes.
        self.unread = ""
        self.on_unread: Callable[[], None] = lambda: None
        self._looking_again: asyncio.TimerHandle | None = None
        self._is_stopped = False

    @property
    def name(self) -> str:
        """The name of the database, for the top line."""
        return self.db.name

    @property
    def as_of(self) -> Moment | None:
        """The moment of the past that is shown; None: the present."""
        return None

    def watch(self) -> None:
        """Announce what others commit from now on, by calls on the running event loop."""
        # Not needed for the first screen, so it is imported after that.
        from tui_tasks.core.engine.commit_watch import Watch

        self._listener = _Listener(Watch(self.db), self.catch_up)
        self.db.follow()
        # Changes committed between the panes' first read and the start of the watch.
        self.catch_up()

    def catch_up(self) -> None:
        """Read new changes now, and announce them."""
        try:
            self._catch_up()
        except READ_ERRORS as error:
            self.cannot_read(error)

    def cannot_read(self, error: Exception) -> None:
        """Handle a read that failed with one of `READ_ERRORS`: try each second until the database can be read, then
        reread all.
        """
        if self._is_stopped:
            return
        if self._looking_again is None:
            self._looking_again = asyncio.get_running_loop().call_later(LOOK_AGAIN, self._look_again)
        was, self.unread = self.unread, str(error.__cause__ or error)
        if self.unread != was:
            self.on_unread()

    def _look_again(self) -> None:
        self._looking_again = None
        try:
            self.db.open_again()
            newest = journal.newest(self.db)
        except READ_ERRORS as error:
            self.cannot_read(error)
            return
        since, self.seq, self._file, self.unread = self.seq, newest, self.db.file, ""
        self.on_unread()
        self.on_changes(StateChanges(since, newest, (), all=True))
        self.on_own_commit()

    def check(self) -> None:
        """Check that the database can be read, before a screen is made that shows its content.

        Raises:
            READ_ERRORS: it cannot.
        """
        journal.newest(self.db)

    def _catch_up(self) -> None:
        with self.db.transaction(write=False):
            changes = self._changes()
        if changes is not None:
            self.seq, self._file = changes.seq, self.db.file
            self.on_changes(changes)
        else:
            self.on_silent_commit()

    def _changes(self) -> StateChanges | None:
        """Return the changes since the last call; None when there are none."""
        if self.db.file != self._file:
            # Another file may differ in anything.
            return StateChanges(self.seq, journal.newest(self.db), (), all=True)
        return changes_since(self.db, self.seq)

    async def commit(self, *operations: Operation, why: dict[str, Any] | None = None) -> list[Any]:
        """Write as one change of the human's; return the operations' results once it is durable and announced.

        Raises:
            Refusal: nothing was written.
        """
        now, writing = self.clock(), Writing(len(operations))

        def work(store: Store) -> list[Any]:
            return store.commit_each(operations, HUMAN, now, why, in_steps=True, progress=writing)

        results: list[Any] = await self._write(work, writing)
        self.catch_up()
        self.on_own_commit()
        return results

    async def compact(self, before: int) -> int:
        """Drop the journal's entries from before an instant (microseconds); return how many there were.

        Raises:
            Refusal: nothing was dropped.
        """
        from tui_tasks.core.maintenance.compaction_steps import compacting

        assert self._writer is not None, "a read-only screen offers no writes"
        now = self.clock()
        steps: Generator[None, None, int] | None = None

        def step(store: Store) -> int | None:
            nonlocal steps
            steps = steps or compacting(store, before, now)
            try:
                next(steps)
            except StopIteration as finished:
                return int(finished.value)
            return None

        try:
            # Other writes can run between the steps.
            while (count := await self._write(step, Writing(1))) is None:
                pass
        finally:
            if steps is not None:
                # In the writer's thread, like all use of its connection.
                self._writer.put(lambda _: cast(Any, steps).close())
        self.catch_up()
        return int(count)

    async def remember(self, key: str, value: Any) -> None:
        """Store a JSON value for the next start, unless the database is read-only; None removes it.

        Raises:
            StorageFailed: nothing was written.
        """
        if not self.read_only:
            await self._write(lambda store: local_values.put(store.db, key, value), Writing(1))

    async def written(self) -> bool:
        """Wait for the newest write, once and at most `NOTICED` seconds; return False when there is none.

        What follows one that has ended may not have run yet.
        """
        newest, self._newest = self._newest, None
        if newest is None:
            return False
        await asyncio.wait({newest}, timeout=NOTICED)
        return True

    async def _write(self, work: Work, writing: Writing) -> Any:
        assert self._writer is not None, "a read-only screen offers no writes"
        written = self._newest = asyncio.wrap_future(self._writer.put(work))
        done, _ = await asyncio.wait({written}, timeout=NOTICED)
        if done:
            return await written
        while not done:
            self.on_writing(writing)
            done, _ = await asyncio.wait({written}, timeout=TOLD_EVERY)
        self.on_writing(None)
        return await written

    def stop(self) -> None:
        """Stop announcing changes, finish pending writes, and close the connections."""
        self._is_stopped = True
        if self._looking_again is not None:
            self._looking_again.cancel()
        if self._listener is not None:
            self._listener.stop()
        if self._writer is not None:
            self._writer.stop()
        self.db.close()


class _Listener:
    """Runs a watch on the running event loop: it calls `look` soon after a commit, and not before `PACE` has passed."""

    def __init__(self, watch: Watch, look: Callable[[], None]) -> None:
        self._watch = watch
        self._look = look
        self._events = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._looked_at = 0.0
        self._listening = False
        self._listen()
        self._later(watch.wait(time.monotonic()))

    def _listen(self) -> None:
        if self._watch.fd is not None and not self._listening:
            self._events.add_reader(self._watch.fd, self._heard)
            self._listening = True

    def _unlisten(self) -> None:
        if self._watch.fd is not None and self._listening:
            self._events.remove_reader(self._watch.fd)
            self._listening = False

    def _later(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._events.call_later(seconds, self._check)

    def _heard(self) -> None:
        now = time.monotonic()
        rest = self._looked_at + PACE - now
        if rest > 0:
            # Not listening until then: the kernel queues the events, and each would cost a turn of the loop.
            self._unlisten()
            self._later(rest)
            return
        self._watch.arm(now)
        self._later(self._watch.wait(now))

    def _check(self) -> None:
        now = time.monotonic()
        if not self._listening:
            self._listen()
            self._watch.arm(now)
        if self._watch.changed(now) or self._watch.is_lost:
            self._looked_at = now
            self._look()
        self._later(self._watch.wait(time.monotonic()))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._unlisten()
        self._watch.close()
