"""Exports: reads the tasks in one read transaction, and finds the values that a file lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from msgspec import structs

from tui_tasks.core import agent_names
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.formats.file_records import ExportData, ParsedFile, TaskRecord, uid_of, with_foreign
from tui_tasks.text.times import DAY, MINUTE

_EMPTY: Final[dict[str, Any]] = {
    **dict.fromkeys(("key", "domain", "result", "agent", "intent")),
    **dict.fromkeys(("name", "description"), ""),
    **dict.fromkeys(("tags", "node_ids"), ()),
    "status": "pending",
    "priority": 3,
    **{name: field.none for name, field in FIELDS.items()},
}
_TIMES: Final = ("created_at", "started_at", "finished_at")


def losses(rows: ExportData, read: ParsedFile, format_: str) -> Counter[str]:
    """Count by field which values of `rows` are missing in the file that was written from them and parsed again."""
    lost: Counter[str] = Counter()
    records = {uid_of(format_, record.id): (at, record) for at, record in enumerate(read.records)}
    homes = {record.id: record.name for record in read.lists}
    for home, tasks in rows.lists:
        places = []
        for task in tasks:
            at, record = records.get(task.uid, (0, None))
            if record is None:
                lost["the whole task: the format has no place for it"] += 1
                continue
            places.append(at)
            _compare_task(task, record, lost, format_)
            _compare_log(rows.logs.get(task.uid, []), record, lost)
            _compare_list(home, homes.get(record.home or ""), lost)
        if moved := sum(one != other for one, other in zip(places, sorted(places), strict=True)):
            lost["rank: the file has another order"] += moved
    return lost


def _compare_task(task: Task, record: TaskRecord, lost: Counter[str], format_: str) -> None:
    for name, empty in _EMPTY.items():
        _count_loss(lost, name, getattr(task, name), record.fields.get(name, empty), empty)
    metadata = with_foreign(record.fields.get("metadata"), format_, record.foreign)
    _count_loss(lost, "metadata", task.metadata, metadata, None)
    depends_on = {uid_of(format_, id_) for id_ in record.fields.get("depends_on", ())}
    _count_loss(lost, "depends_on", set(task.depends_on), depends_on, set())
    for name in _TIMES:
        _count_time(lost, name, getattr(task, name), record.times.get(name))


def _count_time(lost: Counter[str], name: str, value: int | None, found: int | None) -> None:
    """Count an instant that is missing, and name what is left out of one that is shortened."""
    if value is not None and found is not None and 0 < abs(value - found) <= DAY:
        lost[f"{name}: its {'seconds' if abs(value - found) < MINUTE else 'time of day'}"] += 1
    else:
        _count_loss(lost, name, value, found, None)


def _compare_log(log: list[LogEntry], record: TaskRecord, lost: Counter[str]) -> None:
    expected = sorted((entry.at, entry.agent, entry.message) for entry in log)
    entries = sorted((entry.at, entry.agent, entry.message) for entry in record.log)
    _count_loss(lost, "log", expected, entries, [])


def _compare_list(home: TaskList, found: str | None, lost: Counter[str]) -> None:
    if home.kind != "plan" or found is None:
        _count_loss(lost, "list", home.name, found, None)
    else:
        lost["list: a plan comes back as a list"] += 1


def _count_loss(lost: Counter[str], name: str, value: Any, found: Any, empty: Any) -> None:
    if value != found:
        lost[f"{name}: {'no place for it' if found == empty else 'not kept whole'}"] += 1


def rows(
    db: Database,
    handle: str | None,
    project: str | None,
    step: Callable[[], None] = lambda: None,
    *,
    with_deleted: bool = False,
) -> ExportData:
    """Return the tasks of the named list, else of all lists of a project, else of all; `step` is called for each task.

    Jobs belong to no list: they are left out if one is named.

    Raises:
        NotFound: there is no such list.
    """
    with db.transaction(write=False):
        homes = _homes(db, handle, project)
        data = ExportData([(home, task_queries.tasks(db, home.id)) for home in homes])
        if with_deleted:
            by_id = {home.id: home for home in homes}
            data.deleted = [
                (by_id[list_id], uid, version, at)
                for uid, list_id, version, at in task_queries.deleted_tasks(db)
                if list_id in by_id
            ]
        if handle is None:
            data.jobs = job_queries.jobs(db)
        logs: dict[str, list[LogEntry]] = {}
        data.logs = logs
        for _, tasks in data.lists:
            for task in tasks:
                if log := _log(db, task.uid):
                    logs[task.uid] = log
                step()
    return data


def stored_rows(db: Database, handle: str | None, project: str | None) -> ExportData:
    """Return what `rows` does, without the jobs. Tasks and logs are read each time they are gone through: a database of
    any size takes little memory. Use it within a read transaction.

    Raises:
        NotFound: there is no such list.
    """
    homes = {home.id: home for home in _homes(db, handle, project)}
    list_id = None if handle is None else next(iter(homes))

    def by_uid() -> Iterator[tuple[Task, TaskList]]:
        for task in task_queries.each_task_by_uid(db, list_id):
            if task.list_id in homes:
                yield task, homes[task.list_id]

    return ExportData([(home, _StoredTasks(db, home)) for home in homes.values()], _StoredLogs(db), by_uid)


class _StoredTasks:
    def __init__(self, db: Database, home: TaskList) -> None:
        self._db, self._home = db, home

    def __iter__(self) -> Iterator[Task]:
        return task_queries.each_task(self._db, self._home.id)

    def __len__(self) -> int:
        return self._home.total


class _StoredLogs:
    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, uid: str, default: list[LogEntry], /) -> list[LogEntry]:
        """Return the log of a task."""
        return _log(self._db, uid) or default


def in_parts(rows: ExportData, size: int) -> Iterator[ExportData]:
    """Yield the rows in parts of so many tasks of one list."""
    for home, tasks in rows.lists:
        each = iter(tasks)
        while part := list(islice(each, size)):
            yield ExportData([(home, part)], rows.logs)


def _homes(db: Database, handle: str | None, project: str | None) -> list[TaskList]:
    if handle is None:
        return task_queries.lists(db, project)
    named = task_queries.find_list(db, handle)
    if named is None:
        raise NotFound("list", handle)
    return [named]


def _log(db: Database, uid: str) -> list[LogEntry]:
    return list(map(_as_written, task_records.each_log(db, uid)))


def _as_written(entry: LogEntry) -> LogEntry:
    """Return a log entry with the author that the file of its import names."""
    return structs.replace(entry, agent=entry.agent.removeprefix(agent_names.IMPORTED))
