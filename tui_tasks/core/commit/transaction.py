"""The open transaction of a store: operations run in it, and write rows and journal together."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import rules
from tui_tasks.core.commit import journal
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.commit.row_writes import TOUCHING, add_task, apply, touch
from tui_tasks.core.commit.state_cache import StateCache, current_cache
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import is_storage_error
from tui_tasks.core.operations import Operation
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.snapshots import Task, TaskList, full_task
from tui_tasks.core.vocab import RESERVED_AGENTS, SHELL, SYSTEM

if TYPE_CHECKING:
    from tui_tasks.core.commit.unfinished_changes import StepRecord
    from tui_tasks.core.rules.recorded_settings import ReviewPolicy

_encode = msgspec.json.Encoder().encode

# Seconds that a long change holds the write lock at a time, and seconds that it then leaves to other writers, which
# ask for the lock every 1 to 3 ms.
STEP_SECONDS: Final = 0.1
_YIELD_SECONDS: Final = 0.003


def _text(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


class HalfWritten(Exception):
    """A change failed after a write, without savepoints: the transaction must be repeated with savepoints."""


class PartlyDone(Exception):
    """A change failed after some of its steps were committed; they are undone. `__cause__` is the failure.

    Attributes:
        at: the index of the failed request if the change is a batch.
    """

    at = 0


class Reading:
    """An open transaction, as far as it is used to read."""

    def __init__(self, db: Database, state_cache: StateCache) -> None:
        self.db = db
        self.state_cache = state_cache

    @property
    def seq(self) -> int:
        """Return the seq of the journal's newest entry."""
        return self.state_cache.seq


class Transaction(Reading):
    """An open write transaction: `run` decides and applies operations and appends their journal entries.

    Operations run within `change`, after `speak` has set their actor.

    Attributes:
        entries: the number of entries written.
        current: the seq of the first entry of the actor's part of the current change; None before there is one.
        is_partly_done: whether steps of the current change were committed.
        answers_by_rule: whether standing rules of the human's answer; not where the role of a server may not answer.
    """

    def __init__(
        self,
        db: Database,
        state_cache: StateCache,
        uids: Iterator[str],
        now: int,
        *,
        database_clock: DatabaseClock | None = None,
        review: Callable[[], ReviewPolicy] | None = None,
        is_person: Callable[[Database], bool] = lambda db: False,
        inputs_read: Mapping[str, bool] | None = None,
        savepoints: bool = True,
        in_steps: bool = False,
    ) -> None:
        """Wrap the open write transaction of `db`.

        Args:
            now: the time of day, in microseconds since the epoch.
            uids: yields the uids of new rows.
            review: returns which lists hold new tasks for review, as the human has configured it.
            is_person: returns whether a person at a terminal stands behind the shell's commands.
            inputs_read: of runs of checks, whether their inputs are as they were, read just before this transaction;
                None: whoever holds it cannot read them.
            savepoints: whether each change has a savepoint. Without one a change costs a tenth less, and one that fails
                after a write raises `HalfWritten`.
            in_steps: whether `pause` may commit; this excludes savepoints.
        """
        super().__init__(db, state_cache)
        self.now = now
        self._database_clock = database_clock
        self._database_now: int | None = None
        self._find_review = review
        self._review: ReviewPolicy | None = None
        self._find_person = is_person
        self._is_person: bool | None = None
        self.inputs_read = inputs_read
        self.savepoints = savepoints and not in_steps
        self.in_steps = in_steps
        self.entries = 0
        self.is_partly_done = False
        self.answers_by_rule = True
        self._record: StepRecord | None = None
        self._locked_since = time.monotonic()
        self.actor = ""
        self.inside_run = False
        self._why: str | None = None
        self.current: int | None = None  # the speaker's part of the change that is being made, once it has an entry
        self._parts: dict[str, int] = {}
        self.undoes: int | None = None
        self._touched: set[str] = set()
        self._uids = uids

    @property
    def review(self) -> ReviewPolicy:
        """Which lists hold new tasks for review: what is recorded in the database, else what this process's settings
        say when the transaction first asks.
        """
        recorded = self.state_cache.recorded_settings
        if recorded is not None:
            return recorded.policy
        if self._review is None:
            from tui_tasks.core.rules.recorded_settings import ReviewPolicy  # for writes alone

            self._review = (self._find_review or ReviewPolicy)()
        return self._review

    @property
    def files_for_review(self) -> bool:
        """Whether what the speaker files is held in a list under review: an agent's, and a shell's without a person at
        a terminal.
        """
        return not self.is_persons_shell if self.actor == SHELL else self.actor not in RESERVED_AGENTS

    @property
    def is_persons_shell(self) -> bool:
        """Whether the speaker is a shell, with a person at a terminal."""
        if self.actor == SHELL and self._is_person is None:
            self._is_person = self._find_person(self.db)
        return self.actor == SHELL and bool(self._is_person)

    @property
    def database_now(self) -> int:
        """Return the database's instant in microseconds (`database_clock`), by which leases end; `now` without a
        `DatabaseClock`.
        """
        if self._database_clock is None:
            return self.now
        if self._database_now is None:
            self._database_now = self._database_clock.record(self.db, self.now)
        return self._database_now

    def change(self) -> ChangeScope:
        """Return the scope of one request or batch: all or nothing is done, and one undo reverts one agent's part."""
        return ChangeScope(self)

    def speak(self, actor: str, why: Mapping[str, Any] | None = None, *, inside_run: bool = False) -> None:
        """Begin a request of the change: set its actor, and the reasoning that goes into the journal.

        `inside_run`: whether the actor was started by a run of a job (rule S1).
        """
        self.actor, self._why, self.inside_run = actor, _text(why) if why else None, inside_run
        self._touched.clear()
        self.current = self._parts.get(actor)

    @contextlib.contextmanager
    def speaking_as(self, actor: str) -> Iterator[None]:
        """Write entries of another actor, as its own part of the change."""
        speaker, self.actor, self.current = self.actor, actor, self._parts.get(actor)
        try:
            yield
        finally:
            self.actor, self.current = speaker, self._parts.get(speaker)

    def run(self, operation: Operation) -> Any:
        """Apply an operation by the rules of the state and return its result.

        Raises:
            Refusal: the state forbids it; leaving `change` with it rolls the change back.
        """
        return rules.RULES[type(operation)](self, operation)

    def pause(self) -> None:
        """Commit and let others write, if the change is made in steps and has held the lock for `STEP_SECONDS`.

        What was read before may be out of date afterwards. If the change fails later, its steps are undone.

        Raises:
            Conflict: another machine has undone its steps.
        """
        if not self.in_steps or time.monotonic() - self._locked_since < STEP_SECONDS:
            return
        if self._parts:
            from tui_tasks.core.commit.unfinished_changes import StepRecord  # few changes take so long

            self._record = self._record or StepRecord(self.db)
            self._record.record(self._parts)
            self.is_partly_done = True
        self.db.let_others_write(_YIELD_SECONDS)
        self.state_cache = current_cache(self.db, self.state_cache)
        self._touched.clear()
        self._locked_since = time.monotonic()
        if self._record is not None:
            self._record.refuse_if_undone()

    def forget_steps(self) -> None:
        """Delete the record of an unfinished change, in the transaction of its last step or of its undo."""
        if self._record is not None:
            self._record.forget()

    def release_steps(self) -> None:
        """Release the lock file of the change, after that transaction has ended."""
        if self._record is not None:
            self._record.release()

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Return the parts of the current change as (actor, seq of its first entry), newest first."""
        return sorted(self._parts.items(), key=lambda part: -part[1])

    def committed_parts(self) -> list[tuple[str, int]]:
        """Return those of which steps are committed, except what others undo."""
        committed = {each.change for each in self._record.committed()} if self._record is not None else set()
        return [part for part in self.parts if part[1] in committed]

    def new_uid(self) -> str:
        """Return a uid for a new row."""
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
        """Write a row and its journal entry; with `new` of None, only the entry.

        `task` is the task that the entry is about, as it is afterwards.
        """
        if new is not None and entity in STATE:
            apply(self.db, entity, uid, old, new)
            self.state_cache.follow(entity, new)
        if task is not None and entity in TOUCHING:
            touch(self.db, task.uid, task.version, self.now, self.actor)
        image = self._image(task) if task else None
        self._append(kind, entity, uid, task.uid if task else None, old, new, image)

    def emit_new_task(self, task: Task, home: TaskList) -> None:
        """Write a new task of a list and its journal entry; both take the struct as it is, in half the time."""
        add_task(self.db, task)
        self.state_cache.follow_new_task(task)
        # What is not in the row of the task: `journal.read_entry` completes the image.
        image: dict[str, Any] = {"list": home.handle}
        if checks := self.state_cache.checks_of(task, home):
            image["checks"] = [check.brief() for check in checks]
        self._append("task.created", "task", task.uid, task.uid, None, task, image)

    def _append(
        self,
        kind: str,
        entity: str,
        uid: str,
        task_uid: str | None,
        old: dict[str, Any] | None,
        new: dict[str, Any] | Task | None,
        image: dict[str, Any] | None,
    ) -> None:
        """Write the journal entry of a row that is written."""
        cache, seq = self.state_cache, self.state_cache.seq + 1
        if self.current is None:
            self.current = self._parts[self.actor] = seq
        # In the order of the columns of `tables.JournalRow`.
        values = (
            seq,
            self.now,
            self.actor,
            kind,
            entity,
            uid,
            task_uid,
            self.current,
            self.undoes,
            _text(old),
            _text(new),
            _text(image),
            self._why,
        )
        cache.hash = journal.append(self.db, cache.hash, values)
        cache.seq = seq
        self.entries += 1

    def emit_by_system(self, kind: str, entity: str, uid: str, *, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Write a row and an entry of the actor `system`, as a change of its own that is never undone."""
        speaker, parts = (self.actor, self._why, self.current, self.undoes), dict(self._parts)
        self.actor, self._why, self.current, self.undoes = SYSTEM, None, None, None
        self.emit(kind, entity, uid, old=old, new=new)
        self.actor, self._why, self.current, self.undoes = speaker
        self._parts = parts

    def begin_change(self) -> tuple[int, bytes]:
        """Begin a change; return the newest seq and hash, to which `fail_change` returns."""
        self.current = self.undoes = None
        self.is_partly_done = False
        self._parts.clear()
        return self.state_cache.seq, self.state_cache.hash

    def fail_change(self, before: tuple[int, bytes]) -> None:
        """Reset this object to the state before a change that the database has rolled back."""
        self.state_cache = StateCache(self.db, *before)

    def _image(self, task: Task) -> dict[str, Any]:
        home = self.state_cache.list_by_id(task.list_id)
        briefs = [check.brief() for check in self.state_cache.checks_of(task, home)]
        works = self.state_cache.works_of(task.uid)
        image = full_task(task, home.handle, briefs, works)
        # The last of `works` is the work.
        del image["work"]
        if not works:
            del image["works"]
        if not briefs:
            del image["verified"], image["checks"]
        if len(task.description) > journal.LONG_TEXT:
            del image["description"]
        for name in ("result", "metadata"):
            if image[name] is not None and len(_encode(image[name])) > journal.LONG_TEXT:
                del image[name]
        return image

    def first_touch(self, uid: str) -> bool:
        """Return whether this request changes the task for the first time; it raises a task's version only once."""
        if uid in self._touched:
            return False
        self._touched.add(uid)
        return True


class ChangeScope:
    """The context manager of one change of a transaction: all of it is done or nothing.

    A savepoint makes SQLite keep the previous version of each changed page. Nearly every refusal comes before anything
    is written, so it is cheaper to do without and to repeat the whole transaction with savepoints in the other cases.
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
