"""Issues of GitHub as `gh issue list --json` prints them; for import only, as `gh` imports none.

    gh issue list --state all --limit 10000 --json \\
        number,title,body,state,stateReason,labels,assignees,milestone,createdAt,closedAt,url,author,comments
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.vocab import OPEN
from tui_tasks.formats.file_records import (
    LogRecord,
    ParsedFile,
    Step,
    TaskRecord,
    checked_fields,
    no_step,
    parse_instant,
    valid_times,
)
from tui_tasks.formats.format_table import json_values

NAME: Final = "github"
_NOT_DONE: Final = ("NOT_PLANNED", "DUPLICATE")
# These repeat `url` or other fields.
_IGNORED: Final = frozenset({"id", "updatedAt", "closed", "isPinned", "reactionGroups"})


class _Reference(msgspec.Struct):
    name: str = ""
    login: str = ""
    title: str = ""
    due_on: str | None = msgspec.field(default=None, name="dueOn")


class _Comment(msgspec.Struct, rename="camel"):
    body: str = ""
    created_at: str | None = None
    author: _Reference | None = None


class _Issue(msgspec.Struct, rename="camel"):
    """The fields of an issue with a place in a task; each is present if `--json` named it."""

    title: str
    number: int
    url: str | None = None
    body: str | msgspec.UnsetType = msgspec.UNSET
    state: str | msgspec.UnsetType = msgspec.UNSET
    state_reason: str | None = None
    labels: list[_Reference] | msgspec.UnsetType = msgspec.UNSET
    assignees: list[_Reference] | msgspec.UnsetType = msgspec.UNSET
    milestone: _Reference | msgspec.UnsetType | None = msgspec.UNSET
    created_at: str | None = None
    closed_at: str | None = None
    comments: list[_Comment] = []


_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(_Issue))


def read(lines: Iterable[str], now: datetime, step: Step = no_step) -> ParsedFile:
    """Parse an array of issues, or an issue in each line.

    Raises:
        InvalidArgument: something in it is no issue.
    """
    parsed = ParsedFile(reducers={"status": _state})
    for where, value in json_values(lines):
        try:
            parsed.records.append(_record(parsed, where, msgspec.convert(value, _Issue), value, now))
            step()
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidArgument("file", f"{where}: {error}") from None
    return parsed


def _state(status: str) -> str:
    """Return the state of an issue for a status: open, or closed as done or not done."""
    return "open" if status in OPEN else "not done" if status in ("skipped", "cancelled") else "done"


def _record(parsed: ParsedFile, where: str, issue: _Issue, value: dict[str, Any], now: datetime) -> TaskRecord:
    fields: dict[str, Any] = {"name": issue.title}
    if issue.state is not msgspec.UNSET:
        closed = "cancelled" if issue.state_reason in _NOT_DONE else "done"
        fields["status"] = closed if issue.state.upper() == "CLOSED" else "pending"
    if issue.body is not msgspec.UNSET:
        fields["description"] = issue.body.replace("\r\n", "\n")
    if issue.labels is not msgspec.UNSET:
        fields["tags"] = [label.name for label in issue.labels]
    if issue.assignees is not msgspec.UNSET:
        fields["agent"] = issue.assignees[0].login if issue.assignees else None
    if issue.milestone is not msgspec.UNSET:
        milestone = issue.milestone or _Reference()
        fields |= {"domain": milestone.title or None, "due": milestone.due_on and milestone.due_on[:10]}
    times = {"created_at": issue.created_at, "finished_at": issue.closed_at}
    return TaskRecord(
        where,
        issue.url or f"#{issue.number}",
        checked_fields(where, fields, parsed, now),
        times=valid_times(fields.get("status"), {name: parse_instant(text) for name, text in times.items() if text}),
        log=[_log_record(comment) for comment in issue.comments],
        foreign=_foreign(parsed, issue, value),
    )


def _log_record(comment: _Comment) -> LogRecord:
    author = comment.author.login if comment.author else ""
    return LogRecord(None, parse_instant(comment.created_at) or 0, author or NAME, comment.body.replace("\r\n", "\n"))


def _foreign(parsed: ParsedFile, issue: _Issue, value: dict[str, Any]) -> dict[str, Any]:
    others = {
        name: each for name, each in value.items() if name not in _FIELDS | _IGNORED and each not in (None, "", [])
    }
    if issue.assignees is not msgspec.UNSET and len(issue.assignees) > 1:
        others["assignees"] = [each.login for each in issue.assignees]
    for name in others:
        parsed.lost[f"{name}: kept in the metadata alone"] += 1
    return {"number": issue.number, **({"url": issue.url} if issue.url else {}), **others}
