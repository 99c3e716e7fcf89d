"""JSON Lines: every list and task a line, sorted by id, so that a changed task is one changed line.

It keeps whatever an import can bring back. It leaves out what is the database's own: versions, who wrote last and when,
claims, saved states, checks, and what waits for the human.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.dialects.requests import strict_json
from tui_tasks.formats.dates import instant, microseconds
from tui_tasks.formats.records import (
    ListRecord,
    Logged,
    Read,
    Record,
    Rows,
    Step,
    checked,
    fitting_times,
    no_step,
)
from tui_tasks.text import json_text

_LIST: Final = ("kind", "name", "description", "agent", "origin", "one_in_progress", "project")
_FIELDS: Final = (
    *("key", "name", "description", "status", "priority", "tags", "domain", "result", "metadata", "agent", "intent"),
    *("depends_on", "node_ids", "due", "estimate", "links"),
)
_TIMES: Final[tuple[str, ...]] = ("created_at", "started_at", "finished_at")
_PLACE: Final = frozenset({"record", "uid", "list", "rank", "log", *_TIMES})


def write(rows: Rows, now: datetime) -> Iterator[str]:
    """Write the lists in their order, then the tasks by their uids."""
    for home, _ in rows.lists:
        yield _line(_of_list(home))
    tasks = [(task, home) for home, tasks in rows.lists for task in tasks]
    for task, home in sorted(tasks, key=lambda pair: pair[0].uid):
        yield _line(_of_task(task, home, rows.logs.get(task.uid, [])))


def _line(value: dict[str, Any]) -> str:
    return json_text.shown(value) + "\n"


def _of_list(home: TaskList) -> dict[str, Any]:
    return {"record": "list", "uid": home.uid} | {name: getattr(home, name) for name in _LIST}


def _of_task(task: Task, home: TaskList, log: list[LogEntry]) -> dict[str, Any]:
    told: dict[str, Any] = {"record": "task", "uid": task.uid, "list": home.uid, "rank": task.rank}
    told |= {name: getattr(task, name) for name in _FIELDS}
    # What a task depends on has no order, and every writer gives the same.
    told["depends_on"] = sorted(task.depends_on)
    told |= {name: instant(getattr(task, name)) for name in _TIMES}
    told["log"] = [
        {"uid": entry.uid, "at": instant(entry.at), "agent": entry.agent, "message": entry.message}
        for entry in sorted(log, key=lambda entry: (entry.at, entry.uid))
    ]
    return told


def read(text: str, now: datetime, step: Step = no_step) -> Read:
    """Read what `write` has written; members that no task has are counted as lost.

    Raises:
        InvalidArgument: a line is no task and no list.
    """
    found = Read(has_places=True)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _take(found, f"line {number}", line, now)
            step()
    return found


def _take(found: Read, where: str, line: str, now: datetime) -> None:
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


def _record(found: Read, where: str, value: dict[str, Any], now: datetime) -> Record:
    for name in value.keys() - _PLACE - set(_FIELDS):
        found.lost[f"{name}: no task has it"] += 1
    fields = checked(where, {name: value[name] for name in _FIELDS if name in value}, found, now)
    times = {name: microseconds(value[name]) for name in _TIMES if name in value}
    return Record(
        where,
        value["uid"],
        fields,
        home=msgspec.convert(value.get("list"), str | None),
        rank=msgspec.convert(value.get("rank"), str | None),
        times=fitting_times(fields.get("status"), times),
        log=[_logged(entry) for entry in msgspec.convert(value.get("log", []), list[dict[str, Any]])],
    )


def _logged(entry: dict[str, Any]) -> Logged:
    return msgspec.convert({**entry, "at": microseconds(entry.get("at"))}, Logged)
