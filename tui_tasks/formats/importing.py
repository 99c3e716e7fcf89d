"""Imports a parsed file: what was imported before is updated, not added a second time."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from tui_tasks.core.commit.rank import is_file_rank, without_collisions
from tui_tasks.core.commit.rebalancing import ranks_up_from
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import EnsureList, ImportDeletion, ImportList, ImportLog, ImportTask
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.store import Progress, Store
from tui_tasks.formats import closing_edges
from tui_tasks.formats.file_records import ListRecord, ParsedFile, TaskRecord, plain, uid_of, with_foreign


class ImportResult(msgspec.Struct):
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


class _Place(NamedTuple):
    """A task of the file in the order of the import: its index there, its id, its list and its rank."""

    is_last: bool
    rank: str
    at: int
    id: str
    home: str | None


class _Postponed(NamedTuple):
    """A task that gets its dependencies when all tasks of the file exist, with the version of its last change."""

    uid: str
    name: str
    depends_on: tuple[str, ...]
    changed: tuple[int, int] | None


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
        self._actor = ""
        self.outcome = ImportResult(lost=Counter(read.lost))
        self._ids: dict[str, str] = {}
        self._order: list[_Place] = []
        self._left_out: set[tuple[str, str]] = set()
        self._index()

    def _index(self) -> None:
        """Go through the file once: the uids, the order, and the dependencies that close a circle."""
        occasions: list[tuple[int, str, str]] = []
        waiting: dict[str, tuple[str, ...]] = {}
        for at, record in enumerate(self._read.records):
            self._ids[record.id] = uid_of(self._format, record.id)
            home = None if record.home is None else sys.intern(record.home)
            is_last = record.rank is not None and record.fields.get("status") == "in_progress"
            self._order.append(_Place(is_last, record.rank or "", at, record.id, home))
            if record.open_id is not None:
                occasions.append((record.times.get("finished_at") or 0, record.id, record.open_id))
            if not self._read.has_places and (ids := record.fields.get("depends_on")):
                waiting[record.id] = ids
        # What is in progress comes last: until then an agent's other task may still be.
        self._order.sort()
        self._tick_repeating(occasions)
        self._left_out.update(closing_edges({self._ids[id_]: self._uids(ids) for id_, ids in waiting.items()}))
        if self._left_out:
            self.outcome.lost["depends_on: left out, as the tasks would wait for each other"] = len(self._left_out)

    def _tick_repeating(self, occasions: list[tuple[int, str, str]]) -> None:
        """Import the newest occasion of a repeating task as that task, where the file has no open line of it.

        An occasion that is known as a task of its own stays that.
        """
        ids = set(self._ids)
        for _, id_, open_id in sorted(occasions, key=lambda occasion: occasion[0], reverse=True):
            if open_id in ids or task_queries.any_task(self._db, self._ids[id_]) is not None:
                continue
            uid = uid_of(self._format, open_id)
            if (known := task_queries.any_task(self._db, uid)) is not None and not known.deleted:
                ids.add(open_id)
                self._ids[id_] = uid

    def _uids(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return the uids of tasks of the file, or of the database, each once."""
        return tuple(sorted({self._ids.get(id_) or uid_of(self._format, id_) for id_ in ids}))

    def run(self, actor: str, now: int, progress: Progress | None = None, *, rehearsal: bool = False) -> ImportResult:
        """Import everything as one change, which one undo reverts. A rehearsal does the same and rolls it back.

        Raises:
            Refusal: nothing was written; the message names the task, or its place in the file if it cannot be read.
        """
        self._actor = actor
        try:
            self._store.commit_many(
                self._operations(stop=rehearsal), actor, now, in_steps=not rehearsal, progress=progress
            )
        except _EndRehearsal:
            self._store.look_again()
        return self.outcome

    def _operations(self, *, stop: bool) -> Iterator[Operation]:
        if self._read.has_places and self._target is None:
            for of_file in self._read.lists:
                yield from self._ensure_list(of_file)
        postponed: list[_Postponed] = []
        placed: list[tuple[_Place, TaskList]] = []
        for place in self._order:
            home = self._current_list(place)
            if home is None:
                home = yield from self._target_list(place)
            placed.append((place, home))
        ranks = self._ranks(placed)
        for place, home in placed:
            rank = ranks.get(self._ids[place.id])
            yield from self._import_task(self._read.records[place.at], home, rank, postponed)
        for waiting in postponed:
            yield from self._add_dependencies(waiting)
        yield from self._deletions()
        self.outcome.unchanged = len(self._unchanged)
        if stop:
            raise _EndRehearsal

    def _add_dependencies(self, waiting: _Postponed) -> Iterator[Operation]:
        """Set the dependencies of a task: every task of the file exists now, and the removed ones are gone."""
        uid = waiting.uid
        present = tuple(task_queries.depends_on(self._db, uid))
        kept, existing = self._kept(present, waiting.depends_on), self._existing(waiting.depends_on)
        uids = tuple(dict.fromkeys((*kept, *existing)))
        if lost := len(waiting.depends_on) - len(uids):
            self.outcome.lost["depends_on: no such task in the file or the database"] += lost
        if set(uids) != set(present):
            home = task_queries.list_by_id(self._db, task_queries.task(self._db, uid).list_id)
            if uid in self._unchanged:
                self._unchanged.remove(uid)
                self.outcome.changed += 1
            yield ImportTask(uid, home.uid, {"name": waiting.name, "depends_on": uids}, changed=waiting.changed)

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

    def _ranks(self, placed: list[tuple[_Place, TaskList]]) -> dict[str, str]:
        """Return the ranks of the tasks by uid: those of the file, unless two tasks of a list would have the same one.

        Tasks that the import leaves alone keep theirs.
        """
        by_home: dict[int, dict[str, str]] = {}
        for place, home in placed:
            if is_file_rank(place.rank):
                by_home.setdefault(home.id, {})[self._ids[place.id]] = place.rank
        if not by_home:
            return {}
        imported = {*self._ids.values(), *self._read.deleted}
        ranks: dict[str, str] = {}
        for list_id, wanted in by_home.items():
            stays = {
                task.uid for task in task_queries.claimed_or_held(self._db, list_id) if task.claimed_by is not None
            }
            present = ranks_up_from(self._db, list_id, "", -1)
            taken = {rank for uid, rank in present if uid not in imported or uid in stays}
            moved = {uid: rank for uid, rank in wanted.items() if uid not in stays}
            ranks |= without_collisions(moved, taken)
        return ranks

    def _current_list(self, place: _Place) -> TaskList | None:
        """Return the list that the task is in, if the file does not determine it."""
        if self._read.has_places or self._target is not None:
            return None
        before = task_queries.any_task(self._db, self._ids[place.id])
        home = None if before is None or before.deleted else task_queries.list_by_id(self._db, before.list_id)
        return None if home is None or home.deleted else home

    def _target_list(self, place: _Place) -> Generator[Operation, None, TaskList]:
        """Return the list that the file names, else the one of the import; it is created if it is missing."""
        of_file = self._lists.get(place.home or "") if self._target is None else None
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
        self, record: TaskRecord, home: TaskList, rank: str | None, postponed: list[_Postponed]
    ) -> Iterator[Operation]:
        uid = self._ids[record.id]
        before = task_queries.any_task(self._db, uid)
        present = None if before is None or before.deleted else before
        if present is not None and present.claimed_by is not None:
            self.outcome.lost[f"{LEFT_ALONE}an agent has claimed the task"] += 1
            self._unchanged.add(uid)
            return
        changed = record.changed if before is None or (record.changed or (0,))[0] > before.version else None
        fields, times = dict(record.fields), record.times
        if "depends_on" in fields:
            fields["depends_on"], later = self._first_dependencies(uid, fields["depends_on"], before)
            if later is not None:
                postponed.append(_Postponed(uid, fields["name"], later, changed))
        status_by = self._set_status(fields, uid, home, before)
        self._drop_taken_key(fields, home, before)
        fields |= self._metadata(record, fields, before)
        if present is not None:
            fields, times = self._keep_exact(fields, present), self._keep_exact(times, present)
            # A log entry counts as a change of the task: the file's instant is written after it.
            yield from self._import_log(record, uid)
            yield ImportTask(uid, home.uid, fields, rank, times, changed, status_by)
        else:
            yield ImportTask(uid, home.uid, fields, rank, times, changed, status_by)
            yield from self._import_log(record, uid)
            if record.log and changed is not None:
                yield ImportTask(uid, home.uid, {}, changed=changed)
        self._count_outcome(uid, before)

    def _first_dependencies(
        self, uid: str, ids: Iterable[str], before: Task | None
    ) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
        """Return the dependencies that a task has at first; and all that it must have, if some can only follow."""
        wanted = tuple(dependency for dependency in self._uids(ids) if (uid, dependency) not in self._left_out)
        # A task that exists gets new ones at the end, after the old ones are removed: one may have been reversed.
        first = self._existing(wanted) if before is None else self._kept(before.depends_on, wanted)
        return first, None if set(first) == set(wanted) else wanted

    def _set_status(self, fields: dict[str, Any], uid: str, home: TaskList, before: Task | None) -> str | None:
        """Keep a task pending where its list has no turn for it; return for whom one in progress counts."""
        if fields.get("status") != "in_progress":
            return None
        if self._is_of_others(fields, before):
            # Another machine works on it, and an agent here may start another task.
            return f"imported:{uid[:6]}"
        if home.one_in_progress:
            whose = fields.get("agent", None if before is None else before.agent) or self._starter(before)
            if task_queries.in_progress_for(self._db, home.id, whose, but=uid) is not None:
                lost = "status: in progress, kept pending as the list takes one at a time for each agent"
                self.outcome.lost[lost] += 1
                fields["status"] = "pending"
        return None

    def _drop_taken_key(self, fields: dict[str, Any], home: TaskList, before: Task | None) -> None:
        key = fields.get("key")
        if key is not None and before is None and task_queries.task_by_key(self._db, home.id, key):
            self.outcome.lost["key: another task of the list has it"] += 1
            del fields["key"]

    def _is_of_others(self, fields: dict[str, Any], before: Task | None) -> bool:
        """Return whether a task of a team's file that has no agent is newly in progress."""
        is_here = before is not None and before.status == "in_progress" and not before.deleted
        return self._read.has_places and fields.get("agent") is None and not is_here

    def _starter(self, before: Task | None) -> str:
        """Return who has set a task in progress that has no agent: whoever did before, else who imports it."""
        goes_on = before is not None and before.status == "in_progress" and not before.deleted
        return before.who if before is not None and goes_on and before.agent is None else self._actor

    def _metadata(self, record: TaskRecord, fields: dict[str, Any], before: Task | None) -> dict[str, Any]:
        """Return the task's metadata, with what only the file's program knows under the format's name."""
        if not record.foreign:
            return {}
        present = fields.get("metadata", None if before is None else before.metadata)
        if not isinstance(present, dict | None):
            self.outcome.lost["metadata: it is not an object: nothing of the file is kept in it"] += 1
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
