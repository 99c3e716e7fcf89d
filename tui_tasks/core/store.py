"""The one door to the state: `commit` runs operations, rows and journal entries together, in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tui_tasks.core import compaction, journal, migrations, queries, rules
from tui_tasks.core.apply import TOUCHING, apply, touch
from tui_tasks.core.database import Database
from tui_tasks.core.models import STATE
from tui_tasks.core.operations import Operation
from tui_tasks.core.snapshots import Agent, Task, TaskList, full_task

_encode = msgspec.json.Encoder().encode


def _text(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


class Transaction:
    """An open write transaction: `run` decides and applies operations, each entry behind the other.

    Operations run within `change`, after `speak` has said whose they are.
    """

    def __init__(self, db: Database, now: int) -> None:
        self.db = db
        self.now = now
        self.actor = ""
        self.seq, self._hash = journal.head(db)
        self.inside_run = False
        self._why: str | None = None
        self.current: int | None = None  # the change that is being made, once it has an entry
        self.undoes: int | None = None
        self._touched: set[str] = set()
        # What was read once and cannot change under an open transaction but by its own entries.
        self._lists: dict[int | str, TaskList | None] = {}
        self._agents: dict[str, Agent | None] = {}
        self._next_ids: dict[str, int] = {}

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """One request or batch: all of it is done or nothing, and one undo takes it back."""
        before = (self.seq, self._hash)
        self.current = self.undoes = None
        try:
            with self.db.savepoint():
                yield
        except BaseException:
            self.seq, self._hash = before
            self._lists.clear()
            self._agents.clear()
            raise

    def speak(self, actor: str, why: Mapping[str, Any] | None = None, *, inside_run: bool = False) -> None:
        """Begin a request of the change: who speaks, and the reasoning that goes into the journal.

        `inside_run` says that the speaker was started by a run of a job (rule S1).
        """
        self.actor, self._why, self.inside_run = actor, _text(why) if why else None, inside_run
        self._touched.clear()

    def run(self, operation: Operation) -> Any:
        """Decide what an operation becomes, apply it, and return its result.

        Raises:
            Refusal: the state forbids it; nothing of the change is written once `change` has ended.
        """
        return rules.RULES[type(operation)](self, operation)

    def list_by_id(self, id: int) -> TaskList:
        """The list of that number."""
        found = self._lists.get(id)
        if found is None:
            found = self._lists[id] = queries.list_by_id(self.db, id)
        return found

    def find_list(self, handle: str) -> TaskList | None:
        """The list of that name, else the plan of that id, else None; its counts are those at the first look."""
        if handle not in self._lists:
            self._lists[handle] = queries.find_list(self.db, handle)
        return self._lists[handle]

    def agent(self, name: str) -> Agent | None:
        """What the human has said about an agent."""
        if name not in self._agents:
            self._agents[name] = queries.agent(self.db, name)
        return self._agents[name]

    def next_id(self, entity: str, count: int = 1) -> int:
        """The number of the next row of a table, or the first of `count`."""
        number = self._next_ids.get(entity) or queries.next_id(self.db, entity)
        self._next_ids[entity] = number + count
        return number

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
            self._forget(entity)
        if task is not None and entity in TOUCHING:
            touch(self.db, task.uid, task.version, self.now, self.actor)
        seq = self.seq + 1
        self.current = self.current or seq
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
            "new": _text(new),
            "image": _encode(self._image(task, entity, old)).decode() if task else None,
            "why": self._why,
        }
        self._hash = journal.append(self.db, self._hash, values)
        self.seq = seq

    def _forget(self, entity: str) -> None:
        if entity == "list":
            self._lists.clear()
        elif entity == "agent":
            self._agents.clear()

    def _image(self, task: Task, entity: str, old: dict[str, Any] | None) -> dict[str, Any]:
        handle = self.list_by_id(task.list_id).handle
        if entity == "task" and old is None:
            # Everything else is in the row itself: `journal.read_entry` puts it together.
            return {"list": handle}
        image = full_task(task, handle)
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


class Store:
    """A database of tasks, held by one thread."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        """Open the database, making it at first use.

        Raises:
            DatabaseRefused: it cannot be used, and was left as it is.
        """
        self.db = migrations.opened(path, read_only=read_only)
        self.read_only = read_only

    @property
    def path(self) -> str:
        """The database's file."""
        return self.db.path

    @contextlib.contextmanager
    def transaction(self, now: int) -> Iterator[Transaction]:
        """Hold one write transaction for any number of requests; durable when it ends.

        Raises:
            StorageFailed: nothing was written.
        """
        with self.db.transaction(write=True):
            transaction = Transaction(self.db, now)
            yield transaction

    def commit(self, *operations: Operation, actor: str, now: int, why: Mapping[str, Any] | None = None) -> list[Any]:
        """Run operations as one change of `actor`, whole or not at all; return their results.

        Raises:
            Refusal: nothing was written.
        """
        with self.transaction(now) as transaction, transaction.change():
            transaction.speak(actor, why)
            return [transaction.run(operation) for operation in operations]

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
