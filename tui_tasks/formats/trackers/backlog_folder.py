"""The folder of Backlog.md as tasks: what an import makes of each file, and the words for the values of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tui_tasks.core.errors import InvalidArgument, Problem
from tui_tasks.core.schema import task_links
from tui_tasks.core.vocab import CLOSED, HIGH, LOW, MEDIUM
from tui_tasks.formats import closing_edges
from tui_tasks.formats.file_records import (
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    no_step,
    plain_name,
    since_epoch,
    uid_of,
    utc,
    valid_times,
)
from tui_tasks.formats.trackers.backlog_file import (
    COMMENTS,
    DESCRIPTION,
    REFERENCE_PREFIX,
    SUMMARY,
    BacklogFile,
    FrontMatter,
    NoTask,
    parse,
    section_text,
    texts,
)
from tui_tasks.text.times import MINUTE

NAME: Final = "backlog.md"
_STATUS: Final = {"pending": "To Do", "in_progress": "In Progress"}
_STATUS_READ: Final = {
    **dict.fromkeys(("to do", "todo", "draft", "backlog", "open", ""), "pending"),
    **dict.fromkeys(("in progress", "doing"), "in_progress"),
    **dict.fromkeys(("done", "complete", "completed", "closed"), "done"),
}
_PRIORITY_READ: Final = {"high": HIGH, "medium": MEDIUM, "low": LOW, "": MEDIUM}
_DATE: Final = re.compile(r"(\d\d)([-/.])(\d\d)\2(\d\d)")
NO_ORDINAL: Final = float("inf")
SortKey = tuple[float, list[int]]
_COMMENT: Final = re.compile(r"(?:author: ([^\n]*)\n)?created: (\d{4}[^\n]*)\n---\n(.*?)\n---(?=\n|$)", re.DOTALL)
_RULE: Final = re.compile(r"^---\s*$", re.MULTILINE)


class BacklogFolder:
    """The files of a folder, with the tasks that an import would make of them, by uid.

    Raises:
        InvalidArgument: files cannot be parsed; the message names each.
    """

    def __init__(self, files: Mapping[str, str], now: datetime, step: Step = no_step) -> None:
        self.found = _parsed_file()
        parsed: dict[str, BacklogFile] = {}
        problems: list[Problem] = []
        for path, text in files.items():
            try:
                file = parse(path, text)
            except NoTask as error:
                self.found.passed_over.append(f"{path}: {error}")
            except InvalidArgument as error:
                problems.append((path, error.message))
            else:
                if (other := parsed.get(file.key)) is not None:
                    self.found.passed_over.append(f"{other.path}: {path} has the same id, {file.fields.id}")
                parsed[file.key] = file
        self._keys = {file.fields.id.upper(): file.key for file in parsed.values()}
        self.tasks: dict[str, tuple[BacklogFile, TaskRecord]] = {}
        for file in sorted(parsed.values(), key=sort_key):
            try:
                self.tasks[uid_of(NAME, file.key)] = (file, _record(self.found, file, self._keys, now))
            except InvalidArgument as error:
                problems.append((file.path, error.message))
            except ValueError as error:
                problems.append((file.path, f"{file.path}: {error}"))
            step()
        if problems:
            raise InvalidArgument.of(problems)
        for _, record in self.tasks.values():
            self.found.records.append(record)
        after = {uid: self.depends_on(uid) for uid in self.tasks}
        self.left_out = frozenset(closing_edges(after))

    def depends_on(self, uid: str) -> list[str]:
        """Return the uids of the tasks that a task depends on by its file."""
        return sorted({uid_of(NAME, id_) for id_ in self.tasks[uid][1].fields["depends_on"]})

    def uid(self, id_: str) -> str:
        """Return the uid of the task that has an id of Backlog.md."""
        return uid_of(NAME, self._keys.get(id_.upper(), id_.upper()))


def sort_key(file: BacklogFile) -> SortKey:
    """Return a file's place in Backlog.md's order: by ordinal, then by number."""
    ordinal = file.fields.ordinal
    is_number = ordinal is not None and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", ordinal)
    numbers = [int(number) for number in re.findall(r"\d{1,15}", file.fields.id)]
    return (float(ordinal) if ordinal is not None and is_number else NO_ORDINAL, numbers)


def _record(parsed: ParsedFile, file: BacklogFile, keys: Mapping[str, str], now: datetime) -> TaskRecord:
    front, own = file.fields, file.own
    foreign = _foreign(parsed, file)
    status = parse_status(front.status or "")
    if (front.status or "").lower() not in _STATUS_READ:
        parsed.lost[f"status: {front.status} is read as pending"] += 1
    if own.get("status") in CLOSED and status == "done":
        status = own["status"]
    priority = _PRIORITY_READ.get((front.priority or "").lower())
    if priority is None:
        parsed.lost[f"priority: {front.priority} is none of high, medium and low"] += 1
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
        fields["links"] = list(task_links.parse(own["links"], now))
    created = _created(parsed, front.created_date)
    return TaskRecord(
        file.path,
        file.key,
        checked_fields(file.path, fields, parsed, now),
        home=own.get("list"),
        times=valid_times(status, {} if created is None else {"created_at": created}),
        log=[
            LogRecord(None, _parse_date(at), author or NAME, message)
            for author, at, message in _COMMENT.findall(file.sections.get(COMMENTS, ""))
        ],
        foreign=foreign,
    )


def _created(parsed: ParsedFile, text: str | None) -> int | None:
    if text is not None:
        try:
            return _parse_date(text)
        except ValueError:
            parsed.lost["created_date: it is not a date"] += 1
    return None


def _foreign(parsed: ParsedFile, file: BacklogFile) -> dict[str, Any]:
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
        parsed.lost[f"{name.removeprefix('SECTION:').lower()}: kept in the metadata alone"] += 1
    preserved: dict[str, Any] = {} if "uid" in file.own else {"id": file.fields.id}
    status = file.fields.status or ""
    if status not in (*_STATUS.values(), "Done", ""):
        preserved["status"] = status
    return preserved | ({"front_matter": extra} if extra else {}) | ({"sections": sections} if sections else {})


def _parse_date(text: str) -> int:
    """Return a date in UTC, with or without a time, as microseconds since the epoch.

    Backlog.md reads a date such as 31-12-25 or 31/12/25, too.
    """
    short = _DATE.fullmatch(text.strip())
    at = datetime.fromisoformat(f"20{short[4]}-{short[3]}-{short[1]}" if short else text.strip())
    return since_epoch(at.replace(tzinfo=at.tzinfo or UTC))


def _parsed_file() -> ParsedFile:
    return ParsedFile(
        reducers={
            "name": plain_name,
            "description": section_text,
            "status": format_status,
            "priority": format_priority,
            "tags": lambda tags: labels(tuple(tags)),
            "agent": lambda agent: agent and plain_name(agent),
            "domain": lambda domain: domain and plain_name(domain),
            "due": day,
            "result": lambda result: section_text(result) if isinstance(result, str) else result,
            "created_at": lambda at: at // MINUTE,
            "log": message_text,
        }
    )


def format_status(status: str) -> str:
    """Return the status that a new file has."""
    return _STATUS.get(status, "Done")


def parse_status(word: str) -> str:
    """Return the status of a word; a status that only this folder has counts as open."""
    return _STATUS_READ.get(word.lower(), "pending")


def reduced_status(status: str) -> str:
    """Return the status as far as Backlog.md has words for it."""
    return "done" if status in CLOSED else status


def labels(tags: tuple[str, ...]) -> list[str]:
    """Return the labels of a task."""
    return [plain_name(tag) for tag in tags]


def format_priority(priority: int) -> str | None:
    """Return the word for a priority, None for the middle one."""
    return "high" if priority <= HIGH else None if priority == MEDIUM else "low"


def day(due: str | None) -> str | None:
    """Return the day of a due date."""
    return due[:10] if due else None


def format_date(at: int) -> str:
    """Return an instant to the minute, in UTC."""
    return utc(at).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def message_text(message: str) -> str:
    """Return a comment's text, with lines of three hyphens, which would end it, made harmless."""
    return _RULE.sub("- - -", section_text(message))
