"""todo.txt (https://github.com/todotxt/todo.txt): a line for each task, with `+domain`, `@tag` and `due:2026-01-31`.

The lines that `write` writes end in `uid:` and further fields, so that the words before it are the name. A line of
others is identified by its text without the marks at its end: it stays the same task when it is done, and is another
one when it is reworded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any, Final

import pytodotxt

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema.due_dates import start_of_day
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import CLOSED, MEDIUM, STATUSES
from tui_tasks.formats.file_records import (
    ExportData,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    day_of,
    day_of_due,
    foreign_of,
    no_step,
    plain,
    plain_name,
    since_epoch,
    valid_times,
)

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Medium is the default, and written only for a task that was imported with it.
_MEDIUM_LETTER: Final = _LETTERS[MEDIUM - 1]
_SPACE: Final = re.compile(r"\s+")
_OUR_LINE: Final = re.compile(r"(.*) uid:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})((?: \S+)*)")
_NAME: Final = "todo.txt"
_PROJECT_OR_CONTEXT: Final = re.compile(r"[+@]\S+")
_MARK: Final = re.compile(r"(?:[+@]\S+|due:\d{4}-\d\d-\d\d|pri:[A-Z])")


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the tasks in the order of their lists."""
    for home, tasks in rows.lists:
        for task in tasks:
            yield f"{_line(task, home, now)}\n"


def _line(task: Task, home: TaskList, now: datetime) -> str:
    line = pytodotxt.Task()
    line.is_completed = task.status in CLOSED
    line.creation_date = day_of(task.created_at, now)
    if line.is_completed:
        line.completion_date = day_of(task.finished_at or task.updated_at, now)
    letter = _priority_letter(task.priority)
    if letter is None and foreign_of(task, _NAME).get("priority") == _MEDIUM_LETTER:
        letter = _MEDIUM_LETTER
    line.priority = letter
    words = {
        "uid": task.uid,
        "pri": letter if line.is_completed else None,
        "due": None if task.due is None else day_of_due(task.due, now),
        "status": None if task.status in ("pending", "done") else task.status,
        "est": task.estimate,
        "agent": task.agent and _as_word(task.agent),
        "list": _as_word(home.name),
    }
    parts = [f"{name}:{value}" for name, value in words.items() if value is not None]
    parts += [f"dep:{uid}" for uid in sorted(task.depends_on)]
    parts += [f"link:{kind}:{target}" for kind, target in _one_word_links(task.links)]
    parts += [f"+{_as_word(task.domain)}"] if task.domain else []
    line.description = " ".join([plain_name(task.name), *parts, *(f"@{_as_word(tag)}" for tag in task.tags)])
    return str(line)


def _as_word(text: str) -> str:
    return _SPACE.sub("_", plain(text)) or "_"


def _one_word_links(links: tuple[dict[str, str], ...]) -> list[tuple[str, str]]:
    """Return the links without spaces; a path may have some."""
    return [(link["kind"], link["target"]) for link in links if not _SPACE.search(link["target"])]


def _priority_letter(priority: int) -> str | None:
    return None if priority == MEDIUM else _LETTERS[min(priority, len(_LETTERS)) - 1]


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse each line that is not empty.

    Raises:
        InvalidArgument: a line is no task.
    """

    def day(at: int | None) -> date | None:
        return None if at is None else day_of(at, now)

    parsed = ParsedFile(
        reducers={
            "name": plain_name,
            "status": lambda status: "done" if status in CLOSED else "pending",
            "priority": _priority_letter,
            "tags": lambda tags: tuple(map(_as_word, tags)),
            "domain": lambda domain: domain and _as_word(domain),
            "agent": lambda agent: agent and _as_word(agent),
            "due": lambda due: due and day_of_due(due, now),
            "links": _one_word_links,
            **dict.fromkeys(("created_at", "finished_at"), day),
        }
    )
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        if line.strip():
            parsed.records.append(_record(parsed, f"line {number}", line.rstrip("\r"), seen, now))
            step()
    parsed.add_named_lists()
    return parsed


def _record(parsed: ParsedFile, where: str, text: str, seen: Counter[str], now: datetime) -> TaskRecord:
    try:
        line = pytodotxt.Task(text)
    except ValueError as error:
        raise InvalidArgument("file", f"{where}: {error}") from None
    description = line.description or ""
    fields: dict[str, Any] = {"status": "done" if line.is_completed else "pending"}
    home = None
    if ours := _OUR_LINE.fullmatch(description):
        name, id_, rest = ours.groups()
        fields |= {"tags": [], "domain": None, "due": None, "agent": None, "estimate": None, "depends_on": []}
        fields["links"] = []
        fields["priority"] = MEDIUM
        home = _apply_words(parsed, fields, rest.split(), line)
    else:
        name, marks = _split_marks(description)
        _apply_words(
            parsed, fields, [word for word in name.split() if _PROJECT_OR_CONTEXT.fullmatch(word)] + marks, line
        )
        seen[name] += 1
        id_ = name if seen[name] == 1 else f"{name}\0{seen[name]}"
    if line.priority is not None:
        fields["priority"] = _parse_priority(parsed, line.priority)
    letters = (line.priority, *line.attributes.get("pri", ()))
    foreign = {"priority": _MEDIUM_LETTER} if _MEDIUM_LETTER in letters else {}
    days = {"created_at": line.creation_date, "finished_at": line.completion_date}
    times: dict[str, int | None] = {
        name: since_epoch(start_of_day(day, now)) for name, day in days.items() if day is not None
    }
    fields["name"] = name
    return TaskRecord(
        where,
        id_,
        checked_fields(where, fields, parsed, now),
        home=home,
        times=valid_times(fields["status"], times),
        foreign=foreign,
    )


def _split_marks(description: str) -> tuple[str, list[str]]:
    """Split a text into what precedes the marks at its end, and these. A text of marks alone is its own name."""
    words = description.split(" ")
    at = len(words)
    while at > 0 and (not words[at - 1] or _MARK.fullmatch(words[at - 1])):
        at -= 1
    if not at:
        return description, [word for word in words if word and not _PROJECT_OR_CONTEXT.fullmatch(word)]
    return " ".join(words[:at]), [word for word in words[at:] if word]


def _apply_words(parsed: ParsedFile, fields: dict[str, Any], words: list[str], line: pytodotxt.Task) -> str | None:
    """Set the fields that the words name; return the name of the list if they have one."""
    home = None
    for word in words:
        name, _, value = word.partition(":")
        if word[0] == "@":
            fields["tags"] = [*fields.get("tags", []), word[1:]]
        elif word[0] == "+" and fields.get("domain") is None:
            fields["domain"] = word[1:]
        elif word[0] == "+":
            parsed.lost[f"project: a task has one domain, so {word} is none"] += 1
        elif name == "due":
            fields["due"] = value
        elif name == "pri":
            fields["priority"] = _parse_priority(parsed, value)
        elif name == "status" and value in STATUSES and (value in CLOSED) == bool(line.is_completed):
            fields["status"] = value
        elif name == "est":
            fields["estimate"] = value
        elif name == "agent":
            fields["agent"] = value
        elif name == "dep":
            fields["depends_on"] = [*fields["depends_on"], value]
        elif name == "link":
            kind, _, target = value.partition(":")
            fields["links"] = [*fields["links"], {"kind": kind, "target": target}]
        elif name == "list":
            home = value
        elif name != "status":
            parsed.lost[f"{name}: no task has it"] += 1
    return home


def _parse_priority(parsed: ParsedFile, letter: str) -> int:
    if len(letter) == 1 and letter in _LETTERS:
        return _LETTERS.index(letter) + 1
    parsed.lost[f"priority: {letter} is not a letter"] += 1
    return MEDIUM
