"""From what a file holds to operations: what was imported before is changed, not made a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from tui_tasks.core.operations.imports import ImportList, ImportLog, ImportTask
from tui_tasks.core.operations.lists import EnsureList
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.store import Progress, Store
from tui_tasks.formats import circles
from tui_tasks.formats.records import ListRecord, Read, Record, plain, uid_of, with_foreign


class Outcome(msgspec.Struct):
    """What an import has done, and a count of what of the file did not fit."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    lost: Counter[str] = msgspec.field(default_factory=Counter)


class _Rehearsed(Exception):
    """Ends a rehearsal: its transaction is rolled back."""


class Importing:
    """One import, as a lazy sequence of operations that look at what the ones before have made.

    `target` is the list that everything goes to; None the lists that the file names, else `fallback`.
    """

    def __init__(
        self, store: Store, format_: str, read: Read, *, target: str | None, fallback: str, project: str | None
    ) -> None:
        self._store = store
        self._db = store.db
        self._format = format_
        self._read = read
        self._target = target
        self._fallback = fallback
        self._project = project
        self._lists = {of_file.id: of_file for of_file in read.lists}
        self._homes: dict[str, TaskList] = {}
        self._unchanged: set[str] = set()
        self._ids = {record.id: uid_of(format_, record.id) for record in read.records}
        self.outcome = Outcome(lost=Counter(read.lost))
        self._left_out: set[tuple[str, str]] = set()
        if not read.has_places:
            after = {self._ids[record.id]: self._after(record) for record in read.records}
            self._left_out.update(circles.closing(after))
            if self._left_out:
                self.outcome.lost["depends_on: left out, as the tasks would wait for each other"] = len(self._left_out)

    def _after(self, record: Record) -> tuple[str, ...]:
        """The uids of what the file says that a task waits for, each once."""
        ids = record.fields.get("depends_on", ())
        return tuple(sorted({self._ids.get(id_) or uid_of(self._format, id_) for id_ in ids}))

    def run(self, actor: str, now: int, progress: Progress | None = None, *, rehearsal: bool = False) -> Outcome:
        """Do it as one change, which one undo takes back; a rehearsal does it all and keeps nothing.

        Raises:
            Refusal: nothing was written; the task is named, or its place in the file where that cannot be read.
        """
        try:
            self._store.commit_each(
                self._operations(stop=rehearsal), actor, now, in_steps=not rehearsal, progress=progress
            )
        except _Rehearsed:
            self._store.look_again()
        return self.outcome

    def _operations(self, *, stop: bool) -> Iterator[Operation]:
        if self._read.has_places and self._target is None:
            for of_file in self._read.lists:
                yield from self._list(of_file)
        forward: list[tuple[Record, str, tuple[str, ...]]] = []
        for record in sorted(self._read.records, key=lambda record: record.rank or ""):
            home = self._present_home(record)
            if home is None:
                home = yield from self._home(record)
            yield from self._task(record, home, forward)
        for record, uid, depends_on in forward:
            # What a task depends on may stand behind it in the file, or depend on it until later.
            found = self._there(depends_on)
            if lost := len(depends_on) - len(found):
                self.outcome.lost["depends_on: no such task in the file or the database"] += lost
            if set(found) != set(queries.depends_on(self._db, uid)):
                home = queries.list_by_id(self._db, queries.task(self._db, uid).list_id)
                if uid in self._unchanged:
                    self._unchanged.remove(uid)
                    self.outcome.changed += 1
                yield ImportTask(uid, home.uid, {"name": record.fields["name"], "depends_on": found})
        self.outcome.unchanged = len(self._unchanged)
        if stop:
            raise _Rehearsed

    def _present_home(self, record: Record) -> TaskList | None:
        """The list that the task is in, where the file does not decide that."""
        if self._read.has_places or self._target is not None:
            return None
        before = queries.any_task(self._db, self._ids[record.id])
        home = None if before is None or before.deleted else queries.list_by_id(self._db, before.list_id)
        return None if home is None or home.deleted else home

    def _home(self, record: Record) -> Generator[Operation, None, TaskList]:
        """The list that the file names, else the one of the import; made where it is not there."""
        of_file = self._lists.get(record.home or "") if self._target is None else None
        if of_file is not None:
            return (yield from self._list(of_file))
        if "" not in self._homes:
            name = self._target or self._fallback
            yield EnsureList(name, "tasklist", self._project)
            self._homes[""] = self._found(name)
        return self._homes[""]

    def _list(self, of_file: ListRecord) -> Generator[Operation, None, TaskList]:
        if of_file.id not in self._homes:
            values = {name: getattr(of_file, name) for name in of_file.__struct_fields__ if name != "id"}
            if not self._read.has_places:
                values["project"] = self._project
            uid = uid_of(self._format, of_file.id)
            yield ImportList(uid=uid, **values)
            self._homes[of_file.id] = self._found(of_file.name if of_file.kind == "list" else uid)
        return self._homes[of_file.id]

    def _found(self, handle: str) -> TaskList:
        found = queries.find_list(self._db, handle)
        assert found is not None
        return found

    def _there(self, uids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(uid for uid in uids if queries.status(self._db, uid) is not None)

    def _task(
        self, record: Record, home: TaskList, forward: list[tuple[Record, str, tuple[str, ...]]]
    ) -> Iterator[Operation]:
        uid = self._ids[record.id]
        before = queries.any_task(self._db, uid)
        fields = dict(record.fields)
        lost = self.outcome.lost
        if before is not None and not before.deleted and before.claimed_by is not None:
            lost["left alone: an agent has claimed the task"] += 1
            self._unchanged.add(uid)
            return
        if "depends_on" in fields:
            wanted = tuple(on for on in self._after(record) if (uid, on) not in self._left_out)
            first = self._there(wanted)
            if before is not None:
                # What is new waits until all that is gone is gone: a dependency may have been turned around.
                first = tuple(on for on in before.depends_on if on in first)
            fields["depends_on"] = first
            if set(first) != set(wanted):
                forward.append((record, uid, wanted))
        if fields.get("status") == "in_progress" and (before is None or before.status != "in_progress"):
            home = queries.list_by_id(self._db, home.id)
            if not home.takes_more:
                lost["status: in progress, kept pending as the list takes one at a time"] += 1
                fields["status"] = "pending"
        if fields.get("key") is not None and before is None and queries.task_by_key(self._db, home.id, fields["key"]):
            lost["key: another task of the list has it"] += 1
            del fields["key"]
        fields |= self._metadata(record, fields, before)
        times = record.times
        if before is not None and not before.deleted:
            fields = self._finer(fields, before)
            times = self._finer(times, before)
        yield ImportTask(uid, home.uid, fields, record.rank, times)
        yield from self._log(record, uid)
        self._count(uid, before)

    def _metadata(self, record: Record, fields: dict[str, Any], before: Task | None) -> dict[str, Any]:
        """The metadata with what the file's program knows of the task beside what else is there."""
        if not record.foreign:
            return {}
        present = fields.get("metadata", None if before is None else before.metadata)
        if not isinstance(present, dict | None):
            self.outcome.lost["metadata: it is no object, so nothing of the file is kept in it"] += 1
        return {"metadata": with_foreign(present, self._format, record.foreign)}

    def _finer(self, told: dict[str, Any], before: Task) -> dict[str, Any]:
        """What the file tells; where the task is told just so by the format, the task's own value."""
        return {
            name: present
            if (tell := self._read.coarse.get(name)) is not None
            and tell(present := getattr(before, name)) == tell(value)
            else value
            for name, value in told.items()
        }

    def _log(self, record: Record, uid: str) -> Iterator[Operation]:
        if not record.log:
            return
        tell = self._read.coarse.get("log", plain)
        known = {tell(entry.message) for entry in queries.logs(self._db, uid)}
        for entry in record.log:
            if entry.uid is not None:
                id_ = entry.uid
            elif tell(entry.message) in known:
                continue
            else:
                id_ = f"{uid}\0{entry.message}"
            yield ImportLog(uid_of(self._format, id_), uid, entry.at, entry.agent, entry.message)

    def _count(self, uid: str, before: Task | None) -> None:
        if before is None or before.deleted:
            self.outcome.added += 1
        elif queries.any_task(self._db, uid) != before:
            self.outcome.changed += 1
        else:
            self._unchanged.add(uid)
