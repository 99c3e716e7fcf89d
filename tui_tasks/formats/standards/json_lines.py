"""JSON Lines: a line for each list and task, sorted by id, so that a changed task is one changed line.

It holds everything that an import can restore. It omits what belongs to the database: who wrote last, claims, saved
states, checks, and what waits for the human. A line holds nothing of the other lines, and the same task has the same
line in every database: a list's id follows from its name, and versions and instants are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument, ParseError
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.dialects.requests import strict_json
from tui_tasks.formats.file_records import (
    ExportData,
    ListRecord,
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    format_instant,
    no_step,
    parse_instant,
    uid_of,
    valid_times,
)
from tui_tasks.formats.standards import team_merge
from tui_tasks.text import safe

_LIST: Final = ("kind", "name", "description", "agent", "origin", "one_in_progress", "project")
_FIELDS: Final = (
    *("key", "name", "description", "status", "priority", "tags", "domain", "result", "metadata", "agent", "intent"),
    *("depends_on", "node_ids", "due", "estimate", "links"),
)
_TIMES: Final[tuple[str, ...]] = ("created_at", "started_at", "finished_at")
_Version = Annotated[int, Meta(ge=1, le=2**53)]
_PLACE: Final = frozenset({"record", "uid", "list", "rank", "log", "version", "updated_at", *_TIMES})


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the lists, then the tasks, both by id."""
    for line in sorted((_list_json(home) for home, _ in rows.lists), key=lambda line: str(line["uid"])):
        yield _line(line)
    each = ((task, home) for home, tasks in rows.lists for task in tasks)
    for task, home in rows.by_uid() if rows.by_uid is not None else sorted(each, key=lambda pair: pair[0].uid):
        yield _line(_task_json(task, home, rows.logs.get(task.uid, [])))


def team_text(rows: ExportData, present: str, is_known: Callable[[str], bool]) -> str:
    """Return the file of a team. It keeps the deletions of `present` that are of tasks unknown to the database.

    A task that two people deleted has the line of the later deletion in both files.
    """
    lines = [_list_json(home) for home, _ in rows.lists]
    present_deletions = {line["uid"]: line for line in team_merge.deletions(present)}
    gone = {uid: line for uid, line in present_deletions.items() if not is_known(uid)}
    for home, uid, version, at in rows.deleted:
        place = list_id(home.kind, home.name, home.uid)
        line = {"record": team_merge.DELETED, "uid": uid, "list": place, "version": version}
        line["updated_at"] = format_instant(at)
        gone[uid] = max(line, present_deletions.get(uid, line), key=team_merge.age)
    lines += (_task_json(task, home, rows.logs.get(task.uid, [])) for home, tasks in rows.lists for task in tasks)
    return team_merge.write([*lines, *gone.values()])


def _line(value: dict[str, Any]) -> str:
    return safe.dumps(value) + "\n"


def _list_json(home: TaskList) -> dict[str, Any]:
    return {"record": "list", "uid": list_id(home.kind, home.name, home.uid)} | {
        name: getattr(home, name) for name in _LIST
    }


def list_id(kind: str, name: str, uid: str) -> str:
    """Return the id of a list in a file. Databases know a list by its name, a plan by its uid."""
    return uid if kind == "plan" else uid_of("list", name)


def _task_json(task: Task, home: TaskList, log: list[LogEntry]) -> dict[str, Any]:
    value: dict[str, Any] = {"record": "task", "uid": task.uid}
    value |= {"list": list_id(home.kind, home.name, home.uid), "rank": task.rank}
    value |= {name: getattr(task, name) for name in _FIELDS}
    # Dependencies have no order of their own; sorted, equal tasks give equal lines.
    value["depends_on"] = sorted(task.depends_on)
    value |= {name: format_instant(getattr(task, name)) for name in _TIMES}
    value |= {"version": task.version, "updated_at": format_instant(task.updated_at)}
    value["log"] = [
        {"uid": entry.uid, "at": format_instant(entry.at), "agent": entry.agent, "message": entry.message}
        for entry in sorted(log, key=lambda entry: (entry.at, entry.uid))
    ]
    return value


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse what `write` wrote; unknown members are counted as lost.

    Raises:
        InvalidArgument: a line is neither a task nor a list.
    """
    parsed = ParsedFile(has_places=True)
    for number, line in enumerate(lines, 1):
        if line.strip():
            _add_line(parsed, f"line {number}", line, now)
            step()
    return parsed


def _add_line(parsed: ParsedFile, where: str, line: str, now: datetime) -> None:
    try:
        team_merge.refuse_conflict_mark(where, line)
        value = strict_json.loads(line)
    except ValueError as error:
        raise InvalidArgument("file", str(error)) from None
    except ParseError as error:
        raise InvalidArgument("file", f"{where}: {error.message}") from None
    if not isinstance(value, dict) or not isinstance(value.get("uid"), str) or not value["uid"]:
        raise InvalidArgument("file", f"{where}: a line is an object with a uid")
    try:
        if value.get("record") == "list":
            known = {name: value[name] for name in _LIST if name in value}
            parsed.lists.append(msgspec.convert({"id": value["uid"], **known}, ListRecord))
        elif value.get("record") == team_merge.DELETED:
            if (changed := _changed(value)) is not None:
                parsed.deleted[value["uid"]] = changed
        else:
            parsed.records.append(_record(parsed, where, value, now))
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidArgument("file", f"{where}: {error}") from None


def _record(parsed: ParsedFile, where: str, value: dict[str, Any], now: datetime) -> TaskRecord:
    for name in value.keys() - _PLACE - set(_FIELDS):
        parsed.lost[f"{name}: no task has it"] += 1
    fields = checked_fields(where, {name: value[name] for name in _FIELDS if name in value}, parsed, now)
    times = {name: parse_instant(value[name]) for name in _TIMES if name in value}
    return TaskRecord(
        where,
        value["uid"],
        fields,
        home=msgspec.convert(value.get("list"), str | None),
        rank=msgspec.convert(value.get("rank"), str | None),
        times=valid_times(fields.get("status"), times),
        changed=_changed(value),
        log=[
            msgspec.convert({**entry, "at": parse_instant(entry.get("at"))}, LogRecord)
            for entry in msgspec.convert(value.get("log", []), list[dict[str, Any]])
        ],
    )


def _changed(value: dict[str, Any]) -> tuple[int, int] | None:
    version, at = value.get("version"), parse_instant(value.get("updated_at"))
    return None if version is None or at is None else (msgspec.convert(version, _Version), at)
