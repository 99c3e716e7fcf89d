"""From what a file holds to operations: what was imported before is changed, not made a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from tui_tasks.core.operations.imports import ImportList, ImportLog, ImportTask
from tui_tasks.core.operations.lists import EnsureList
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.store import Progress, Store
from tui_tasks.formats.records import Read, Record, uid_of


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
        self._ids = {record.id: uid_of(format_, record.id) for record in read.records}
        self.outcome = Outcome(lost=Counter(read.lost))

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
        homes = {}
        for of_file in self._read.lists if self._target is None else ():
            values = {name: getattr(of_file, name) for name in of_file.__struct_fields__ if name != "id"}
            uid = uid_of(self._format, of_file.id)
            yield ImportList(uid=uid, **values)
            homes[of_file.id] = self._home_of(uid, of_file.kind, of_file.name)
        elsewhere = None
        forward: list[tuple[Record, str, tuple[str, ...]]] = []
        for record in sorted(self._read.records, key=lambda record: record.rank or ""):
            home = homes.get(record.home or "")
            if home is None:
                if elsewhere is None:
                    name = self._target or self._fallback
                    yield EnsureList(name, "tasklist", self._project)
                    elsewhere = queries.find_list(self._db, name)
                    assert elsewhere is not None
                home = elsewhere
            yield from self._task(record, home, forward)
        for record, uid, depends_on in forward:
            # What a task depends on may stand behind it in the file.
            found = self._there(depends_on)
            if lost := len(depends_on) - len(found):
                self.outcome.lost["depends_on: no such task in the file or the database"] += lost
            if set(found) != set(queries.depends_on(self._db, uid)):
                home = queries.list_by_id(self._db, queries.task(self._db, uid).list_id)
                yield ImportTask(uid, home.uid, {"name": record.fields["name"], "depends_on": found})
        if stop:
            raise _Rehearsed

    def _home_of(self, uid: str, kind: str, name: str) -> TaskList:
        found = queries.find_list(self._db, name if kind == "list" else uid)
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
            self.outcome.unchanged += 1
            return
        if "depends_on" in fields:
            wanted = tuple(
                sorted(self._ids.get(id_) or uid_of(self._format, id_) for id_ in dict.fromkeys(fields["depends_on"]))
            )
            fields["depends_on"] = self._there(wanted)
            if len(fields["depends_on"]) != len(wanted):
                forward.append((record, uid, wanted))
            if before is not None and set(fields["depends_on"]) == set(before.depends_on):
                fields["depends_on"] = before.depends_on
        if fields.get("status") == "in_progress" and (before is None or before.status != "in_progress"):
            home = queries.list_by_id(self._db, home.id)
            if not home.takes_more:
                lost["status: in progress, kept pending as the list takes one at a time"] += 1
                fields["status"] = "pending"
        if fields.get("key") is not None and before is None and queries.task_by_key(self._db, home.id, fields["key"]):
            lost["key: another task of the list has it"] += 1
            del fields["key"]
        yield ImportTask(uid, home.uid, fields, record.rank, record.times)
        for entry in record.log:
            yield ImportLog(uid_of(self._format, entry.uid), uid, entry.at, entry.agent, entry.message)
        if before is None or before.deleted:
            self.outcome.added += 1
        elif queries.any_task(self._db, uid) != before:
            self.outcome.changed += 1
        else:
            self.outcome.unchanged += 1
