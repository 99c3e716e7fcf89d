"""JSON Lines: a line for each list and task, sorted by id, so that a changed task is one changed line.

It holds everything that an import can restore. It omits what belongs to the database: versions, who wrote last and
when, claims, saved states, checks, and what waits for the human.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.dialects.requests import strict_json
from tui_tasks.formats.dates import format_instant, parse_instant
from tui_tasks.formats.records import (
    ExportData,
    ListRecord,
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    no_step,
    valid_times,
)
from tui_tasks.text import json_text

_LIST: Final = ("kind", "name", "description", "agent", "origin", "one_in_progress", "project")
_FIELDS: Final = (
    *("key", "name", "description", "status", "priority", "tags", "domain", "result", "metadata", "agent", "intent"),
    *("depends_on", "node_ids", "due", "estimate", "links"),
)
_TIMES: Final[tuple[str, ...]] = ("created_at", "started_at", "finished_at")
_PLACE: Final = frozenset({"record", "uid", "list", "rank", "log", *_TIMES})


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the lists in their order, then the tasks by uid."""
    for home, _ in rows.lists:
        yield _line(_list_json(home))
    tasks = [(task, home) for home, tasks in rows.lists for task in tasks]
    for task, home in sorted(tasks, key=lambda pair: pair[0].uid):
        yield _line(_task_json(task, home, rows.logs.get(task.uid, [])))


def _line(value: dict[str, Any]) -> str:
    return json_text.dumps(value) + "\n"


def _list_json(home: TaskList) -> dict[str, Any]:
    return {"record": "list", "uid": home.uid} | {name: getattr(home, name) for name in _LIST}


def _task_json(task: Task, home: TaskList, log: list[LogEntry]) -> dict[str, Any]:
    value: dict[str, Any] = {"record": "task", "uid": task.uid, "list": home.uid, "rank": task.rank}
    value |= {name: getattr(task, name) for name in _FIELDS}
    # Dependencies have no order of their own; sorted, equal tasks give equal lines.
    value["depends_on"] = sorted(task.depends_on)
    value |= {name: format_instant(getattr(task, name)) for name in _TIMES}
    value["log"] = [
        {"uid": entry.uid, "at": format_instant(entry.at), "agent": entry.agent, "message": entry.message}
        for entry in sorted(log, key=lambda entry: (entry.at, entry.uid))
    ]
    return value


def read(text: str, now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse what `write` wrote; unknown members are counted as lost.

    Raises:
        InvalidArgument: a line is neither a task nor a list.
    """
    found = ParsedFile(has_places=True)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _add_line(found, f"line {number}", line, now)
            step()
    return found


def _add_line(found: ParsedFile, where: str, line: str, now: datetime) -> None:
    try:
        value = strict_json.loads(line)
    except ParseError as error:
        raise InvalidArgument("file", f"{where}: {error.message}") from None
    if not isinstance(value, dict) or not isinstance(value.get("uid"), str) or not value["uid"]:
        raise InvalidArgument("file", f"{where}: a line is an object with a uid")
    try:
        if value.get("record") == "list":
            known = {name: value[name] for name in _LIST if name in value}
            found.lists.append(msgspec.convert({"id": value["uid"], **known}, ListRecord))
        else:
            found.records.append(_record(found, where, value, now))
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidArgument("file", f"{where}: {error}") from None


def _record(found: ParsedFile, where: str, value: dict[str, Any], now: datetime) -> TaskRecord:
    for name in value.keys() - _PLACE - set(_FIELDS):
        found.lost[f"{name}: no task has it"] += 1
    fields = checked_fields(where, {name: value[name] for name in _FIELDS if name in value}, found, now)
    times = {name: parse_instant(value[name]) for name in _TIMES if name in value}
    return TaskRecord(
        where,
        value["uid"],
        fields,
        home=msgspec.convert(value.get("list"), str | None),
        rank=msgspec.convert(value.get("rank"), str | None),
        times=valid_times(fields.get("status"), times),
        log=[_log_entry(entry) for entry in msgspec.convert(value.get("log", []), list[dict[str, Any]])],
    )


def _log_entry(entry: dict[str, Any]) -> LogRecord:
    return msgspec.convert({**entry, "at": parse_instant(entry.get("at"))}, LogRecord)
