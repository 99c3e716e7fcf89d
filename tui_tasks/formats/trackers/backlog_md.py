"""The tasks of Backlog.md (https://github.com/MrLesk/Backlog.md): Markdown files with front matter and sections.

Backlog.md numbers its tasks and drops unknown front matter. So our uid is in one of a task's references,
`tui-tasks:UID`; fields without a place are in further references. What a file has and a task has not is preserved: in
the file when it is written again, in the task's metadata when it is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema import work_links
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED, HIGH, LOW, MEDIUM
from tui_tasks.formats.dates import since_epoch, utc
from tui_tasks.formats.records import (
    ExportData,
    ListRecord,
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    foreign_of,
    no_step,
    plain_name,
    uid_of,
    valid_times,
)
from tui_tasks.formats.trackers.backlog_file import (
    COMMENTS,
    DESCRIPTION,
    HEADINGS,
    REFERENCE_PREFIX,
    SUMMARY,
    BacklogFile,
    FrontMatter,
    compose,
    parse,
    refuse_too_many_values,
    section_text,
    texts,
)

NAME: Final = "backlog.md"
_MINUTE: Final = 60_000_000
_STATUS: Final = {"pending": "To Do", "in_progress": "In Progress"}
_STATUS_READ: Final = {
    **dict.fromkeys(("to do", "todo", "draft", "backlog", "open", ""), "pending"),
    **dict.fromkeys(("in progress", "doing"), "in_progress"),
    **dict.fromkeys(("done", "complete", "completed", "closed"), "done"),
}
_PRIORITY_READ: Final = {"high": HIGH, "medium": MEDIUM, "low": LOW, "": MEDIUM}
_COMMENT: Final = re.compile(r"(?:author: ([^\n]*)\n)?created: (\d{4}[^\n]*)\n---\n(.*?)\n---(?=\n|$)", re.DOTALL)
_RULE: Final = re.compile(r"^---\s*$", re.MULTILINE)
_NON_WORD: Final = re.compile(r"[\W_]+")


class _Preserved(msgspec.Struct):
    """What an import preserved of a file in the task's metadata."""

    id: str | None = None
    status: str | None = None
    front_matter: dict[str, Any] = {}
    sections: dict[str, str] = {}


def write_folder(rows: ExportData, present: Mapping[str, str], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield a file for each task: its existing one with the changes, else a new one with the next number.

    Raises:
        InvalidArgument: an existing file cannot be parsed.
    """
    existing = {uid_of(NAME, file.key): file for file in (parse(*each) for each in present.items())}
    numbers = _IdAllocator([file.fields.id for file in existing.values()])
    ids = {uid: file.fields.id for uid, file in existing.items()}
    for _, tasks in rows.lists:
        for task in tasks:
            if task.uid not in ids:
                ids[task.uid] = numbers.allocate(_preserved(task).id)
    for at, (home, task) in enumerate(((home, task) for home, tasks in rows.lists for task in tasks), 1):
        file = existing.get(task.uid)
        id_ = ids[task.uid]
        path = f"tasks/{id_.lower()} - {_slug(task.name)}.md" if file is None else file.path
        yield path, _render(task, home, rows.logs.get(task.uid, []), file, ids, at, now)


def _preserved(task: Task) -> _Preserved:
    """Return what an import preserved of a task, with unsafe text made visible; nothing if an agent made it up."""
    try:
        preserved = msgspec.convert(foreign_of(task, NAME), _Preserved)
        refuse_too_many_values(preserved.front_matter)
    except ValueError:
        return _Preserved()
    if preserved.id is not None and uid_of(NAME, preserved.id.upper()) != task.uid:
        return _Preserved()
    preserved.sections = {mark: section_text(text) for mark, text in preserved.sections.items() if mark in HEADINGS}
    return preserved


class _IdAllocator:
    """Allocates ids that no task has."""

    def __init__(self, taken: list[str]) -> None:
        self._taken = {id_.upper() for id_ in taken}
        self._prefix = taken[0].partition("-")[0].upper() if taken else "TASK"
        own = (re.fullmatch(rf"{re.escape(self._prefix)}-(\d+)(?:\.\d+)*", id_) for id_ in self._taken)
        self._last = max((int(match[1]) for match in own if match), default=0)

    def allocate(self, wanted: str | None) -> str:
        """Return the wanted id if it is free, else the next one."""
        id_ = (wanted or "").upper()
        if not re.fullmatch(r"[A-Z]+-\d+(\.\d+)*", id_) or id_ in self._taken:
            self._last += 1
            id_ = f"{self._prefix}-{self._last}"
            if id_ in self._taken:
                return self.allocate(None)
        self._taken.add(id_)
        return id_


def _slug(name: str) -> str:
    return _NON_WORD.sub("-", plain_name(name, one_line=True))[:60].strip("-") or "task"


def _render(
    task: Task,
    home: TaskList,
    log: list[LogEntry],
    file: BacklogFile | None,
    ids: Mapping[str, str],
    at: int,
    now: datetime,
) -> str:
    preserved = _preserved(task)
    front = dict(file.front) if file else {**preserved.front_matter, "status": preserved.status}
    sections = dict(file.sections if file else preserved.sections)
    others = texts(front.get("assignee"))[1:]
    own: dict[str, Any] = {"list": home.name, "domain": task.domain, "estimate": task.estimate}
    own["links"] = work_links.write(task.links, now) or None
    own["status"] = task.status if task.status in CLOSED and task.status != "done" else None
    references = [each for each in texts(front.get("references")) if not each.startswith(REFERENCE_PREFIX)]
    if preserved.id is None:
        references.append(REFERENCE_PREFIX + task.uid)
        references += [
            f"{REFERENCE_PREFIX}{name}={_line(str(value))}" for name, value in own.items() if value is not None
        ]
    status = str(front.get("status") or "")
    given = {
        "id": ids[task.uid],
        "title": plain_name(task.name, one_line=True),
        "status": status if status and _parse_status(status) == _reduced_status(task.status) else _status(task.status),
        "assignee": [*([f"@{_line(task.agent)}"] if task.agent else []), *others],
        "created_date": _date(task.created_at),
        "due_date": task.due[:10] if task.due else None,
        "labels": _labels(task.tags),
        "dependencies": [ids[uid] for uid in sorted(task.depends_on) if uid in ids],
        "references": references or None,
        "priority": _priority(task.priority) or ("medium" if front.get("priority") == "medium" else None),
        "ordinal": at * 1_000,
    }
    front = {name: given.get(name, front.get(name)) for name in [*given, *(front.keys() - given.keys())]}
    front = {name: value for name, value in front.items() if value is not None}
    sections[DESCRIPTION] = section_text(task.description)
    sections[COMMENTS] = _comments(log)
    if isinstance(task.result, str):
        sections[SUMMARY] = section_text(task.result)
    return compose(front, sections)


def _status(status: str) -> str:
    return _STATUS.get(status, "Done")


def _parse_status(word: str) -> str:
    """Return the status of a word; a status that only this folder has counts as open."""
    return _STATUS_READ.get(word.lower(), "pending")


def _reduced_status(status: str) -> str:
    return "done" if status in CLOSED else status


def _line(text: str) -> str:
    return plain_name(text, one_line=True)


def _labels(tags: tuple[str, ...]) -> list[str]:
    return [_line(tag) for tag in tags]


def _priority(priority: int) -> str | None:
    return "high" if priority <= HIGH else None if priority == MEDIUM else "low"


def _date(at: int) -> str:
    return utc(at).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def _comments(log: list[LogEntry]) -> str:
    return "\n\n".join(
        f"author: {_line(entry.agent)}\ncreated: {_date(entry.at)}\n---\n{_message(entry.message)}\n---"
        for entry in sorted(log, key=lambda entry: (entry.at, entry.uid))
    )


def _message(message: str) -> str:
    """Return a comment's text, with lines of three hyphens, which would end it, made harmless."""
    return _RULE.sub("- - -", section_text(message))


def read_folder(files: Mapping[str, str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse the tasks of a folder, in Backlog.md's order.

    Raises:
        InvalidArgument: a file is no task.
    """
    found = ParsedFile(
        reducers={
            "name": _line,
            "description": section_text,
            "status": _status,
            "priority": _priority,
            "tags": lambda tags: _labels(tuple(tags)),
            "agent": lambda agent: agent and _line(agent),
            "domain": lambda domain: domain and _line(domain),
            "due": lambda due: due and due[:10],
            "result": lambda result: section_text(result) if isinstance(result, str) else result,
            "created_at": lambda at: at // _MINUTE,
            "log": _message,
        }
    )
    parsed = sorted((parse(*each) for each in files.items()), key=_sort_key)
    keys = {file.fields.id.upper(): file.key for file in parsed}
    for file in parsed:
        try:
            found.records.append(_record(found, file, keys, now))
            step()
        except ValueError as error:
            raise InvalidArgument("file", f"{file.path}: {error}") from None
    found.lists = [ListRecord(name, "list", name) for name in sorted({r.home for r in found.records if r.home})]
    return found


def _sort_key(file: BacklogFile) -> tuple[float, list[int]]:
    ordinal = file.fields.ordinal
    is_number = ordinal is not None and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", ordinal)
    numbers = [int(number) for number in re.findall(r"\d{1,15}", file.fields.id)]
    return (float(ordinal) if ordinal is not None and is_number else float("inf"), numbers)


def _record(found: ParsedFile, file: BacklogFile, keys: Mapping[str, str], now: datetime) -> TaskRecord:
    front, own = file.fields, file.own
    foreign = _foreign(found, file)
    status = _parse_status(front.status or "")
    if (front.status or "").lower() not in _STATUS_READ:
        found.lost[f"status: {front.status} is read as pending"] += 1
    if own.get("status") in CLOSED and status == "done":
        status = own["status"]
    priority = _PRIORITY_READ.get((front.priority or "").lower())
    if priority is None:
        found.lost[f"priority: {front.priority} is none of high, medium and low"] += 1
    assignees = texts(front.assignee)
    fields: dict[str, Any] = {
        "name": front.title,
        "status": status,
        "priority": priority or MEDIUM,
        "agent": assignees[0].removeprefix("@") if assignees else None,
        "due": front.due_date,
        "tags": texts(front.labels),
        "depends_on": [keys.get(id_.upper(), id_.upper()) for id_ in texts(front.dependencies)],
        "description": file.sections.get(DESCRIPTION, ""),
    }
    if SUMMARY in file.sections:
        fields["result"] = file.sections[SUMMARY]
    fields |= {name: own[name] for name in ("domain", "estimate") if name in own}
    if "links" in own:
        fields["links"] = list(work_links.parse(own["links"], now))
    created = None if front.created_date is None else _parse_date(front.created_date)
    return TaskRecord(
        file.path,
        file.key,
        checked_fields(file.path, fields, found, now),
        home=own.get("list"),
        times=valid_times(status, {} if created is None else {"created_at": created}),
        log=[
            LogRecord(None, _parse_date(at), author or NAME, message)
            for author, at, message in _COMMENT.findall(file.sections.get(COMMENTS, ""))
        ],
        foreign=foreign,
    )


def _foreign(found: ParsedFile, file: BacklogFile) -> dict[str, Any]:
    """Return what the file has and no task has; also its id if the task's id is not ours."""
    extra = {name: value for name, value in file.front.items() if name not in FrontMatter.__struct_fields__}
    extra = {name: value for name, value in extra.items() if name != "updated_date" and value not in (None, [], "")}
    references = [each for each in texts(file.fields.references) if not each.startswith(REFERENCE_PREFIX)]
    if references:
        extra["references"] = references
    if assignees := texts(file.fields.assignee)[1:]:
        extra["assignee"] = ["", *assignees]
    sections = {
        mark: text
        for mark, text in file.sections.items()
        if mark not in (DESCRIPTION, COMMENTS, SUMMARY) and text.strip()
    }
    for name in [*extra, *sections]:
        found.lost[f"{name.removeprefix('SECTION:').lower()}: kept in the metadata alone"] += 1
    preserved: dict[str, Any] = {} if "uid" in file.own else {"id": file.fields.id}
    status = file.fields.status or ""
    if status not in (*_STATUS.values(), "Done", ""):
        preserved["status"] = status
    return preserved | ({"front_matter": extra} if extra else {}) | ({"sections": sections} if sections else {})


def _parse_date(text: str) -> int:
    """Return a date in UTC, with or without a time, as microseconds since the epoch."""
    at = datetime.fromisoformat(text.strip())
    return since_epoch(at.replace(tzinfo=at.tzinfo or UTC))
