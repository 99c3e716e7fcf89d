"""Imports a parsed file: what was imported before is updated, not added a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import EnsureList, ImportDeletion, ImportList, ImportLog, ImportTask
from tui_tasks.core.rank import is_file_rank, without_collisions
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.store import Progress, Store
from tui_tasks.formats.cycles import closing_edges
from tui_tasks.formats.file_records import (
    ListRecord,
    ParsedFile,
    TaskRecord,
    plain,
    uid_of,
    with_foreign,
)


class Outcome(msgspec.Struct):
    """The result of an import: counts of tasks, and of what the database cannot hold, by its description."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    lost: Counter[str] = msgspec.field(default_factory=Counter)


LEFT_ALONE = "left alone: "
"""How `Outcome.lost` begins for tasks that an import does not change, though the database could hold it."""


class _EndRehearsal(Exception):
    """Ends a rehearsal, so that its transaction is rolled back."""


def _is_last(record: TaskRecord) -> bool:
    return record.rank is not None and record.fields.get("status") == "in_progress"


class Importer:
    """One import: a lazy sequence of operations, each of which depends on the results of those before.

    `target` is the list for all tasks; None: the lists that the file names, else `fallback`.
    """

    def __init__(
        self, store: Store, format_: str, read: ParsedFile, *, target: str | None, fallback: str, project: str | None
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
        self._stamps: dict[str, tuple[int, int]] = {}
        self._actor = ""
        self._ids = {record.id: uid_of(format_, record.id) for record in read.records}
        self._tick_repeating()
        self.outcome = Outcome(lost=Counter(read.lost))
        self._left_out: set[tuple[str, str]] = set()
        if not read.has_places:
            after = {self._ids[record.id]: self._dependencies(record) for record in read.records}
            self._left_out.update(closing_edges(after))
            if self._left_out:
                self.outcome.lost["depends_on: left out, as the tasks would wait for each other"] = len(self._left_out)

    def _tick_repeating(self) -> None:
        """Let the newest occasion of a repeating task be that task, where the file has no open line of it any more.

        An occasion that is known as a task of its own stays that.
        """
        occasions = [record for record in self._read.records if record.open_id is not None]
        ids = set(self._ids)
        for record in sorted(occasions, key=lambda record: record.times.get("finished_at") or 0, reverse=True):
            assert record.open_id is not None
            if record.open_id in ids or task_queries.any_task(self._db, self._ids[record.id]) is not None:
                continue
            uid = uid_of(self._format, record.open_id)
            if (known := task_queries.any_task(self._db, uid)) is not None and not known.deleted:
                ids.add(record.open_id)
                self._ids[record.id] = uid

    def _dependencies(self, record: TaskRecord) -> tuple[str, ...]:
        """Return the uids of the tasks that a task depends on by the file, each once."""
        ids = record.fields.get("depends_on", ())
        return tuple(sorted({self._ids.get(id_) or uid_of(self._format, id_) for id_ in ids}))

    def run(self, actor: str, now: int, progress: Progress | None = None, *, rehearsal: bool = False) -> Outcome:
        """Import everything as one change, which one undo reverts. A rehearsal does the same and rolls it back.

        Raises:
            Refusal: nothing was written; the message names the task, or its place in the file if it cannot be read.
        """
        self._actor = actor
        try:
            self._store.commit_each(
                self._operations(stop=rehearsal), actor, now, in_steps=not rehearsal, progress=progress
            )
        except _EndRehearsal:
            self._store.look_again()
        return self.outcome

    def _operations(self, *, stop: bool) -> Iterator[Operation]:
        if self._read.has_places and self._target is None:
            for of_file in self._read.lists:
                yield from self._ensure_list(of_file)
        postponed: list[tuple[TaskRecord, str, tuple[str, ...]]] = []
        placed: list[tuple[TaskRecord, TaskList]] = []
        # What is in progress comes last: until then an agent's other task may still be.
        for record in sorted(self._read.records, key=lambda record: (_is_last(record), record.rank or "")):
            home = self._current_list(record)
            if home is None:
                home = yield from self._target_list(record)
            placed.append((record, home))
        ranks = self._ranks(placed)
        for record, home in placed:
            yield from self._import_task(record, home, ranks.get(self._ids[record.id]), postponed)
        for record, uid, depends_on in postponed:
            # Now every task of the file exists, and the dependencies that the file removes are gone.
            present = tuple(task_queries.depends_on(self._db, uid))
            found = tuple(dict.fromkeys((*self._kept(present, depends_on), *self._existing(depends_on))))
            if lost := len(depends_on) - len(found):
                self.outcome.lost["depends_on: no such task in the file or the database"] += lost
            if set(found) != set(present):
                home = task_queries.list_by_id(self._db, task_queries.task(self._db, uid).list_id)
                if uid in self._unchanged:
                    self._unchanged.remove(uid)
                    self.outcome.changed += 1
                fields = {"name": record.fields["name"], "depends_on": found}
                yield ImportTask(uid, home.uid, fields, changed=self._stamps.get(uid))
        yield from self._deletions()
        self.outcome.unchanged = len(self._unchanged)
        if stop:
            raise _EndRehearsal

    def _deletions(self) -> Iterator[Operation]:
        for uid, changed in self._read.deleted.items():
            before = task_queries.any_task(self._db, uid)
            if self._target is not None or before is None or before.version >= changed[0]:
                continue
            if before.claimed_by is not None:
                self.outcome.lost[f"{LEFT_ALONE}an agent has claimed the task"] += 1
                continue
            yield ImportDeletion(uid, changed)
            self.outcome.deleted += not before.deleted

    def _ranks(self, placed: list[tuple[TaskRecord, TaskList]]) -> dict[str, str]:
        """Return the ranks of the tasks by uid: those of the file, but where two tasks of a list would have the same.

        Tasks that the import leaves alone keep theirs.
        """
        by_home: dict[int, dict[str, str]] = {}
        for record, home in placed:
            if record.rank is not None and is_file_rank(record.rank):
                by_home.setdefault(home.id, {})[self._ids[record.id]] = record.rank
        imported = {self._ids[record.id] for record, _ in placed} | self._read.deleted.keys()
        found: dict[str, str] = {}
        for list_id, wanted in by_home.items():
            stays = {
                task.uid for task in task_queries.claimed_or_held(self._db, list_id) if task.claimed_by is not None
            }
            present = task_queries.ranks_up_from(self._db, list_id, "", -1)
            taken = {rank for uid, rank in present if uid not in imported or uid in stays}
            moved = {uid: rank for uid, rank in wanted.items() if uid not in stays}
            found |= without_collisions(moved, taken)
        return found

    def _current_list(self, record: TaskRecord) -> TaskList | None:
        """Return the list that the task is in, if the file does not determine it."""
        if self._read.has_places or self._target is not None:
            return None
        before = task_queries.any_task(self._db, self._ids[record.id])
        home = None if before is None or before.deleted else task_queries.list_by_id(self._db, before.list_id)
        return None if home is None or home.deleted else home

    def _target_list(self, record: TaskRecord) -> Generator[Operation, None, TaskList]:
        """Return the list that the file names, else the one of the import; it is created if it is missing."""
        of_file = self._lists.get(record.home or "") if self._target is None else None
        if of_file is not None:
            return (yield from self._ensure_list(of_file))
        if "" not in self._homes:
            name = self._target or self._fallback
            yield EnsureList(name, "tasklist", self._project)
            self._homes[""] = self._list_by_handle(name)
        return self._homes[""]

    def _ensure_list(self, of_file: ListRecord) -> Generator[Operation, None, TaskList]:
        if of_file.id not in self._homes:
            values = {name: getattr(of_file, name) for name in of_file.__struct_fields__ if name != "id"}
            if not self._read.has_places:
                values["project"] = self._project
            uid = uid_of(self._format, of_file.id)
            yield ImportList(uid=uid, replaces=self._read.has_places, **values)
            self._homes[of_file.id] = self._list_by_handle(of_file.name if of_file.kind == "list" else uid)
        return self._homes[of_file.id]

    def _list_by_handle(self, handle: str) -> TaskList:
        home = task_queries.find_list(self._db, handle)
        assert home is not None
        return home

    def _kept(self, present: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Return the dependencies that a task has and keeps. A team's file has those on deleted tasks, too."""
        stays = wanted if self._read.has_places else self._existing(wanted)
        return tuple(on for on in present if on in stays)

    def _existing(self, uids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(uid for uid in uids if task_queries.status(self._db, uid) is not None)

    def _import_task(
        self,
        record: TaskRecord,
        home: TaskList,
        rank: str | None,
        postponed: list[tuple[TaskRecord, str, tuple[str, ...]]],
    ) -> Iterator[Operation]:
        uid = self._ids[record.id]
        before = task_queries.any_task(self._db, uid)
        fields = dict(record.fields)
        lost = self.outcome.lost
        if before is not None and not before.deleted and before.claimed_by is not None:
            lost[f"{LEFT_ALONE}an agent has claimed the task"] += 1
            self._unchanged.add(uid)
            return
        if "depends_on" in fields:
            depends_on = tuple(
                dependency for dependency in self._dependencies(record) if (uid, dependency) not in self._left_out
            )
            first = self._existing(depends_on)
            if before is not None:
                # New dependencies are added at the end, after the old ones are removed: one may have been reversed.
                first = self._kept(before.depends_on, depends_on)
            fields["depends_on"] = first
            if set(first) != set(depends_on):
                postponed.append((record, uid, depends_on))
        status_by = None
        if fields.get("status") == "in_progress" and self._is_of_others(fields, before):
            # It is in progress on another machine, so it takes up nobody's turn here.
            status_by = f"imported:{uid[:6]}"
        elif fields.get("status") == "in_progress" and home.one_in_progress:
            whose = fields.get("agent", None if before is None else before.agent) or self._starter(before)
            if task_queries.in_progress_for(self._db, home.id, whose, but=uid) is not None:
                lost["status: in progress, kept pending as the list takes one at a time for each agent"] += 1
                fields["status"] = "pending"
        if (
            fields.get("key") is not None
            and before is None
            and task_queries.task_by_key(self._db, home.id, fields["key"])
        ):
            lost["key: another task of the list has it"] += 1
            del fields["key"]
        fields |= self._metadata(record, fields, before)
        times = record.times
        if before is not None and not before.deleted:
            fields = self._keep_exact(fields, before)
            times = self._keep_exact(times, before)
        changed = record.changed if before is None or (record.changed or (0,))[0] > before.version else None
        if changed is not None:
            self._stamps[uid] = changed
        if before is not None and not before.deleted:
            # A log entry counts as a change of the task: the file's instant is written after it.
            yield from self._import_log(record, uid)
            yield ImportTask(uid, home.uid, fields, rank, times, changed, status_by)
        else:
            yield ImportTask(uid, home.uid, fields, rank, times, changed, status_by)
            yield from self._import_log(record, uid)
            if record.log and changed is not None:
                yield ImportTask(uid, home.uid, {}, changed=changed)
        self._count_outcome(uid, before)

    def _is_of_others(self, fields: dict[str, Any], before: Task | None) -> bool:
        """Whether a task of a team's file that has no agent is newly in progress."""
        is_here = before is not None and before.status == "in_progress" and not before.deleted
        return self._read.has_places and fields.get("agent") is None and not is_here

    def _starter(self, before: Task | None) -> str:
        """Return who has set a task in progress that has no agent: whoever did before, else who imports it."""
        goes_on = before is not None and before.status == "in_progress" and not before.deleted
        return before.who if before is not None and goes_on and before.agent is None else self._actor

    def _metadata(self, record: TaskRecord, fields: dict[str, Any], before: Task | None) -> dict[str, Any]:
        """Return the task's metadata, with what only the file's program knows of the task under the name of the
        format.
        """
        if not record.foreign:
            return {}
        present = fields.get("metadata", None if before is None else before.metadata)
        if not isinstance(present, dict | None):
            self.outcome.lost["metadata: it is no object, so nothing of the file is kept in it"] += 1
        return {"metadata": with_foreign(present, self._format, record.foreign)}

    def _keep_exact(self, values: dict[str, Any], before: Task) -> dict[str, Any]:
        """Return the values of the file, but the task's own value where the format reduces both to the same."""
        return {
            name: present
            if (reduce := self._read.reducers.get(name)) is not None
            and reduce(present := getattr(before, name)) == reduce(value)
            else value
            for name, value in values.items()
        }

    def _import_log(self, record: TaskRecord, uid: str) -> Iterator[Operation]:
        if not record.log:
            return
        reduce = self._read.reducers.get("log", plain)
        known = {reduce(entry.message) for entry in task_records.logs(self._db, uid)}
        for entry in record.log:
            if entry.uid is not None:
                id_ = entry.uid
            elif reduce(entry.message) in known:
                continue
            else:
                id_ = f"{uid}\0{entry.message}"
            yield ImportLog(uid_of(self._format, id_), uid, entry.at, entry.agent, entry.message)

    def _count_outcome(self, uid: str, before: Task | None) -> None:
        if before is None or before.deleted:
            self.outcome.added += 1
        elif task_queries.any_task(self._db, uid) != before:
            self.outcome.changed += 1
        else:
            self._unchanged.add(uid)
