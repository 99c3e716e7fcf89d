"""The store: every write runs as operations through `commit`, which writes rows and journal in one transaction."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard

from tui_tasks.core import schema
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.commit.state_cache import StateCache, current_cache
from tui_tasks.core.commit.transaction import HalfWritten, Reading, Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Refusal, RoleRefused, StorageFailed
from tui_tasks.core.operations import Operation, Undo
from tui_tasks.core.vocab import SYSTEM

if TYPE_CHECKING:
    from tui_tasks.core.commit.unfinished_changes import UnfinishedChange
    from tui_tasks.core.rules.recorded_settings import ReviewPolicy

_log = logging.getLogger(__name__)


class Progress(Protocol):
    """Receives the progress of a commit, in the thread that makes it."""

    def begin(self, transaction: Transaction) -> None:
        """Handle the begin of the transaction, after any wait for the write lock."""

    def step(self) -> None:
        """Handle that one more operation has run."""


class Store:
    """A database of tasks, used by one thread.

    Attributes:
        database_clock: tells the database's instant, for leases that a wrong clock must not end; None to use the clock.
        review: returns which lists hold new tasks for review, in addition to the lists that the database marks so.
        is_person: returns whether a person at a terminal stands behind the shell's commands of this process.
    """

    def __init__(self, path: str, *, read_only: bool = False, makes: bool = True) -> None:
        """Open the database; `makes`: create it if the file does not exist.

        A part of a process that has the database open opens it with `makes` off: a database that was taken away stays
        away until it is put back.

        Raises:
            DatabaseRefused: the file cannot be used; it was not changed.
        """
        self.db = schema.opened(path, read_only=read_only, makes=makes)
        self.read_only = read_only
        self.database_clock: DatabaseClock | None = None
        self.review: Callable[[], ReviewPolicy] | None = None
        self.is_person: Callable[[Database], bool] = lambda db: False
        self._state_cache: StateCache | None = None
        self._uids = new_uids()
        # Interrupted changes that this machine's role on a server may not undo.
        self._left_to_others: set[int] = set()

    @property
    def path(self) -> str:
        """Return the path of the database file."""
        return self.db.path

    @contextlib.contextmanager
    def transaction(
        self,
        now: int,
        *,
        savepoints: bool = True,
        in_steps: bool = False,
        is_local: bool = False,
        inputs_read: Mapping[str, bool] | None = None,
    ) -> Iterator[Transaction]:
        """Hold one write transaction for any number of requests; it is durable when the block ends.

        Args:
            now: the time of day, in microseconds since the epoch.
            savepoints: whether each change has a savepoint (see `ChangeScope`). Without them the caller repeats the
                transaction with savepoints after `HalfWritten` or `WriteConflict`, and lets no refusal out of it.
            in_steps: for one long change: commit in steps that others can see, and between which they can write.
            is_local: for what is this machine's own: a server is not asked.
            inputs_read: as for `Transaction`.

        Raises:
            WritesJournal: with `is_local`, more was written, and rolled back.
            WriteConflict: without savepoints; others have written to the server meanwhile, and nothing was written.
            StorageFailed: nothing was written; or, `in_steps`, a part that is undone later, as the message says.
            PartlyDone: the change failed after some steps, which were undone.
        """
        self.undo_interrupted_changes(now)
        transaction: Transaction | None = None
        try:
            with (
                self.db.local_transaction()
                if is_local
                else self.db.state_transaction(write=True, is_repeatable=not (savepoints or in_steps))
            ) as server_now:
                at = now if server_now is None else server_now
                transaction = self._begun(at, savepoints=savepoints, in_steps=in_steps, inputs_read=inputs_read)
                file = self.db.file
                yield transaction
                transaction.forget_steps()
        except Exception:
            # If the file was replaced meanwhile, the same seq is another entry.
            if transaction is not None and transaction.is_partly_done and self.db.file == file:
                self._undo_steps(transaction)
            raise
        finally:
            if transaction is not None:
                transaction.release_steps()
        self._state_cache = transaction.state_cache

    def _begun(
        self, now: int, *, savepoints: bool, in_steps: bool, inputs_read: Mapping[str, bool] | None
    ) -> Transaction:
        """Return the transaction that the database has begun; it takes the cache, which is kept only after a commit."""
        # A failed transaction must not leave outdated lookups.
        before, self._state_cache = self._state_cache, None
        return Transaction(
            self.db,
            current_cache(self.db, before),
            self._uids,
            now,
            database_clock=self.database_clock,
            review=self.review,
            is_person=self.is_person,
            inputs_read=inputs_read,
            savepoints=savepoints,
            in_steps=in_steps,
        )

    def _undo_steps(self, failed: Transaction) -> None:
        """Undo the committed steps of a failed change."""
        undo_transaction: Transaction | None = None
        try:
            with self.db.state_transaction(write=True):
                undo_transaction = Transaction(
                    self.db, current_cache(self.db, None), self._uids, failed.now, in_steps=True
                )
                for actor, change in failed.committed_parts():
                    undo_transaction.begin_change()
                    undo_transaction.speak(actor)
                    undo_transaction.run(Undo(change))
                undo_transaction.forget_steps()
                failed.forget_steps()
        except (Refusal, HalfWritten) as error:
            if _may_succeed_later(error):
                error.message = error.message.removesuffix("; nothing was written")
                error.add("; a part of the change is written, and is undone once the database can be written")
                raise
            _log.error("a failed change is partly done (undo reverts it): %s", error)
            with self.db.state_transaction(write=True):
                failed.forget_steps()
        finally:
            if undo_transaction is not None:
                undo_transaction.release_steps()

    def undo_left_changes(self, now: int) -> None:
        """Do as `undo_interrupted_changes` does, in a process that writes nothing else: look again first.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        if self._has_unfinished_changes():
            self.look_again()
            self.undo_interrupted_changes(now)

    def undo_interrupted_changes(self, now: int) -> None:
        """Undo the changes of this machine's processes that were killed between two steps.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        if self._state_cache is not None and not self._state_cache.may_be_unfinished:
            return
        with self.db.transaction(write=False):
            self._state_cache = current_cache(self.db, self._state_cache)
            if not self._has_unfinished_changes():
                self._state_cache.may_be_unfinished = False
                return
            from tui_tasks.core.commit import unfinished_changes

            interrupted = [
                each
                for each in unfinished_changes.recorded(self.db)
                if each.is_of(self.db.machine) and each.change not in self._left_to_others
            ]
        for each in interrupted:
            lock = unfinished_changes.take_lock(self.db, each.lock)
            if lock is None:
                continue
            try:
                self._undo_interrupted_change(each, now)
            except RoleRefused as refused:
                _log.warning("change %s is left to others to undo: %s", each.change, refused.message)
                self._left_to_others.add(each.change)
            finally:
                lock.release()
        self._state_cache.may_be_unfinished = bool(interrupted)

    def _has_unfinished_changes(self) -> bool:
        return bool(self.db.scalar("SELECT EXISTS (SELECT 1 FROM unfinished_change)"))

    def _undo_interrupted_change(self, interrupted: UnfinishedChange, now: int) -> None:
        from tui_tasks.core.commit import unfinished_changes

        undo_transaction: Transaction | None = None
        try:
            with self.db.state_transaction(write=True):
                if interrupted not in unfinished_changes.recorded(self.db):
                    return
                undo_transaction = Transaction(self.db, current_cache(self.db, None), self._uids, now, in_steps=True)
                undo_transaction.speak(interrupted.actor)
                undo_transaction.run(Undo(interrupted.change))
                undo_transaction.forget_steps()
                unfinished_changes.forget(self.db, interrupted)
            _log.warning("change %s of %s was interrupted: it is undone now", interrupted.change, interrupted.actor)
        except (Refusal, HalfWritten) as error:
            if isinstance(error, RoleRefused) or _may_succeed_later(error):
                raise
            _log.error("change %s is partly done (undo reverts it): %s", interrupted.change, error)
            with self.db.state_transaction(write=True):
                unfinished_changes.forget(self.db, interrupted)
        finally:
            if undo_transaction is not None:
                undo_transaction.release_steps()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reading]:
        """Hold one read transaction for any number of requests.

        Raises:
            StorageFailed: the database cannot be read.
        """
        with self.db.transaction(write=False):
            self._state_cache = current_cache(self.db, self._state_cache)
            yield Reading(self.db, self._state_cache)

    def next_lapse(self) -> int | None:
        """Return the database's instant (`database_clock`) at which the first lease ends; None without leases.

        The value is cached: writes of other processes count after `look_again`.

        Raises:
            StorageFailed: the database cannot be read.
        """
        if self._state_cache is None or not self._state_cache.has_next_lapse:
            with self.reading() as reading:
                return reading.state_cache.next_lapse()
        return self._state_cache.next_lapse()

    def look_again(self) -> None:
        """Discard the cached lookups, after other processes have written."""
        self._state_cache = None

    def commit(self, *operations: Operation, actor: str, now: int, why: Mapping[str, Any] | None = None) -> list[Any]:
        """Run operations as one change of `actor`, whole or not at all; return their results.

        Raises:
            Refusal: nothing was written.
        """
        return self.commit_each(operations, actor, now, why)

    def commit_each(
        self,
        operations: Iterable[Operation],
        actor: str,
        now: int,
        why: Mapping[str, Any] | None = None,
        *,
        in_steps: bool = False,
        progress: Progress | None = None,
    ) -> list[Any]:
        """Run operations as `commit` does; with `in_steps`, in several transactions (see `transaction`).

        Raises:
            Refusal: nothing was written, or the written steps were undone.
        """
        results: list[Any] = []
        self.commit_many(operations, actor, now, why, results.append, in_steps=in_steps, progress=progress)
        return results

    def commit_many(
        self,
        operations: Iterable[Operation],
        actor: str,
        now: int,
        why: Mapping[str, Any] | None = None,
        take: Callable[[Any], None] = lambda _: None,
        *,
        in_steps: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Do as `commit_each` does, but keep no results: `take` gets each.

        Raises:
            Refusal: as `commit_each`.
        """
        with self.transaction(now, in_steps=in_steps) as transaction:
            if progress is not None:
                progress.begin(transaction)
            transaction.speak(actor, why)
            for operation in operations:
                transaction.pause()
                take(transaction.run(operation))
                if progress is not None:
                    progress.step()

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _may_succeed_later(error: Exception) -> TypeGuard[StorageFailed]:
    return isinstance(error, StorageFailed) and bool(error.data.get("retryable"))


UID_RUN: Final = 256
# One wrong digit, or two that changed places, alter a number by no multiple of 17: they name no neighbour.
UID_STEP: Final = 17
_LEAST: Final = 0xA00000


def new_uids() -> Iterator[str]:
    """Yield UUIDs without end, close together in an index: uids of 64 tasks that were scattered would write 64 pages.

    The first 24 bits count up by `UID_STEP` from a random number, redrawn after `UID_RUN` uids.

    The rest is random. They have the form of version 4. Uids made one after another differ within the first six
    letters, which are enough to name a task by. The first is `a` to `f`, as digits alone are the number of a task.
    """
    while True:
        first = _LEAST + int.from_bytes(os.urandom(4)) % (0x1000000 - UID_RUN * UID_STEP - _LEAST)
        # Those of a run are drawn at once, as the system call takes longest.
        digits = os.urandom(13 * UID_RUN).hex()
        for at, number in enumerate(range(first, first + UID_RUN * UID_STEP, UID_STEP)):
            drawn = digits[26 * at : 26 * at + 26]
            begin = f"{number:06x}{drawn[:2]}-{drawn[2:6]}-4{drawn[6:9]}"
            yield f"{begin}-{_VARIANT[drawn[9]]}{drawn[10:13]}-{drawn[13:25]}"


_VARIANT: Final = {digit: "89ab"[at % 4] for at, digit in enumerate("0123456789abcdef")}


def release_lapsed(store: Store, database_clock: DatabaseClock, now: int) -> None:
    """Release the claims whose lease has ended, if there are some.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    lapse = store.next_lapse()
    if lapse is not None and lapse <= database_clock.look(store.db, now):
        with store.transaction(now) as transaction:
            release_lapsed_claims(transaction)


def release_lapsed_claims(transaction: Transaction) -> None:
    """Do as `release_lapsed` does, within a transaction."""
    lapse = transaction.state_cache.next_lapse()
    if lapse is not None and lapse <= transaction.database_now:
        from tui_tasks.core.operations.tasks import LapseClaims

        with transaction.change():
            transaction.speak(SYSTEM)
            transaction.run(LapseClaims())
