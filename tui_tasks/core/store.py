"""The one door to the state: `commit` runs operations, rows and journal entries together, in one transaction."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from tui_tasks.core import rules, unfinished
from tui_tasks.core.apply import TOUCHING, apply, touch
from tui_tasks.core.elapsed import Elapsed
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.storage_errors import is_storage_error
from tui_tasks.core.errors import Refusal
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.operations import Operation, Undo
from tui_tasks.core.review_policy import ReviewPolicy
from tui_tasks.core.schema import migrations
from tui_tasks.core.schema.models import STATE
from tui_tasks.core.snapshots import Task, full_task
from tui_tasks.core.state_cache import StateCache, still_known
from tui_tasks.core.uids import new_uids
from tui_tasks.core.unfinished import StepRecord, UnfinishedChange
from tui_tasks.core.vocab import SYSTEM

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode

# A long change keeps others from writing for so long at a time; who waits for the lock asks for it every 1 to 3 ms.
STEP_SECONDS: Final = 0.1
_ROOM_SECONDS: Final = 0.003


def _text(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


class HalfWritten(Exception):
    """A change has failed after it had written something, in a transaction without savepoints: begin anew with them."""


class Progress(Protocol):
    """Who is told how far a commit has come, on the thread that makes it."""

    def begin(self, transaction: Transaction) -> None:
        """It waits for nobody any more."""

    def step(self) -> None:
        """One more operation is done."""


class PartlyDone(Exception):
    """A change has failed after some steps of it were committed, which are taken back; its cause says why.

    Attributes:
        at: the index of the request that failed, where the change is a batch.
    """

    at = 0


class Reading:
    """An open transaction as its requests read it."""

    def __init__(self, db: Database, known: StateCache) -> None:
        self.db = db
        self.known = known

    @property
    def seq(self) -> int:
        """The journal's newest entry."""
        return self.known.seq


class Transaction(Reading):
    """An open write transaction: `run` decides and applies operations, each entry behind the other.

    Operations run within `change`, after `speak` has said whose they are.

    Attributes:
        entries: how many it has written.
        is_partly_done: some steps of the change that is being made were committed.
    """

    def __init__(
        self,
        db: Database,
        known: StateCache,
        uids: Iterator[str],
        now: int,
        *,
        elapsed: Elapsed | None = None,
        review: Callable[[], ReviewPolicy] = ReviewPolicy,
        savepoints: bool = True,
        in_steps: bool = False,
    ) -> None:
        """Begin to write at `now`; `uids` are those of new rows; `review` tells what the human has configured of it.

        Without `savepoints` a change costs a tenth less, and one that fails half written raises `HalfWritten`.
        `in_steps`: see `pause`; then there are no savepoints.
        """
        super().__init__(db, known)
        self.now = now
        self._elapsed = elapsed
        self._passed: int | None = None
        self.review = review
        self.savepoints = savepoints and not in_steps
        self.in_steps = in_steps
        self.entries = 0
        self.is_partly_done = False
        self._record: StepRecord | None = None
        self._held_since = time.monotonic()
        self.actor = ""
        self.inside_run = False
        self._why: str | None = None
        self.current: int | None = None  # the speaker's part of the change that is being made, once it has an entry
        self._parts: dict[str, int] = {}
        self.undoes: int | None = None
        self._touched: set[str] = set()
        self._uids = uids

    @property
    def passed(self) -> int:
        """The database's own instant (`elapsed`), by which things end; `now` where nothing tells what has passed."""
        if self._elapsed is None:
            return self.now
        if self._passed is None:
            self._passed = self._elapsed.keep(self.db, self.now)
        return self._passed

    def change(self) -> ChangeScope:
        """One request or batch: all of it is done or nothing, and one undo takes back what one agent did in it."""
        return ChangeScope(self)

    def speak(self, actor: str, why: Mapping[str, Any] | None = None, *, inside_run: bool = False) -> None:
        """Begin a request of the change: who speaks, and the reasoning that goes into the journal.

        `inside_run` says that the speaker was started by a run of a job (rule S1).
        """
        self.actor, self._why, self.inside_run = actor, _text(why) if why else None, inside_run
        self._touched.clear()
        self.current = self._parts.get(actor)

    def run(self, operation: Operation) -> Any:
        """Decide what an operation becomes, apply it, and return its result.

        Raises:
            Refusal: the state forbids it; nothing of the change is written once `change` has ended.
        """
        return rules.RULES[type(operation)](self, operation)

    def pause(self) -> None:
        """Let others write, where the change may be made in steps and has kept them waiting for long.

        Whatever was read before may have been changed by then. Where the change fails afterwards, what it has done is
        taken back by an undo.
        """
        if not self.in_steps or time.monotonic() - self._held_since < STEP_SECONDS:
            return
        if self._parts:
            self._record = self._record or StepRecord(self.db)
            self._record.record(self._parts)
            self.is_partly_done = True
        self.db.let_others_write(_ROOM_SECONDS)
        self.known = still_known(self.db, self.known)
        self._touched.clear()
        self._held_since = time.monotonic()

    def forget_steps(self) -> None:
        """Forget that the change is unfinished, in the transaction of its last step or of taking it back."""
        if self._record is not None:
            self._record.forget()

    def release_steps(self) -> None:
        """Remove the lock that the change was made under, once that transaction has ended."""
        if self._record is not None:
            self._record.release()

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Each agent's part of the change that is being made, by its first entry, the newest first."""
        return sorted(self._parts.items(), key=lambda part: -part[1])

    def new_uid(self) -> str:
        """An id for a new row."""
        return next(self._uids)

    def emit(
        self,
        kind: str,
        entity: str,
        uid: str,
        *,
        old: dict[str, Any] | None = None,
        new: dict[str, Any] | None = None,
        task: Task | None = None,
    ) -> None:
        """Write a row and the journal entry that tells of it; `new` of None is an entry alone.

        `task` is the task that it is about, as it is afterwards.
        """
        if new is not None and entity in STATE:
            apply(self.db, entity, uid, old, new)
            self.known.follow(entity, old, new)
        if task is not None and entity in TOUCHING:
            touch(self.db, task.uid, task.version, self.now, self.actor)
        known, seq = self.known, self.known.seq + 1
        if self.current is None:
            self.current = self._parts[self.actor] = seq
        values = {
            "seq": seq,
            "at": self.now,
            "actor": self.actor,
            "kind": kind,
            "entity": entity,
            "uid": uid,
            "task": task.uid if task else None,
            "change": self.current,
            "undoes": self.undoes,
            "old": _text(old),
            # A task that was made is its columns, and twice as soon written.
            "new": _text(task if entity == "task" and old is None else new),
            "image": _text(self._image(task, entity, old)) if task else None,
            "why": self._why,
        }
        known.hash = journal.append(self.db, known.hash, values)
        known.seq = seq
        self.entries += 1

    def emit_by_system(self, kind: str, entity: str, uid: str, *, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Write a row and an entry that nobody has asked for: a change of its own, that no undo takes back."""
        speaker, parts = (self.actor, self._why, self.current, self.undoes), dict(self._parts)
        self.actor, self._why, self.current, self.undoes = SYSTEM, None, None, None
        self.emit(kind, entity, uid, old=old, new=new)
        self.actor, self._why, self.current, self.undoes = speaker
        self._parts = parts

    def begin_change(self) -> tuple[int, bytes]:
        """Begin a change; what is returned, `fail_change` goes back to."""
        self.current = self.undoes = None
        self.is_partly_done = False
        self._parts.clear()
        return self.known.seq, self.known.hash

    def fail_change(self, before: tuple[int, bytes]) -> None:
        """Forget what a change has done to this transaction, once the database has."""
        self.known = StateCache(self.db, *before)

    def _image(self, task: Task, entity: str, old: dict[str, Any] | None) -> dict[str, Any]:
        home = self.known.list_by_id(task.list_id)
        briefs = [check.brief() for check in self.known.checks_of(task, home)]
        if entity == "task" and old is None:
            # Everything else is in the row itself: `journal.read_entry` puts it together.
            return {"list": home.handle, "checks": briefs} if briefs else {"list": home.handle}
        image = full_task(task, home.handle, briefs)
        if not briefs:
            del image["verified"], image["checks"]
        if len(task.description) > journal.LONG_TEXT:
            del image["description"]
        for name in ("result", "metadata"):
            if image[name] is not None and len(_encode(image[name])) > journal.LONG_TEXT:
                del image[name]
        return image

    def first_touch(self, uid: str) -> bool:
        """Whether this request has not changed that task before: a request raises a version by one."""
        if uid in self._touched:
            return False
        self._touched.add(uid)
        return True


class ChangeScope:
    """Holds one change of a transaction while a block runs: all of it is done or nothing.

    A savepoint lets SQLite keep each page as it was before, for every request. Nearly all that is refused is refused
    before anything is written, so that it is cheaper to go without, and to do the whole transaction again where not.
    """

    __slots__ = ("_before", "_changes", "_transaction")

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __enter__(self) -> None:
        db = self._transaction.db
        self._before = self._transaction.begin_change()
        if self._transaction.savepoints:
            db.begin_savepoint()
        else:
            self._changes = db.changes()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        transaction, db = self._transaction, self._transaction.db
        if error is None:
            if transaction.savepoints:
                db.end_savepoint()
            return
        if transaction.is_partly_done:
            raise PartlyDone from error
        if transaction.savepoints:
            db.fail_savepoint()
        elif db.changes() != self._changes and isinstance(error, Exception) and not is_storage_error(error):
            raise HalfWritten from error
        transaction.fail_change(self._before)


class Store:
    """A database of tasks, held by one thread."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        """Open the database, making it at first use.

        Raises:
            DatabaseRefused: it cannot be used, and was left as it is.
        """
        self.db = migrations.opened(path, read_only=read_only)
        self.read_only = read_only
        # What tells how much time has passed, where something is to end that a wrong clock must not end.
        self.elapsed: Elapsed | None = None
        # Which lists hold what agents file, beside those of which the database itself says so.
        self.review: Callable[[], ReviewPolicy] = ReviewPolicy
        self._known: StateCache | None = None
        self._uids = new_uids()

    @property
    def path(self) -> str:
        """The database's file."""
        return self.db.path

    @contextlib.contextmanager
    def transaction(self, now: int, *, savepoints: bool = True, in_steps: bool = False) -> Iterator[Transaction]:
        """Hold one write transaction for any number of requests; durable when it ends. `savepoints`: see `Change`.

        `in_steps`: for one change that may be long, which others see being made while they write themselves.

        Raises:
            StorageFailed: nothing was written.
            PartlyDone: some steps were, and were taken back.
        """
        self._take_back_interrupted(now)
        transaction: Transaction | None = None
        try:
            with self.db.transaction(write=True):
                # Taken out until it is committed: what fails leaves nothing behind that holds no more.
                before, self._known = self._known, None
                known = still_known(self.db, before)
                transaction = Transaction(
                    self.db,
                    known,
                    self._uids,
                    now,
                    elapsed=self.elapsed,
                    review=self.review,
                    savepoints=savepoints,
                    in_steps=in_steps,
                )
                file = self.db.file
                yield transaction
                transaction.forget_steps()
        except Exception:
            # In another file the numbers of entries mean something else.
            if transaction is not None and transaction.is_partly_done and self.db.file == file:
                self._take_back(transaction)
            raise
        finally:
            if transaction is not None:
                transaction.release_steps()
        self._known = transaction.known

    def _take_back(self, failed: Transaction) -> None:
        """Take back the steps of a change that has failed."""
        try:
            with self.db.transaction(write=True):
                back = Transaction(self.db, still_known(self.db, None), self._uids, failed.now, in_steps=True)
                for actor, change in failed.parts:
                    back.begin_change()
                    back.speak(actor)
                    back.run(Undo(change))
                failed.forget_steps()
        except (Refusal, HalfWritten) as error:
            _log.error("a change that has failed stands in part (undo takes it back): %s", error)
            with self.db.transaction(write=True):
                failed.forget_steps()

    def _take_back_interrupted(self, now: int) -> None:
        """Take back the changes whose process was killed between two steps.

        Raises:
            StorageFailed: they could not be.
        """
        if self._known is not None and not self._known.may_be_unfinished:
            return
        with self.db.transaction(write=False):
            self._known = still_known(self.db, self._known)
            found = unfinished.recorded(self.db)
        for each in found:
            lock = unfinished.take_lock(self.db, each.lock)
            if lock is None:
                continue
            try:
                self._take_back_recorded(each, now)
            finally:
                lock.release()
        self._known.may_be_unfinished = bool(found)

    def _take_back_recorded(self, interrupted: UnfinishedChange, now: int) -> None:
        _log.warning("change %s of %s was interrupted: it is taken back", interrupted.change, interrupted.actor)
        back: Transaction | None = None
        try:
            with self.db.transaction(write=True):
                if interrupted not in unfinished.recorded(self.db):
                    return
                back = Transaction(self.db, still_known(self.db, None), self._uids, now, in_steps=True)
                back.speak(interrupted.actor)
                back.run(Undo(interrupted.change))
                back.forget_steps()
                unfinished.forget(self.db, interrupted)
        except (Refusal, HalfWritten) as error:
            _log.error("change %s stands in part (undo takes it back): %s", interrupted.change, error)
            with self.db.transaction(write=True):
                unfinished.forget(self.db, interrupted)
        finally:
            if back is not None:
                back.release_steps()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reading]:
        """Hold one read transaction for any number of requests.

        Raises:
            StorageFailed: the database cannot be read.
        """
        with self.db.transaction(write=False):
            self._known = still_known(self.db, self._known)
            yield Reading(self.db, self._known)

    def next_lapse(self) -> int | None:
        """The database's own instant (`elapsed`) at which the first standing lease is over.

        What others wrote since it was looked up counts after `look_again`.

        Raises:
            StorageFailed: the database cannot be read.
        """
        if self._known is None or not self._known.has_next_lapse:
            with self.reading() as reading:
                return reading.known.next_lapse()
        return self._known.next_lapse()

    def look_again(self) -> None:
        """Look everything up anew: others have written."""
        self._known = None

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
        told: Progress | None = None,
    ) -> list[Any]:
        """The same, in steps where there are so many that others would wait (see `transaction`).

        Raises:
            Refusal: nothing was written, or what was is taken back.
        """
        results = []
        with self.transaction(now, in_steps=in_steps) as transaction:
            if told is not None:
                told.begin(transaction)
            transaction.speak(actor, why)
            for operation in operations:
                transaction.pause()
                results.append(transaction.run(operation))
                if told is not None:
                    told.step()
        return results

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def replay(source: Database, target: Database) -> None:
    """Apply every entry of one database's journal to another that has had none: it gives the same tables."""
    with target.transaction(write=True):
        begin = compaction.restore_base(source, target)
        for entry in journal.all_entries(source, begin):
            if entry.new is not None and entry.entity in STATE:
                apply(target, entry.entity, entry.uid, entry.old, entry.new)
            if entry.entity in TOUCHING and entry.image is not None and entry.task is not None:
                touch(target, entry.task, entry.image["version"], entry.at, entry.actor)
