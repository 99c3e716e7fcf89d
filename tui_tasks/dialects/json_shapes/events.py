"""Journal entries as the events that the channel sends (docs: protocol, section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import journal
from tui_tasks.core.read import checks, messages
from tui_tasks.core.snapshots import Entry, iso
from tui_tasks.dialects.json_shapes.job_shapes import event_body

# The columns with instants, which are shown as text.
_INSTANTS = frozenset(
    {
        "at",
        "created_at",
        "updated_at",
        "started_at",
        "finished_at",
        "ended_at",
        "saved_at",
        "opened_at",
        "answered_at",
        "delivered_at",
        "expires_at",
        "since",
        "next_run",
        "last_run",
        "scheduled_for",
        "deadline",
        "not_before",
    }
)
_HIDDEN = frozenset(
    {
        "id",
        "deleted",
        "token_hash",
        "name_key",
        "rank",
        "ranks",
        "list_id",
        "task_uid",
        "delivered_seq",
        "decline_reason",
    }
)
_RUNS = frozenset({"check_run", "task_check"})
_OF_CHECKS = _RUNS | {"check", "check_definition"}


# The bytes after which a page of events ends.
PAGE_BYTES: Final = 2 * 1024 * 1024

_encode = msgspec.json.Encoder().encode


# Entry kinds that are sent to subscribers under another event name.
HEARD_AS: Final = {"message.sent": "message"}


def page(
    db: Database, entries: Iterator[Entry], most: int = PAGE_BYTES, *, is_heard: bool = False
) -> tuple[list[bytes], int | None]:
    """The events of entries as JSON until they are `most` bytes, and the seq of the last; at least one where there is.

    An entry can be megabytes: no more of them are held than are returned. `is_heard`: they are sent to a subscriber.
    """
    lines: list[bytes] = []
    size, last = 0, None
    for entry in entries:
        told = event(db, entry)
        if is_heard:
            told["event"] = HEARD_AS.get(entry.kind, entry.kind)
        lines.append(_encode(told))
        size, last = size + len(lines[-1]), entry.seq
        if size >= most:
            break
    return lines, last


def event(db: Database, entry: Entry) -> dict[str, Any]:
    """Return an entry as its event."""
    told: dict[str, Any] = {"event": entry.kind, "seq": entry.seq, "at": iso(entry.at), "actor": entry.actor}
    if entry.task is not None:
        told["task"] = task = journal.event_task(db, entry)
        if task is not None and task["checks"]:
            task["checks"] = checks.told(db, task["checks"])
    if entry.kind == "task.declined" and entry.new is not None:
        told["reason"] = entry.new["decline_reason"]
    if entry.entity == "message":
        # The form of messages in version 1, which had no delivery.
        told |= entry.new or {}
    elif entry.entity == "human_message":
        told |= _message(db, entry)
    elif entry.entity in ("job", "run"):
        told |= event_body(db, entry)
    elif entry.entity in _OF_CHECKS:
        told["check"] = _check(db, entry)
    elif entry.entity not in ("task", "log"):
        told[entry.entity] = {"uid": entry.uid, **_shown(entry.new or {})}
    elif entry.entity == "log" and entry.old is None and entry.new is not None:
        told["log"] = {"at": iso(entry.new["at"]), "agent": entry.new["agent"], "message": entry.new["message"]}
    told["changes"] = {} if entry.old is None or entry.entity in _RUNS else _shown_changes(entry)
    told["why"] = entry.why
    return told


def _message(db: Database, entry: Entry) -> dict[str, Any]:
    """Who a message is for, and its text; of a delivery the seq of its event: nobody is to read the text twice."""
    sent = messages.message(db, entry.uid)
    return {"to": sent.agent, **({"text": sent.text} if entry.old is None else {"message": sent.seq})}


def _check(db: Database, entry: Entry) -> dict[str, Any]:
    """The check that an entry tells of: as a task shows it, or of a definition what there is to tell."""
    if entry.kind == "check.finished":
        (told,) = checks.told(db, [entry.new or {}])
        return told
    if entry.entity == "check_definition":
        return {"name": checks.definition(db, entry.uid).name, **_shown(entry.new or {})}
    if entry.kind == "check.waived":
        return {name: value for name, value in (entry.new or {}).items() if name != "waives"}
    if entry.kind == "check.pruned":
        return {"name": checks.definition(db, entry.uid).name}
    row = entry.new or {}
    run = checks.run(db, row.get("run_uid", entry.uid))
    name = checks.definition(db, run.check_uid).name if run else None
    return {"name": name, "state": row.get("state"), "run_id": run.uid if run else None}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _shown_value(name, value) for name, value in row.items() if name not in _HIDDEN}


def _shown_value(name: str, value: Any) -> Any:
    if name in _INSTANTS and isinstance(value, int):
        return iso(value)
    return [iso(instant) for instant in value] if name == "plan" and value is not None else value


def _shown_changes(entry: Entry) -> dict[str, list[Any]]:
    return {
        name: [_shown_value(name, value) for value in pair]
        for name, pair in entry.changes.items()
        # A run's result can be long and is already part of the event.
        if name not in _HIDDEN and (entry.entity, name) != ("run", "result")
    }
