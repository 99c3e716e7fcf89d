"""Between the state and the screen: what changed comes in as one message, what the human does goes out by one thread.

Reads are made on the screen's loop with a connection of its own, where the write-ahead log lets no writer stop them.
Writes wait for a lock for up to five seconds, so they are made by a thread with another connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from tui_tasks.clock import uptime_beside
from tui_tasks.core.commit import rebalancing
from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.core.journal import journal
from tui_tasks.core.read import checks, overview, views
from tui_tasks.core.read.overview import Change
from tui_tasks.core.schema import migrations
from tui_tasks.core.vocab import HUMAN
from tui_tasks.uptime import Uptime

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.engine.watch import Watch
    from tui_tasks.core.operations.operation import Operation
    from tui_tasks.core.past.moments import Moment
    from tui_tasks.core.store import Store, Transaction

# Between two looks at a database that others write to all the time: the screen is drawn no more often.
PACE: Final = 0.03
# Between two looks at a database that cannot be read.
LOOK_AGAIN: Final = 1.0
# With more entries than this to catch up with, what is on screen is read anew instead.
MOST_ENTRIES: Final = 500

# Seconds after which a human wonders whether a key was heard; and between two words about how far a write has come.
NOTICED: Final = 0.7
TOLD_EVERY: Final = 0.25

_Work = Callable[["Store"], Any]


class StateChanges(msgspec.Struct, frozen=True):
    """What was written after `since`, up to `seq`. `all`: too much to tell, everything may have changed."""

    since: int
    seq: int
    entries: tuple[Change, ...]
    all: bool = False
    waiting: frozenset[str] = frozenset()
    """Tasks that depend on one that was changed, and may be blocked, or free, by it; tasks of a check that was run."""

    def touches(self, *entities: str) -> bool:
        """Whether a row of one of the tables was written (`task`, `log`, `list`, `ask`, `agent`, `job`, `run` ...)."""
        return self.all or any(entry.entity in entities for entry in self.entries)

    def tasks(self) -> set[str]:
        """The uids of the tasks that the entries are about, and of those that wait for them."""
        return {entry.task for entry in self.entries if entry.task is not None} | self.waiting

    @property
    def places(self) -> list[tuple[int, str]]:
        """Where tasks have come, gone or moved: the numbers of those behind may be others now."""
        return [place for entry in self.entries for place in entry.places()]


class Writing:
    """How far a write has come; the writer's thread says so, the screen's reads it. Without `begin` it waits."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._transaction: Transaction | None = None

    def begin(self, transaction: Transaction) -> None:
        """It waits for nobody any more."""
        self._transaction = transaction

    def step(self) -> None:
        """One more operation is done."""
        self.done += 1

    @property
    def has_begun(self) -> bool:
        """Whether it has the database to itself."""
        return self._transaction is not None

    @property
    def entries(self) -> int:
        """How many changes it has made so far."""
        return self._transaction.entries if self._transaction is not None else 0


class DatabaseLink:
    """One database for one screen. Everything here is for the screen's thread; the writer is its own."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool,
        clock: Callable[[], int],
        open_reader: Callable[[], Database] | None = None,
    ) -> None:
        """Open the database; `open_reader` connects to it for reading, by its path where that is None.

        Raises:
            DatabaseRefused: it cannot be used, and was left as it is.
        """
        self.path = path
        self.open_reader = open_reader or partial(migrations.opened, path, read_only=True)
        self.db = open_reader() if open_reader is not None else migrations.opened(path, read_only=read_only)
        self.read_only = read_only
        self.clock = clock
        self.seq = journal.newest(self.db)
        self._file = self.db.file
        # Told of each batch of changes, of this screen's own from the first commit, of others' once it watches.
        self.told: Callable[[StateChanges], None] = lambda changes: None
        # Called where others have committed something that the journal does not have.
        self.beside: Callable[[], None] = lambda: None
        self._listener: _Listener | None = None
        self._writer = _Writer(path, uptime_beside(clock)) if not read_only else None
        self._newest: asyncio.Future[Any] | None = None
        # Called now and then while a write takes long enough to be noticed, and with None once it is over.
        self.writing: Callable[[Writing | None], None] = lambda writing: None
        # Called after a commit: the screen takes in at once what it was told.
        self.settle: Callable[[], None] = lambda: None
        # Why the database cannot be read, empty where it can; and what is called once that has changed.
        self.unread = ""
        self.unread_changed: Callable[[], None] = lambda: None
        self._looking_again: asyncio.TimerHandle | None = None
        self._is_stopped = False

    @property
    def as_of(self) -> Moment | None:
        """The moment of the past that is shown; None where it is the present."""
        return None

    def watch(self) -> None:
        """Tell of what others commit from now on, by calls on the running loop."""
        # What a first screen needs none of is imported once it stands.
        from tui_tasks.core.engine.watch import Watch

        self._listener = _Listener(Watch(self.db), self.catch_up)
        # What was committed since the panes first read, before the watch began.
        self.catch_up()

    def catch_up(self) -> None:
        """Look at once, and tell what there is."""
        try:
            self._catch_up()
        except READ_ERRORS as error:
            self.cannot_read(error)

    def cannot_read(self, error: Exception) -> None:
        """A read has failed, with one of `READ_ERRORS`: look each second whether all can be read anew."""
        if self._is_stopped:
            return
        if self._looking_again is None:
            self._looking_again = asyncio.get_running_loop().call_later(LOOK_AGAIN, self._look_again)
        was, self.unread = self.unread, str(error.__cause__ or error)
        if self.unread != was:
            self.unread_changed()

    def _look_again(self) -> None:
        self._looking_again = None
        try:
            self.db.open_again()
            newest = journal.newest(self.db)
        except READ_ERRORS as error:
            self.cannot_read(error)
            return
        since, self.seq, self._file, self.unread = self.seq, newest, self.db.file, ""
        self.unread_changed()
        self.told(StateChanges(since, newest, (), all=True))
        self.settle()

    def check(self) -> None:
        """Look whether the database can be read, before something is made that shows what is in it.

        Raises:
            READ_ERRORS: it cannot.
        """
        journal.newest(self.db)

    def _catch_up(self) -> None:
        with self.db.transaction(write=False):
            changes = self._changes()
        if changes is not None:
            self.seq, self._file = changes.seq, self.db.file
            self.told(changes)
        else:
            self.beside()

    def _changes(self) -> StateChanges | None:
        """What was written since the last time; None where nothing was."""
        since, is_other = self.seq, self.db.file != self._file
        entries = overview.changes(self.db, since, MOST_ENTRIES + 1)
        if not entries and not is_other:
            return None
        # In another file anything may be other, and of entries that were dropped nothing can be told.
        is_too_much = is_other or len(entries) > MOST_ENTRIES or entries[0].seq != since + 1
        # Pages of a list are read by rank, and those that are held have the old ones.
        # What a list's tasks are checked by is said of all of them at once.
        if is_too_much or any(entry.kind in (rebalancing.KIND, "check.defined") for entry in entries):
            return StateChanges(since, journal.newest(self.db), (), all=True)
        changed = {entry.uid for entry in entries if entry.entity == "task"}
        waiting = overview.waiting_on(self.db, changed) if changed else set()
        for entry in entries:
            if entry.entity == "check_run":
                waiting.update(checks.tasks_of(self.db, entry.uid))
        return StateChanges(since, entries[-1].seq, tuple(entries), waiting=frozenset(waiting))

    async def commit(self, *operations: Operation, why: dict[str, Any] | None = None) -> list[Any]:
        """Write, as one change of the human's; return the operations' results once it is durable and was told.

        Raises:
            Refusal: nothing was written.
        """
        now, writing = self.clock(), Writing(len(operations))

        def work(store: Store) -> list[Any]:
            return store.commit_each(operations, HUMAN, now, why, in_steps=True, progress=writing)

        results: list[Any] = await self._write(work, writing)
        self.catch_up()
        self.settle()
        return results

    async def compact(self, before: int) -> int:
        """Drop the journal's entries from before an instant (microseconds); return how many there were.

        Raises:
            Refusal: nothing was dropped.
        """
        from tui_tasks.core.maintenance.compacting import compacting

        assert self._writer is not None, "a read-only screen offers no writes"
        now = self.clock()
        steps: Generator[None, None, int] | None = None

        def step(store: Store) -> int | None:
            nonlocal steps
            steps = steps or compacting(store, before, now)
            try:
                next(steps)
            except StopIteration as ended:
                return int(ended.value)
            return None

        try:
            # Between the steps, others' writes and the human's own have their turn.
            while (count := await self._write(step, Writing(1))) is None:
                pass
        finally:
            if steps is not None:
                # On its own thread, as all that has to do with its database.
                self._writer.put(lambda _: cast(Any, steps).close())
        self.catch_up()
        return int(count)

    async def remember(self, key: str, value: Any) -> None:
        """Keep a JSON value for the next time, where the database may be written to.

        Raises:
            StorageFailed: nothing was written.
        """
        if not self.read_only:
            await self._write(lambda store: views.put(store.db, key, value), Writing(1))

    async def written(self) -> bool:
        """Wait for the newest write, once and no longer than a human would not notice; False where there is none."""
        newest, self._newest = self._newest, None
        if newest is None or newest.done():
            return False
        await asyncio.wait({newest}, timeout=NOTICED)
        return True

    async def _write(self, work: _Work, writing: Writing) -> Any:
        assert self._writer is not None, "a read-only screen offers no writes"
        written = self._newest = asyncio.wrap_future(self._writer.put(work))
        done, _ = await asyncio.wait({written}, timeout=NOTICED)
        if done:
            return await written
        while not done:
            self.writing(writing)
            done, _ = await asyncio.wait({written}, timeout=TOLD_EVERY)
        self.writing(None)
        return await written

    def stop(self) -> None:
        """Stop telling, let what was begun be written, and close."""
        self._is_stopped = True
        if self._looking_again is not None:
            self._looking_again.cancel()
        if self._listener is not None:
            self._listener.stop()
        if self._writer is not None:
            self._writer.stop()
        self.db.close()


class _Listener:
    """Hosts a watch on the running loop: it looks soon after a commit, no more often than `PACE`."""

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
            # Deaf until then: the kernel keeps its word, and each would cost a turn of the loop.
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


class _Writer:
    """The thread that writes, begun at the first write: what is put is done in order."""

    def __init__(self, path: str, uptime: Callable[[], Uptime]) -> None:
        self._path = path
        self._uptime = uptime
        self._queue: queue.SimpleQueue[tuple[_Work, Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, work: _Work) -> Future[Any]:
        """Have something written; the future ends with its result or what it raised."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._queue.put((work, future))
        return future

    def stop(self, patience: float = 6.0) -> None:
        """End the thread after what was put."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(patience)

    def _run(self) -> None:
        from tui_tasks.core.commit.elapsed import Elapsed
        from tui_tasks.core.store import Store

        store: Store | None = None
        while (item := self._queue.get()) is not None:
            work, future = item
            try:
                if store is None:
                    store = Store(self._path)
                    store.elapsed = Elapsed(self._uptime)
                result = work(store)
            except BaseException as error:  # it is the caller's, who waits for the future
                _settle(future, error=error)
            else:
                _settle(future, result)
        if store is not None:
            store.close()


def _settle(future: Future[Any], result: Any = None, error: BaseException | None = None) -> None:
    # Whoever waited may be gone with the screen.
    with contextlib.suppress(Exception):
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
