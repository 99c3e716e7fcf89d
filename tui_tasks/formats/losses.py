"""Finds what of the tasks a file does not hold, by reading the file: counts by field."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.formats.records import ExportData, ParsedFile, TaskRecord, uid_of, with_foreign

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
        _count_loss(lost, name, getattr(task, name), record.times.get(name), None)


def _compare_log(log: list[LogEntry], record: TaskRecord, lost: Counter[str]) -> None:
    expected = sorted((entry.at, entry.agent, entry.message) for entry in log)
    found = sorted((entry.at, entry.agent, entry.message) for entry in record.log)
    _count_loss(lost, "log", expected, found, [])


def _compare_list(home: TaskList, found: str | None, lost: Counter[str]) -> None:
    if home.kind != "plan" or found is None:
        _count_loss(lost, "list", home.name, found, None)
    else:
        lost["list: a plan comes back as a list"] += 1


def _count_loss(lost: Counter[str], name: str, value: Any, found: Any, empty: Any) -> None:
    if value != found:
        lost[f"{name}: {'no place for it' if found == empty else 'not kept whole'}"] += 1
