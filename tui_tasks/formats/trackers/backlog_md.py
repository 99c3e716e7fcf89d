"""The tasks of Backlog.md (https://github.com/MrLesk/Backlog.md): a Markdown file each, with front matter and sections.

Backlog.md numbers its tasks and drops front matter that it does not know. So a task of ours is known by one of its
references, `tui-tasks:` and its uid; further ones have what else there is no place for. What is in a file and no task
has is kept: in the file when it is written again, in the task's metadata when it is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import yaml
from frontmatter.default_handlers import YAMLHandler

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema import work_links
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED, HIGH, LOW, MEDIUM
from tui_tasks.formats.dates import since_epoch, utc
from tui_tasks.formats.records import (
    ListRecord,
    Logged,
    Read,
    Record,
    Rows,
    Step,
    checked,
    fitting_times,
    foreign_of,
    no_step,
    plain,
    plain_name,
    uid_of,
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
_OURS: Final = "tui-tasks:"
# The sections of a file in their order, by their marks, with their headings.
_HEADINGS: Final = {
    "SECTION:DESCRIPTION": "## Description\n",
    "AC": "## Acceptance Criteria",
    "DOD": "## Definition of Done",
    "SECTION:PLAN": "## Implementation Plan\n",
    "SECTION:NOTES": "## Implementation Notes\n",
    "COMMENTS": "## Comments\n",
    "SECTION:FINAL_SUMMARY": "## Final Summary\n",
}
_DESCRIPTION, _COMMENTS, _SUMMARY = "SECTION:DESCRIPTION", "COMMENTS", "SECTION:FINAL_SUMMARY"
_SECTION: Final = re.compile(r"(?:## [^\n]*\n\n?)?<!-- ([A-Z:_]+):BEGIN -->\n?(.*?)\n?<!-- \1:END -->", re.DOTALL)
_MARK: Final = re.compile(r"<!--(?=\s*[A-Z:_]+:(?:BEGIN|END)\s*-->)")
_COMMENT: Final = re.compile(r"(?:author: ([^\n]*)\n)?created: (\d{4}[^\n]*)\n---\n(.*?)\n---(?=\n|$)", re.DOTALL)
_RULE: Final = re.compile(r"^---\s*$", re.MULTILINE)
_NO_WORD: Final = re.compile(r"[\W_]+")
_MOST_VALUES: Final = 10_000


class _Fields(msgspec.Struct):
    """The front matter that has a place in a task."""

    id: str
    title: str
    status: str | None = None
    assignee: list[str] | str | None = None
    created_date: str | None = None
    due_date: str | None = None
    labels: list[str] | str | None = None
    dependencies: list[str] | str | None = None
    priority: str | None = None
    ordinal: str | None = None
    references: list[str] | str | None = None


class _Kept(msgspec.Struct):
    """What an import has kept of a file in the task's metadata."""

    id: str | None = None
    status: str | None = None
    front_matter: dict[str, Any] = {}
    sections: dict[str, str] = {}


class _File(msgspec.Struct):
    """A file that is read: `own` are the words of ours among its references, by name."""

    path: str
    front: dict[str, Any]
    sections: dict[str, str]
    fields: _Fields
    own: dict[str, str]

    @property
    def key(self) -> str:
        """The id by which the task is known: ours, else its own."""
        return self.own.get("uid") or self.fields.id.upper()


_SAFE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Reads every value but null as text: `title: 007` and `title: 2026-01-31` are titles.
_LOADER: Final = type(
    "_Loader",
    (_SAFE,),
    {
        "yaml_implicit_resolvers": {
            first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith(":null")]
            for first, resolvers in _SAFE.yaml_implicit_resolvers.items()
        }
    },
)
_HANDLER: Final = YAMLHandler()


def write_folder(rows: Rows, present: Mapping[str, str], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield a file for each task: that which the folder has of it, with what has changed, else one of a new number.

    Raises:
        InvalidArgument: a file of the folder cannot be read.
    """
    there = {uid_of(NAME, file.key): file for file in (_parsed(*each) for each in present.items())}
    numbers = _Numbers([file.fields.id for file in there.values()])
    ids = {uid: file.fields.id for uid, file in there.items()}
    for _, tasks in rows.lists:
        for task in tasks:
            if task.uid not in ids:
                ids[task.uid] = numbers.take(_kept(task).id)
    for at, (home, task) in enumerate(((home, task) for home, tasks in rows.lists for task in tasks), 1):
        file = there.get(task.uid)
        id_ = ids[task.uid]
        path = f"tasks/{id_.lower()} - {_slug(task.name)}.md" if file is None else file.path
        yield path, _text_of(task, home, rows.logs.get(task.uid, []), file, ids, at, now)


def _kept(task: Task) -> _Kept:
    """Return what an import has kept of a task, cleaned as texts of agents are: one may have made it up."""
    try:
        kept = msgspec.convert(foreign_of(task, NAME), _Kept)
        _refuse_many(kept.front_matter)
    except ValueError:
        return _Kept()
    if kept.id is not None and uid_of(NAME, kept.id.upper()) != task.uid:
        return _Kept()
    kept.sections = {mark: _text(text) for mark, text in kept.sections.items() if mark in _HEADINGS}
    return kept


class _Numbers:
    """Gives ids that no task has."""

    def __init__(self, taken: list[str]) -> None:
        self._taken = {id_.upper() for id_ in taken}
        self._prefix = taken[0].partition("-")[0].upper() if taken else "TASK"
        own = (re.fullmatch(rf"{re.escape(self._prefix)}-(\d+)(?:\.\d+)*", id_) for id_ in self._taken)
        self._last = max((int(match[1]) for match in own if match), default=0)

    def take(self, wanted: str | None) -> str:
        """Return the id that is wanted where it is free, else the next one."""
        id_ = (wanted or "").upper()
        if not re.fullmatch(r"[A-Z]+-\d+(\.\d+)*", id_) or id_ in self._taken:
            self._last += 1
            id_ = f"{self._prefix}-{self._last}"
            if id_ in self._taken:
                return self.take(None)
        self._taken.add(id_)
        return id_


def _slug(name: str) -> str:
    return _NO_WORD.sub("-", plain_name(name, one_line=True))[:60].strip("-") or "task"


def _text_of(
    task: Task,
    home: TaskList,
    log: list[LogEntry],
    file: _File | None,
    ids: Mapping[str, str],
    at: int,
    now: datetime,
) -> str:
    kept = _kept(task)
    front = dict(file.front) if file else {**kept.front_matter, "status": kept.status}
    sections = dict(file.sections if file else kept.sections)
    others = _texts(front.get("assignee"))[1:]
    own: dict[str, Any] = {"list": home.name, "domain": task.domain, "estimate": task.estimate}
    own["links"] = work_links.write(task.links, now) or None
    own["status"] = task.status if task.status in CLOSED and task.status != "done" else None
    references = [each for each in _texts(front.get("references")) if not each.startswith(_OURS)]
    if kept.id is None:
        references.append(_OURS + task.uid)
        references += [f"{_OURS}{name}={_line(str(value))}" for name, value in own.items() if value is not None]
    status = str(front.get("status") or "")
    given = {
        "id": ids[task.uid],
        "title": plain_name(task.name, one_line=True),
        "status": status if status and _status_of(status) == _told(task.status) else _status(task.status),
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
    sections[_DESCRIPTION] = _text(task.description)
    sections[_COMMENTS] = _comments(log)
    if isinstance(task.result, str):
        sections[_SUMMARY] = _text(task.result)
    head = _HANDLER.export(front, sort_keys=False, width=1_000_000)
    marks = [*_HEADINGS, *sorted(sections.keys() - _HEADINGS.keys())]
    body = "\n".join(_section(mark, sections[mark]) for mark in marks if sections.get(mark))
    return f"---\n{head}\n---\n\n{body}"


def _section(mark: str, text: str) -> str:
    heading = _HEADINGS.get(mark)
    return f"{heading}\n" * (heading is not None) + f"<!-- {mark}:BEGIN -->\n{text}\n<!-- {mark}:END -->\n"


def _status(status: str) -> str:
    return _STATUS.get(status, "Done")


def _status_of(word: str) -> str:
    """A status of the folder's own is none of these, and open."""
    return _STATUS_READ.get(word.lower(), "pending")


def _told(status: str) -> str:
    return "done" if status in CLOSED else status


def _line(text: str) -> str:
    return plain_name(text, one_line=True)


def _text(text: str) -> str:
    """A text within a section, which no mark in it ends."""
    return _MARK.sub("<! --", plain(text)).strip()


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
    """A comment ends at a line of three hyphens."""
    return _RULE.sub("- - -", _text(message))


def read_folder(files: Mapping[str, str], now: datetime, step: Step = no_step) -> Read:
    """Read the tasks of a folder, in their own order.

    Raises:
        InvalidArgument: a file is none of a task.
    """
    found = Read(
        coarse={
            "name": _line,
            "description": _text,
            "status": _status,
            "priority": _priority,
            "tags": lambda tags: _labels(tuple(tags)),
            "agent": lambda agent: agent and _line(agent),
            "domain": lambda domain: domain and _line(domain),
            "due": lambda due: due and due[:10],
            "result": lambda result: _text(result) if isinstance(result, str) else result,
            "created_at": lambda at: at // _MINUTE,
            "log": _message,
        }
    )
    parsed = sorted((_parsed(*each) for each in files.items()), key=_order)
    keys = {file.fields.id.upper(): file.key for file in parsed}
    for file in parsed:
        try:
            found.records.append(_record(found, file, keys, now))
            step()
        except ValueError as error:
            raise InvalidArgument("file", f"{file.path}: {error}") from None
    found.lists = [ListRecord(name, "list", name) for name in sorted({r.home for r in found.records if r.home})]
    return found


def _order(file: _File) -> tuple[float, list[int]]:
    ordinal = file.fields.ordinal
    is_number = ordinal is not None and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", ordinal)
    numbers = [int(number) for number in re.findall(r"\d{1,15}", file.fields.id)]
    return (float(ordinal) if ordinal is not None and is_number else float("inf"), numbers)


def _parsed(path: str, text: str) -> _File:
    if not _HANDLER.detect(text):
        raise InvalidArgument("file", f"{path}: it begins with no front matter (---)")
    try:
        head, content = _HANDLER.split(text)
        front = yaml.load(head, Loader=_LOADER)
        _refuse_many(front)
        fields = msgspec.convert(front, _Fields, strict=False)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InvalidArgument("file", f"{path}: {' '.join(str(error).split())}") from None
    own = {}
    for reference in _texts(fields.references):
        if reference.startswith(_OURS):
            name, is_word, value = reference.removeprefix(_OURS).partition("=")
            own[name if is_word else "uid"] = value if is_word else name
    # Without marks, everything is the description.
    sections = dict(_SECTION.findall(content))
    rest = _SECTION.sub("", content).strip().removeprefix("## Description").strip()
    if rest:
        sections[_DESCRIPTION] = "\n\n".join(each for each in (sections.get(_DESCRIPTION), rest) if each)
    return _File(path, front, sections, fields, own)


def _refuse_many(value: Any) -> None:
    """Aliases of YAML make few lines into more values than there is memory for."""
    left, level = _MOST_VALUES, [value]
    while level:
        each = level.pop()
        left -= 1
        if left < 0:
            raise ValueError(f"over {_MOST_VALUES:,} values in the front matter")
        if isinstance(each, dict):
            level += each.values()
        elif isinstance(each, list):
            level += each


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value if each is not None]
    return [] if value in (None, "") else [str(value)]


def _record(found: Read, file: _File, keys: Mapping[str, str], now: datetime) -> Record:
    told, own = file.fields, file.own
    foreign = _foreign(found, file)
    status = _status_of(told.status or "")
    if (told.status or "").lower() not in _STATUS_READ:
        found.lost[f"status: {told.status} is read as pending"] += 1
    if own.get("status") in CLOSED and status == "done":
        status = own["status"]
    priority = _PRIORITY_READ.get((told.priority or "").lower())
    if priority is None:
        found.lost[f"priority: {told.priority} is none of high, medium and low"] += 1
    assignees = _texts(told.assignee)
    fields: dict[str, Any] = {
        "name": told.title,
        "status": status,
        "priority": priority or MEDIUM,
        "agent": assignees[0].removeprefix("@") if assignees else None,
        "due": told.due_date,
        "tags": _texts(told.labels),
        "depends_on": [keys.get(id_.upper(), id_.upper()) for id_ in _texts(told.dependencies)],
        "description": file.sections.get(_DESCRIPTION, ""),
    }
    if _SUMMARY in file.sections:
        fields["result"] = file.sections[_SUMMARY]
    fields |= {name: own[name] for name in ("domain", "estimate") if name in own}
    if "links" in own:
        fields["links"] = list(work_links.parse(own["links"], now))
    created = None if told.created_date is None else _microseconds(told.created_date)
    return Record(
        file.path,
        file.key,
        checked(file.path, fields, found, now),
        home=own.get("list"),
        times=fitting_times(status, {} if created is None else {"created_at": created}),
        log=[
            Logged(None, _microseconds(at), author or NAME, message)
            for author, at, message in _COMMENT.findall(file.sections.get(_COMMENTS, ""))
        ],
        foreign=foreign,
    )


def _foreign(found: Read, file: _File) -> dict[str, Any]:
    """What the file has and no task; its id where it is not one of ours."""
    extra = {name: value for name, value in file.front.items() if name not in _Fields.__struct_fields__}
    extra = {name: value for name, value in extra.items() if name != "updated_date" and value not in (None, [], "")}
    references = [each for each in _texts(file.fields.references) if not each.startswith(_OURS)]
    if references:
        extra["references"] = references
    if assignees := _texts(file.fields.assignee)[1:]:
        extra["assignee"] = ["", *assignees]
    sections = {
        mark: text
        for mark, text in file.sections.items()
        if mark not in (_DESCRIPTION, _COMMENTS, _SUMMARY) and text.strip()
    }
    for name in [*extra, *sections]:
        found.lost[f"{name.removeprefix('SECTION:').lower()}: kept in the metadata alone"] += 1
    kept: dict[str, Any] = {} if "uid" in file.own else {"id": file.fields.id}
    status = file.fields.status or ""
    if status not in (*_STATUS.values(), "Done", ""):
        kept["status"] = status
    return kept | ({"front_matter": extra} if extra else {}) | ({"sections": sections} if sections else {})


def _microseconds(text: str) -> int:
    """Dates are in UTC, with or without a time."""
    at = datetime.fromisoformat(text.strip())
    return since_epoch(at.replace(tzinfo=at.tzinfo or UTC))
