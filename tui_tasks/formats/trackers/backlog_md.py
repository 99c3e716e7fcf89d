"""The tasks of Backlog.md (https://github.com/MrLesk/Backlog.md): Markdown files with front matter and sections.

Backlog.md numbers its tasks and drops unknown front matter. So our uid is in one of a task's references,
`tui-tasks:UID`; fields without a place are in further references. A file that exists is read, compared with its task,
and changed in the lines of what differs. An import preserves in the task's metadata what a file has and a task has not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from tui_tasks.core.schema import task_links
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED
from tui_tasks.formats.file_records import ExportData, ParsedFile, Step, foreign_of, no_step, plain_name, uid_of
from tui_tasks.formats.trackers.backlog_file import (
    COMMENTS,
    DESCRIPTION,
    HEADINGS,
    REFERENCE_PREFIX,
    SUMMARY,
    compose,
    refuse_too_many_values,
    section_text,
    texts,
    with_changes,
)
from tui_tasks.formats.trackers.backlog_folder import (
    NAME,
    NO_ORDINAL,
    BacklogFolder,
    SortKey,
    day,
    format_date,
    format_priority,
    format_status,
    labels,
    message_text,
    parse_status,
    reduced_status,
    sort_key,
)

_NON_WORD: Final = re.compile(r"[\W_]+")


class _Preserved(msgspec.Struct):
    """What an import preserved of a file in the task's metadata."""

    id: str | None = None
    status: str | None = None
    front_matter: dict[str, Any] = {}
    sections: dict[str, str] = {}


def read_folder(files: Mapping[str, str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse the tasks of a folder, in Backlog.md's order.

    Raises:
        InvalidArgument: the front matter of files is invalid.
    """
    parsed = BacklogFolder(files, now, step).found
    parsed.add_named_lists()
    return parsed


def write_folder(rows: ExportData, present: Mapping[str, str], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield a file for each task: its existing one with the changes, else a new one with the next number.

    Raises:
        InvalidArgument: existing files cannot be parsed.
    """
    folder = BacklogFolder(present, now)
    numbers = _IdAllocator([file.fields.id for file, _ in folder.tasks.values()])
    ids = {uid: file.fields.id for uid, (file, _) in folder.tasks.items()}
    for _, tasks in rows.lists:
        for task in tasks:
            if task.uid not in ids:
                ids[task.uid] = numbers.allocate(_preserved(task).id)
    for home, tasks in rows.lists:
        files = [folder.tasks[task.uid][0] if task.uid in folder.tasks else None for task in tasks]
        order = _ordinals([None if file is None else sort_key(file) for file in files])
        for task, file, at in zip(tasks, files, order, strict=True):
            ordinal = None if at is None else int(at)
            log = rows.logs.get(task.uid, [])
            if file is None:
                path = f"tasks/{ids[task.uid].lower()} - {_slug(task.name)}.md"
                yield path, _composed(task, home, log, ids, ordinal, now)
            else:
                front, sections = _differences(folder, task, home, log, ids, now)
                yield file.path, with_changes(file, front | ({} if ordinal is None else {"ordinal": ordinal}), sections)


def _differences(
    folder: BacklogFolder, task: Task, home: TaskList, log: list[LogEntry], ids: Mapping[str, str], now: datetime
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the front matter and the sections of a task's file that differ from the task."""
    file, record = folder.tasks[task.uid]
    reducers, of_file = folder.found.reducers, record.fields
    is_new = {
        name
        for name in (*_FRONT, "description", "result")
        if reducers[name](getattr(task, name)) != reducers[name](of_file.get(name))
    }
    front: dict[str, Any] = {key: value(getattr(task, name)) for name, (key, value) in _FRONT.items() if name in is_new}
    if "agent" in is_new:
        front["assignee"] += texts(file.front.get("assignee"))[1:]
    needed = {uid for uid in task.depends_on if uid in ids}
    before = {uid for uid in folder.depends_on(task.uid) if (task.uid, uid) not in folder.left_out}
    if needed != before & ids.keys():
        known = texts(file.front.get("dependencies"))
        kept = {id_: uid for id_ in known if (uid := folder.uid(id_)) in needed or uid not in ids}
        front["dependencies"] = [*kept, *(ids[uid] for uid in sorted(needed - set(kept.values())))]
    if "uid" in file.own:
        references = _references(task, home, texts(file.front.get("references")), now)
        if references != texts(file.front.get("references")):
            front["references"] = references
    sections: dict[str, str] = {}
    if "description" in is_new:
        sections[DESCRIPTION] = section_text(task.description)
    if "result" in is_new and isinstance(task.result, str | None):
        sections[SUMMARY] = section_text(task.result or "")
    known_texts = {message_text(entry.message) for entry in record.log}
    if new := [entry for entry in log if message_text(entry.message) not in known_texts]:
        present = file.sections.get(COMMENTS, "")
        sections[COMMENTS] = "\n\n".join(each for each in (present, _comments(new)) if each)
    return front, sections


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
    return _NON_WORD.sub("-", plain_name(name))[:60].strip("-") or "task"


def _composed(
    task: Task, home: TaskList, log: list[LogEntry], ids: Mapping[str, str], ordinal: int | None, now: datetime
) -> str:
    """Return the file of a task that has none."""
    preserved = _preserved(task)
    front = {**preserved.front_matter, "status": preserved.status}
    sections = dict(preserved.sections)
    references = texts(front.get("references"))
    if preserved.id is None:
        references = _references(task, home, references, now)
    status = str(front.get("status") or "")
    if not status or parse_status(status) != reduced_status(task.status):
        status = format_status(task.status)
    given = {
        "id": ids[task.uid],
        "title": plain_name(task.name),
        "status": status
        if status and parse_status(status) == reduced_status(task.status)
        else format_status(task.status),
        "assignee": _assignee(task.agent) + texts(front.get("assignee"))[1:],
        "created_date": format_date(task.created_at),
        "due_date": day(task.due),
        "labels": labels(task.tags),
        "dependencies": [ids[uid] for uid in sorted(task.depends_on) if uid in ids],
        "references": references or None,
        "priority": format_priority(task.priority),
        "ordinal": ordinal,
    }
    front = {name: given.get(name, front.get(name)) for name in [*given, *(front.keys() - given.keys())]}
    front = {name: value for name, value in front.items() if value is not None}
    sections[DESCRIPTION] = section_text(task.description)
    sections[COMMENTS] = _comments(log)
    if isinstance(task.result, str):
        sections[SUMMARY] = section_text(task.result)
    return compose(front, sections)


def _references(task: Task, home: TaskList, present: list[str], now: datetime) -> list[str]:
    """Return the references of a task of ours: those that it has of others, then its uid and what has no place."""
    own: dict[str, Any] = {"list": home.name, "domain": task.domain, "estimate": task.estimate}
    own["links"] = task_links.write(task.links, now) or None
    own["status"] = task.status if task.status in CLOSED and task.status != "done" else None
    words = [f"{name}={plain_name(str(value))}" for name, value in own.items() if value is not None]
    others = [each for each in present if not each.startswith(REFERENCE_PREFIX)]
    return others + [REFERENCE_PREFIX + each for each in (task.uid, *words)]


def _assignee(agent: str | None) -> list[str]:
    return [f"@{plain_name(agent)}"] if agent else []


def _comments(log: list[LogEntry]) -> str:
    return "\n\n".join(
        f"author: {plain_name(entry.agent)}\ncreated: {format_date(entry.at)}\n---\n{message_text(entry.message)}\n---"
        for entry in sorted(log, key=lambda entry: (entry.at, entry.uid))
    )


_FRONT: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("title", plain_name),
    "status": ("status", format_status),
    "priority": ("priority", format_priority),
    "tags": ("labels", labels),
    "agent": ("assignee", _assignee),
    "due": ("due_date", day),
}


def _ordinals(keys: list[SortKey | None]) -> list[float | None]:
    """Return the new ordinals of tasks in their order, None for those that keep theirs: as many as can.

    `keys` has None for a task without a file.
    """
    stays = _longest_sorted(keys)
    ordinals: list[float | None] = [None] * len(keys)
    low, at = 0.0, 0
    while at < len(keys):
        if at in stays:
            low = cast("SortKey", keys[at])[0]
            at += 1
            continue
        end = next((other for other in range(at, len(keys)) if other in stays), len(keys))
        if low == NO_ORDINAL and end == len(keys) and not any(keys[at:]):
            # Tasks without ordinals are sorted by their numbers, and new numbers are the highest.
            break
        high = cast("SortKey", keys[end])[0] if end < len(keys) else NO_ORDINAL
        step = 1_000.0 if high == NO_ORDINAL else (high - low) / (end - at + 1)
        if low == NO_ORDINAL or step < 1:
            return [1_000.0 * number for number in range(1, len(keys) + 1)]
        ordinals[at:end] = [float(int(low + step * number)) for number in range(1, end - at + 1)]
        at = end
    return ordinals


def _longest_sorted(keys: list[SortKey | None]) -> set[int]:
    """Return the places of a longest sequence of keys that is sorted."""
    ends: list[SortKey] = []
    lengths = []
    for key in keys:
        at = -1
        if key is not None:
            at = bisect_right(ends, key)
            ends[at : at + 1] = [key]
        lengths.append(at + 1)
    places: set[int] = set()
    after: SortKey | None = None
    for at in reversed(range(len(keys))):
        key = keys[at]
        if key is not None and lengths[at] == len(ends) - len(places) and (after is None or key <= after):
            places.add(at)
            after = key
    return places
