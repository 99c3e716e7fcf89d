"""Taskwarrior's tasks, as `task export` writes and `task import` reads them.

Fields for which Taskwarrior has no attribute are user-defined attributes, which it keeps: notes, agent, estimate,
links, tasklist and outcome. On import, attributes that no task has are preserved in the task's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Any, Final, Literal

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema import task_links
from tui_tasks.core.schema.due_dates import is_day, start_of_day
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED, HIGH, LOW, MEDIUM
from tui_tasks.formats.file_records import (
    ExportData,
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    foreign_of,
    in_zone,
    no_step,
    plain,
    plain_name,
    since_epoch,
    utc,
    valid_times,
)
from tui_tasks.formats.format_table import json_values
from tui_tasks.text import safe
from tui_tasks.text.times import SECOND

NAME: Final = "taskwarrior"
_INSTANT: Final = "%Y%m%dT%H%M%SZ"
_STATUS: Final = {
    "pending": "pending",
    "in_progress": "started",
    "done": "completed",
    "failed": "completed",
    "skipped": "deleted",
    "cancelled": "deleted",
}
_STATUS_READ: Final = {"pending": "pending", "waiting": "pending", "completed": "done", "deleted": "cancelled"}
_PRIORITY_READ: Final = {"H": HIGH, "M": MEDIUM, "L": LOW, None: MEDIUM, "": MEDIUM}
# Taskwarrior splits tags at these characters, and takes the text after a colon for a value.
_NOT_IN_TAGS: Final = re.compile(r"[\s,:\"']+")
_DURATION: Final = re.compile(r"PT(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:\d{1,9}S)?")
_DERIVED: Final = frozenset({"id", "urgency", "modified"})


class _Annotation(msgspec.Struct):
    entry: str
    description: str


class _Attributes(msgspec.Struct):
    """The attributes with a place in a task."""

    uuid: str
    description: str
    status: Literal["pending", "waiting", "completed", "deleted", "recurring"] = "pending"
    entry: str | None = None
    start: str | None = None
    end: str | None = None
    due: str | None = None
    priority: str | None = None
    project: str | None = None
    tags: list[str] = []
    depends: list[str] | str = []
    annotations: list[_Annotation] = []
    notes: str | None = None
    agent: str | None = None
    estimate: str | int | float | None = None
    links: str | None = None
    tasklist: str | None = None
    outcome: str | None = None


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write a JSON array, with a line for each task."""
    yield "["
    first = True
    for home, tasks in rows.lists:
        for task in tasks:
            attributes = _attributes(task, home, rows.logs.get(task.uid, []), now)
            yield ("\n" if first else ",\n") + safe.dumps(attributes)
            first = False
    yield "\n]\n"


def _attributes(task: Task, home: TaskList, log: list[LogEntry], now: datetime) -> dict[str, Any]:
    annotations = _STATUS[task.status]
    begun = task.status == "in_progress" or task.status in CLOSED
    finished = task.finished_at or task.updated_at if task.status in CLOSED else None
    started = task.started_at if begun else None
    foreign = foreign_of(task, NAME)
    attributes = {name: value for name, value in foreign.items() if name not in _Attributes.__struct_fields__}
    attributes |= {
        "uuid": task.uid,
        "description": plain_name(task.name, one_line=False),
        "status": "pending" if annotations == "started" else annotations,
        "entry": _format_instant(task.created_at),
        "modified": _format_instant(task.updated_at),
        "start": _format_instant(started or task.created_at if annotations == "started" else started),
        "end": _format_instant(finished),
        "due": None if task.due is None else _due(task.due, now=now),
        # Medium is the default, which Taskwarrior has no letter for unless the task had one there.
        "priority": _priority(task.priority) or ("M" if foreign.get("priority") == "M" else None),
        "project": _text(task.domain),
        "tags": list(_tags(task.tags)),
        "depends": sorted(task.depends_on),
        "annotations": _annotations(log),
        "notes": _text(task.description),
        "agent": _text(task.agent),
        "estimate": None if task.estimate is None else f"PT{task.estimate}M",
        "links": task_links.write(task.links, now),
        "tasklist": None if "uuid" in foreign else home.name,
        "outcome": task.status if task.status in ("failed", "skipped") else None,
    }
    return {name: value for name, value in attributes.items() if value not in (None, "", [])}


def _format_instant(at: int | None) -> str | None:
    return None if at is None else _format_time(utc(at))


def _format_time(at: datetime) -> str:
    """Return a time as Taskwarrior writes it; `strftime` does not pad years to four digits."""
    return re.sub("[-:]", "", at.replace(tzinfo=None, microsecond=0).isoformat()) + "Z"


def _text(text: str | None) -> str | None:
    return None if text is None else plain(text)


def _due(due: str, *, now: datetime) -> str:
    """Return a due date as an instant, as Taskwarrior has no others: of a day the first one."""
    at = start_of_day(date.fromisoformat(due), now) if is_day(due) else datetime.fromisoformat(due)
    return _format_time(in_zone(at, UTC))


def _priority(priority: int) -> str | None:
    return "H" if priority <= HIGH else None if priority == MEDIUM else "L"


def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags as Taskwarrior has them: each once, sorted."""
    return tuple(sorted({_NOT_IN_TAGS.sub("_", plain(tag)) for tag in tags} - {""}))


def _annotations(log: list[LogEntry]) -> list[dict[str, str | None]]:
    """Return the log as annotations. Each needs a second of its own, so those of one second are moved on."""
    annotations, last = [], 0
    for entry in sorted(log, key=lambda entry: (entry.at, entry.uid)):
        last = max(entry.at // SECOND, last + 1)
        annotations.append({"entry": _format_instant(last * SECOND), "description": plain(entry.message)})
    return [each for each in annotations if each["description"]]


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse an array, or a task in each line, as `json.array` decides in Taskwarrior.

    Raises:
        InvalidArgument: it is neither, or something in it is no task.
    """
    parsed = ParsedFile(
        reducers={
            "name": plain_name,
            "description": plain,
            "domain": _text,
            "agent": _text,
            "status": _STATUS.__getitem__,
            "priority": _priority,
            "tags": _tags,
            "due": lambda due: due and _due(due, now=now),
            **dict.fromkeys(("created_at", "started_at", "finished_at"), lambda at: at and at // SECOND),
        }
    )
    for where, value in json_values(lines):
        _add_record(parsed, where, value, now)
        step()
    parsed.add_named_lists()
    return parsed


def _add_record(parsed: ParsedFile, where: str, value: Any, now: datetime) -> None:
    try:
        task = msgspec.convert(value, _Attributes)
        if task.status == "recurring":
            parsed.lost["recurring: the tasks of the template are imported, not the template"] += 1
            return
        parsed.records.append(_record(parsed, where, task, value, now))
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidArgument("file", f"{where}: {error}") from None


def _record(parsed: ParsedFile, where: str, task: _Attributes, value: dict[str, Any], now: datetime) -> TaskRecord:
    known = set(_Attributes.__struct_fields__)
    foreign = {name: each for name, each in value.items() if name not in known | _DERIVED}
    for name in foreign:
        parsed.lost[f"{name}: kept in the metadata alone"] += 1
    if task.tasklist is None:
        foreign["uuid"] = task.uuid
    if task.priority == "M":
        foreign["priority"] = "M"
    status = _status(task)
    fields = {
        "name": task.description,
        "status": status,
        "priority": _PRIORITY_READ.get(task.priority),
        "tags": task.tags,
        "domain": task.project,
        "depends_on": task.depends.split(",") if isinstance(task.depends, str) and task.depends else task.depends or [],
        "due": None if task.due is None else _read_due(_parse_time(task.due), now),
        "description": task.notes,
        "agent": task.agent,
        "estimate": _minutes(task.estimate),
        "links": None if task.links is None else _links(parsed, task.links, now),
    }
    if fields["priority"] is None:
        parsed.lost[f"priority: {task.priority} is none of H, M and L"] += 1
    # Taskwarrior omits empty attributes of its own, so those are cleared; a user-defined one may only be unknown.
    always = ("name", "status", "tags", "domain", "depends_on", "due")
    fields = {name: each for name, each in fields.items() if each is not None or name in always}
    times = {"created_at": task.entry, "started_at": task.start, "finished_at": task.end}
    return TaskRecord(
        where,
        task.uuid,
        checked_fields(where, fields, parsed, now),
        home=task.tasklist,
        times=valid_times(status, {name: _parse_instant(text) for name, text in times.items() if text is not None}),
        log=[LogRecord(None, _parse_instant(each.entry), NAME, each.description) for each in task.annotations],
        foreign=foreign,
    )


def _status(task: _Attributes) -> str:
    status = _STATUS_READ[task.status]
    if status == "pending" and task.start is not None:
        return "in_progress"
    return task.outcome if task.outcome is not None and _STATUS.get(task.outcome) == task.status else status


def _links(parsed: ParsedFile, text: str, now: datetime) -> list[dict[str, str]] | None:
    """Return the links of an attribute; None if it is the user's own one of that name, with other words."""
    try:
        return list(task_links.parse(text, now))
    except ValueError as error:
        parsed.lost[f"links: {error}"] += 1
        return None


def _parse_time(text: str) -> datetime:
    return datetime.strptime(text, _INSTANT).replace(tzinfo=UTC)


def _parse_instant(text: str) -> int:
    return since_epoch(_parse_time(text))


def _read_due(at: datetime, now: datetime) -> str:
    local = in_zone(at, now.tzinfo)
    is_midnight = local.tzinfo == now.tzinfo and local.time() == time_of_day()
    return local.date().isoformat() if is_midnight else at.isoformat()


def _minutes(estimate: str | float | None) -> int | None:
    """Return a duration as Taskwarrior writes it, or a number of minutes, as minutes."""
    text = str(estimate or "")
    if duration := _DURATION.fullmatch(text):
        return int(duration[1] or 0) * 60 + int(duration[2] or 0) or None
    return int(float(text)) if re.fullmatch(r"\d{1,6}(\.0*)?", text) else None
