"""Issues of GitHub as `gh issue list --json` prints them; they are read alone, as `gh` takes none in.

    gh issue list --state all --limit 10000 --json \\
        number,title,body,state,stateReason,labels,assignees,milestone,createdAt,closedAt,url,author,comments
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.vocab import OPEN
from tui_tasks.formats.dates import microseconds
from tui_tasks.formats.records import Logged, Read, Record, Step, checked, fitting_times, no_step
from tui_tasks.formats.trackers.json_values import json_values

NAME: Final = "github"
_NOT_DONE: Final = ("NOT_PLANNED", "DUPLICATE")
# Told as `url` is, or by the order and the number of comments.
_LEFT: Final = frozenset({"id", "updatedAt", "closed", "isPinned", "reactionGroups"})


class _Named(msgspec.Struct):
    name: str = ""
    login: str = ""
    title: str = ""
    due_on: str | None = msgspec.field(default=None, name="dueOn")


class _Comment(msgspec.Struct, rename="camel"):
    body: str = ""
    created_at: str | None = None
    author: _Named | None = None


class _Issue(msgspec.Struct, rename="camel"):
    """The fields that have a place in a task; each is there if it was asked for."""

    title: str
    number: int
    url: str | None = None
    body: str | msgspec.UnsetType = msgspec.UNSET
    state: str | msgspec.UnsetType = msgspec.UNSET
    state_reason: str | None = None
    labels: list[_Named] | msgspec.UnsetType = msgspec.UNSET
    assignees: list[_Named] | msgspec.UnsetType = msgspec.UNSET
    milestone: _Named | msgspec.UnsetType | None = msgspec.UNSET
    created_at: str | None = None
    closed_at: str | None = None
    comments: list[_Comment] = []


_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(_Issue))


def read(text: str, now: datetime, step: Step = no_step) -> Read:
    """Read an array of issues, or an issue a line.

    Raises:
        InvalidArgument: something in it is no issue.
    """
    found = Read(coarse={"status": _state})
    for where, value in json_values(text):
        try:
            found.records.append(_record(found, where, msgspec.convert(value, _Issue), value, now))
            step()
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidArgument("file", f"{where}: {error}") from None
    return found


def _state(status: str) -> str:
    """An issue is open, or closed in one of two ways."""
    return "open" if status in OPEN else "not done" if status in ("skipped", "cancelled") else "done"


def _record(found: Read, where: str, issue: _Issue, value: dict[str, Any], now: datetime) -> Record:
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
        milestone = issue.milestone or _Named()
        fields |= {"domain": milestone.title or None, "due": milestone.due_on and milestone.due_on[:10]}
    times = {"created_at": issue.created_at, "finished_at": issue.closed_at}
    return Record(
        where,
        issue.url or f"#{issue.number}",
        checked(where, fields, found, now),
        times=fitting_times(fields.get("status"), {name: microseconds(text) for name, text in times.items() if text}),
        log=[_logged(comment) for comment in issue.comments],
        foreign=_foreign(found, issue, value),
    )


def _logged(comment: _Comment) -> Logged:
    author = comment.author.login if comment.author else ""
    return Logged(None, microseconds(comment.created_at) or 0, author or NAME, comment.body.replace("\r\n", "\n"))


def _foreign(found: Read, issue: _Issue, value: dict[str, Any]) -> dict[str, Any]:
    others = {name: each for name, each in value.items() if name not in _FIELDS | _LEFT and each not in (None, "", [])}
    if issue.assignees is not msgspec.UNSET and len(issue.assignees) > 1:
        others["assignees"] = [each.login for each in issue.assignees]
    for name in others:
        found.lost[f"{name}: kept in the metadata alone"] += 1
    return {"number": issue.number, **({"url": issue.url} if issue.url else {}), **others}
