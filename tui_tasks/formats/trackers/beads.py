"""The issues of beads, as `bd export` writes and `bd import` reads them: a line for each.

Fields for which beads has none are in an issue's metadata under `tui_tasks`. On import, fields that no task has are
preserved in the task's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from datetime import time as time_of_day
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema.due_dates import is_day
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED
from tui_tasks.formats.file_records import (
    ExportData,
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    foreign_of,
    format_instant,
    in_zone,
    no_step,
    parse_instant,
    plain,
    plain_json,
    plain_name,
    uid_of,
    valid_times,
)
from tui_tasks.formats.format_table import json_values
from tui_tasks.text import safe

NAME: Final = "beads"
_METADATA_KEY: Final = "tui_tasks"
_MAX_TITLE: Final = 500
_LOWEST: Final = 4  # 0 is the highest
_STATUS: Final = {"pending": "open", "in_progress": "in_progress"}
_STATUS_READ: Final = {
    **dict.fromkeys(("open", "blocked", "deferred", "pinned"), "pending"),
    **dict.fromkeys(("in_progress", "hooked"), "in_progress"),
    "closed": "done",
}
_DELETED: Final = "tombstone"
_OWN_FIELDS: Final = ("key", "domain", "intent", "node_ids", "links", "result", "metadata")
_IGNORED: Final = frozenset({"_type", "updated_at"})


class _Dependency(msgspec.Struct):
    depends_on_id: str
    type: str = "blocks"
    created_at: str | None = None
    created_by: str | None = None


class _Comment(msgspec.Struct):
    text: str
    created_at: str
    author: str = ""


class _Issue(msgspec.Struct):
    """The fields of an issue with a place in a task."""

    id: str
    title: str
    description: str = ""
    status: str = "open"
    priority: int = 0  # some releases of beads omit zeros
    assignee: str | None = None
    estimated_minutes: int | None = None
    created_at: str | None = None
    started_at: str | None = None
    closed_at: str | None = None
    close_reason: str | None = None
    due_at: str | None = None
    labels: list[str] = []
    dependencies: list[_Dependency] = []
    comments: list[_Comment] = []
    metadata: dict[str, Any] | None = None


class _Preserved(msgspec.Struct):
    """The fields that are used of what an import preserved of an issue."""

    id: str | None = None
    status: str | None = None
    dependencies: list[dict[str, str]] = []


def _preserved(task: Task) -> tuple[dict[str, Any], _Preserved]:
    """Return all and the used part of what an import preserved; nothing if an agent made it up."""
    foreign = foreign_of(task, NAME)
    try:
        preserved = msgspec.convert(foreign, _Preserved)
    except msgspec.ValidationError:
        return {}, _Preserved()
    is_own = preserved.id is not None and uid_of(NAME, preserved.id) == task.uid
    return (foreign, preserved) if is_own else ({}, _Preserved())


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the issues in the order of their lists."""
    ids = {task.uid: id_ for _, tasks in rows.lists for task in tasks if (id_ := _preserved(task)[1].id) is not None}
    for home, tasks in rows.lists:
        for task in tasks:
            yield safe.dumps(_issue(task, home, rows.logs.get(task.uid, []), ids, now)) + "\n"


def _issue(task: Task, home: TaskList, log: list[LogEntry], ids: dict[str, str], now: datetime) -> dict[str, Any]:
    foreign, preserved = _preserved(task)
    id_ = ids.get(task.uid, task.uid)
    status = _status(task.status)
    is_closed = status == "closed"
    issue = {name: value for name, value in foreign.items() if name not in _Issue.__struct_fields__}
    issue |= {
        "_type": "issue",
        "id": id_,
        "title": _title(task.name),
        "description": plain(task.description),
        "status": preserved.status if _STATUS_READ.get(preserved.status or "") == task.status else status,
        "assignee": task.agent and plain(task.agent),
        "estimated_minutes": task.estimate,
        "created_at": format_instant(task.created_at),
        "updated_at": format_instant(task.updated_at),
        "started_at": format_instant(task.started_at) if is_closed or status == "in_progress" else None,
        "closed_at": format_instant(task.finished_at or task.updated_at) if is_closed else None,
        "close_reason": plain(task.result) if isinstance(task.result, str) and is_closed else None,
        "due_at": None if task.due is None else _due(task.due, now),
        "labels": _labels(task.tags),
        "dependencies": [
            *({"issue_id": id_, "depends_on_id": ids.get(on, on), "type": "blocks"} for on in sorted(task.depends_on)),
            *({"issue_id": id_, **each} for each in preserved.dependencies),
        ],
        "comments": [
            {"id": at, "issue_id": id_, "author": plain(entry.agent), "text": plain(entry.message)}
            | {"created_at": format_instant(entry.at)}
            for at, entry in enumerate(sorted(log, key=lambda entry: (entry.at, entry.uid)), 1)
        ],
        "metadata": _metadata(task, home, foreign),
    }
    issue.setdefault("issue_type", "task")
    return {name: value for name, value in issue.items() if value not in (None, "", [], {})} | {
        "priority": _priority(task.priority)
    }


def _status(status: str) -> str:
    return _STATUS.get(status, "closed")


def _title(name: str) -> str:
    # Cut before a space, so that the shortened title is one that is written as it is.
    return plain_name(name, one_line=False)[:_MAX_TITLE].rstrip()


def _priority(priority: int) -> int:
    return min(priority - 1, _LOWEST)


def _labels(tags: tuple[str, ...]) -> list[str]:
    return [plain(tag) for tag in tags if plain(tag).strip()]


def _due(due: str, now: datetime) -> str:
    """Return the instant of a due date, as issues have instants only: of a day, its last minute in the local zone."""
    if is_day(due):
        return datetime.combine(datetime.fromisoformat(due).date(), _LAST_MINUTE, now.tzinfo).isoformat()
    return due


_LAST_MINUTE: Final = time_of_day(23, 59)


def _metadata(task: Task, home: TaskList, foreign: dict[str, Any]) -> dict[str, Any]:
    """Return the task's own metadata, and the fields for which an issue has none."""
    metadata = plain_json(task.metadata) if isinstance(task.metadata, dict) else {}
    metadata.pop(NAME, None)
    if foreign:
        return metadata
    own: dict[str, Any] = {"list": home.name}
    own |= {
        name: getattr(task, name) for name in ("key", "domain", "intent", "node_ids", "links") if getattr(task, name)
    }
    if task.status in CLOSED and task.status != "done":
        own["status"] = task.status
    if task.result is not None and not (isinstance(task.result, str) and task.status in CLOSED):
        own["result"] = task.result
    if task.metadata is not None and not metadata:
        own["metadata"] = task.metadata
    return {**metadata, _METADATA_KEY: plain_json(own)}


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse an issue in each line, or an array of them.

    Raises:
        InvalidArgument: something in it is no issue.
    """
    parsed = ParsedFile(
        reducers={
            "name": _title,
            "description": plain,
            "status": _status,
            "priority": _priority,
            "tags": lambda tags: _labels(tuple(tags)),
            "agent": lambda agent: agent and plain(agent),
            "due": lambda due: due and datetime.fromisoformat(_due(due, now)),
            **dict.fromkeys(("result", "metadata", "domain", "intent", "node_ids"), plain_json),
        }
    )
    for where, value in json_values(lines):
        try:
            _add_record(parsed, where, value, now)
            step()
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidArgument("file", f"{where}: {error}") from None
    parsed.add_named_lists()
    return parsed


def _add_record(parsed: ParsedFile, where: str, value: Any, now: datetime) -> None:
    if isinstance(value, dict) and value.get("_type", "issue") != "issue":
        parsed.lost[f"{str(value['_type'])[:40]}: a line that is not an issue"] += 1
        return
    issue = msgspec.convert(value, _Issue)
    if issue.status == _DELETED:
        parsed.lost["tombstone: an issue that was deleted there is left alone here"] += 1
        return
    parsed.records.append(_record(parsed, where, issue, value, now))


def _record(parsed: ParsedFile, where: str, issue: _Issue, value: dict[str, Any], now: datetime) -> TaskRecord:
    metadata = dict(issue.metadata or {})
    own = metadata.pop(_METADATA_KEY, None)
    own = own if isinstance(own, dict) else {}
    status = _STATUS_READ.get(issue.status, "pending")
    blocking = [each.depends_on_id for each in issue.dependencies if each.type == "blocks"]
    if dated := sum(each.created_at is not None or each.created_by is not None for each in issue.dependencies):
        parsed.lost["dependencies: when and by whom one was added is not kept"] += dated
    fields = {
        "name": issue.title,
        "description": issue.description,
        "priority": issue.priority + 1,
        "agent": issue.assignee or None,
        "estimate": issue.estimated_minutes or None,
        "due": issue.due_at and _read_due(issue.due_at, now),
        "tags": issue.labels,
        "depends_on": blocking,
        "metadata": metadata or None,
        **({"result": issue.close_reason} if issue.close_reason else {}),
        **{name: each for name, each in own.items() if name in _OWN_FIELDS},
    }
    if own.get("status") in CLOSED and status == "done":
        status = own["status"]
    if not own and not metadata:
        del fields["metadata"]
    times = {"created_at": issue.created_at, "started_at": issue.started_at, "finished_at": issue.closed_at}
    home = own.get("list")
    return TaskRecord(
        where,
        issue.id,
        checked_fields(where, {**fields, "status": status}, parsed, now),
        home=home if isinstance(home, str) else None,
        times=valid_times(status, {name: parse_instant(text) for name, text in times.items() if text}),
        log=[
            LogRecord(None, parse_instant(each.created_at) or 0, each.author or NAME, each.text)
            for each in issue.comments
        ],
        foreign={} if own else _foreign(parsed, issue, value),
    )


def _foreign(parsed: ParsedFile, issue: _Issue, value: dict[str, Any]) -> dict[str, Any]:
    """Return what no task has, and count it as lost, except what every issue has."""
    foreign = {name: each for name, each in value.items() if name not in {*_Issue.__struct_fields__, *_IGNORED}}
    others = [{"depends_on_id": each.depends_on_id, "type": each.type} for each in issue.dependencies]
    if others := [each for each in others if each["type"] != "blocks"]:
        foreign["dependencies"] = others
        for each in others:
            parsed.lost[f"dependencies: {each['type'][:40]} is kept in the metadata alone"] += 1
    if issue.status not in (*_STATUS.values(), "closed"):
        foreign["status"] = issue.status
    for name in foreign.keys() - {"dependencies"}:
        if (name, foreign[name]) != ("issue_type", "task"):
            parsed.lost[f"{name}: kept in the metadata alone"] += 1
    return {"id": issue.id, **foreign}


def _read_due(text: str, now: datetime) -> str:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("due_at: an instant needs an offset, such as Z")
    local = in_zone(at, now.tzinfo)
    return local.date().isoformat() if local.time() == _LAST_MINUTE else text
