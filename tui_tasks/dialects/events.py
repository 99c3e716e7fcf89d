"""Journal entries as the events that the channel sends (docs: protocol, section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.job_snapshots import local_iso
from tui_tasks.core.read import check_queries, job_queries, message_queries
from tui_tasks.core.snapshots import Entry, iso

# The columns with instants, which are written as text.
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


# A page of events ends when it has this many bytes.
PAGE_BYTES: Final = 2 * 1024 * 1024

_encode = msgspec.json.Encoder().encode


# The entry kinds that subscribers receive under another event name.
SUBSCRIBER_NAMES: Final = {"message.sent": "message"}

_RUN_INSTANTS: Final = ("scheduled_for", "started_at", "ended_at", "deadline", "not_before")
_RUN_COLUMNS: Final = (
    "decision",
    "outcome",
    "exit_code",
    "result",
    "reason",
    "trigger",
    "context",
    "attempt",
    "retry_of",
    "agent",
    "session",
    "turns",
    "tokens",
    "cost_usd",
)
_JOB_COLUMNS: Final = (
    "name",
    "type",
    "system_prompt",
    "prompt",
    "schedule",
    "timezone",
    "dedicated_context",
    "settings",
)


def page(
    db: Database, entries: Iterator[Entry], most: int = PAGE_BYTES, *, for_subscriber: bool = False
) -> tuple[list[bytes], int | None]:
    """Return the events of entries as JSON, and the seq of the last. The page ends at `most` bytes, but has at least
    one event.

    As an entry may have megabytes, no more entries are in memory than are returned. `for_subscriber`: use the event
    names for subscribers. A message that the human has withdrawn is left out for subscribers, and has no text for
    others.
    """
    lines: list[bytes] = []
    size, last = 0, None
    for entry in entries:
        is_withdrawn = entry.kind == "message.sent" and message_queries.message(db, entry.uid).is_withdrawn
        if is_withdrawn and for_subscriber:
            continue
        body = event(db, entry)
        if is_withdrawn:
            body["text"] = ""
        if for_subscriber:
            body["event"] = SUBSCRIBER_NAMES.get(entry.kind, entry.kind)
        lines.append(_encode(body))
        size, last = size + len(lines[-1]), entry.seq
        if size >= most:
            break
    return lines, last


def event(db: Database, entry: Entry) -> dict[str, Any]:
    """Return an entry as its event."""
    body: dict[str, Any] = {"event": entry.kind, "seq": entry.seq, "at": iso(entry.at), "actor": entry.actor}
    if entry.task is not None:
        body["task"] = task = journal.event_task(db, entry)
        if task is not None and task["checks"]:
            task["checks"] = check_queries.briefs_to_json(db, task["checks"])
    if entry.kind == "task.declined" and entry.new is not None:
        body["reason"] = entry.new["decline_reason"]
    if entry.entity == "message":
        # Version 1 wrote messages in this form, without delivery.
        body |= entry.new or {}
    elif entry.entity == "human_message":
        body |= _message_json(db, entry)
    elif entry.entity in ("job", "run"):
        body |= _job_body(db, entry)
    elif entry.entity in _OF_CHECKS:
        body["check"] = _check_json(db, entry)
    elif entry.entity not in ("task", "log"):
        body[entry.entity] = {"uid": entry.uid, **_row_json(entry.new or {})}
    elif entry.entity == "log" and entry.old is None and entry.new is not None:
        body["log"] = {"at": iso(entry.new["at"]), "agent": entry.new["agent"], "message": entry.new["message"]}
    body["changes"] = {} if entry.old is None or entry.entity in _RUNS else _changes_json(entry)
    body["why"] = entry.why
    return body


def _message_json(db: Database, entry: Entry) -> dict[str, Any]:
    """Return whom a message is for, with its text; for a delivery the seq of its event, so that nobody reads the text
    twice.
    """
    sent = message_queries.message(db, entry.uid)
    return {"to": sent.agent, **({"text": sent.text} if entry.old is None else {"message": sent.seq})}


def _check_json(db: Database, entry: Entry) -> dict[str, Any]:
    """Return the check of an entry: in the form of a task's checks, or the fields of its definition."""
    if entry.kind == "check.finished":
        (body,) = check_queries.briefs_to_json(db, [entry.new or {}])
        return body
    if entry.entity == "check_definition":
        return {"name": check_queries.definition(db, entry.uid).name, **_row_json(entry.new or {})}
    if entry.kind == "check.waived":
        return {name: value for name, value in (entry.new or {}).items() if name != "waives"}
    if entry.kind == "check.pruned":
        return {"name": check_queries.definition(db, entry.uid).name}
    row = entry.new or {}
    run = check_queries.run(db, row.get("run_uid", entry.uid))
    name = check_queries.definition(db, run.check_uid).name if run else None
    return {"name": name, "state": row.get("state"), "run_id": run.uid if run else None}


def _row_json(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _value_json(name, value) for name, value in row.items() if name not in _HIDDEN}


def _value_json(name: str, value: Any) -> Any:
    if name in _INSTANTS and isinstance(value, int):
        return iso(value)
    return [iso(instant) for instant in value] if name == "plan" and value is not None else value


def _changes_json(entry: Entry) -> dict[str, list[Any]]:
    return {
        name: [_value_json(name, value) for value in pair]
        for name, pair in entry.changes.items()
        # A run's result can be long and is already part of the event.
        if name not in _HIDDEN and (entry.entity, name) != ("run", "result")
    }


def _job_body(db: Database, entry: Entry) -> dict[str, Any]:
    """Return the fields of the event of an entry about a job or a run (docs: protocol, section 7)."""
    new = entry.new or {}
    if entry.entity == "run" and ("times" in new or "below" in new or "after" in new):
        return {"job": _many_runs_json(db, entry.uid, new)}
    if entry.entity == "run":
        return {
            "run": _requested_run_json(db, entry.uid)
            if entry.kind == "run.requested"
            else _run_event_json(db, entry.uid, new)
        }
    job = job_queries.any_job(db, entry.uid)
    zone = new.get("timezone") or (job.timezone if job else "UTC")
    value: dict[str, Any] = {name: new[name] for name in _JOB_COLUMNS if name in new}
    if new.get("plan") is not None:
        value["plan"] = [local_iso(instant, zone) for instant in new["plan"]]
    for name in ("next_run", "created_at"):
        if name in new:
            value[name] = local_iso(new[name], zone)
    if "enabled" in new:
        value["enabled"] = bool(new["enabled"])
    return {"job": {"uuid": entry.uid, **({"name": job.name} if job else {}), **value}}


def _many_runs_json(db: Database, job_uid: str, new: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of an entry about many runs: due times that were not run, or runs that were deleted."""
    job = job_queries.any_job(db, job_uid)
    assert job is not None
    value: dict[str, Any] = {"uuid": job_uid, "name": job.name}
    if "times" in new:
        first, last = (local_iso(new["times"][at], job.timezone) for at in (0, -1))
        value |= {"decision": new["decision"], "reason": new["reason"], "count": len(new["times"])}
        value |= {"first": first, "last": last}
    return value


def _run_event_json(db: Database, run_uid: str, new: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of an entry about a run; the run's constant fields come from the database."""
    job_uid = new.get("job_uid")
    run = job_queries.any_run(db, run_uid)
    if job_uid is None and run is not None:
        job_uid = run.job_uid
    job = job_queries.any_job(db, job_uid) if job_uid is not None else None
    zone = job.timezone if job else "UTC"
    value: dict[str, Any] = {"run_id": run_uid, "uuid": job_uid, "name": job.name if job else None}
    value |= {name: new[name] for name in _RUN_COLUMNS if new.get(name) is not None}
    return value | {name: local_iso(new[name], zone) for name in _RUN_INSTANTS if new.get(name) is not None}


def _requested_run_json(db: Database, run_uid: str) -> dict[str, Any]:
    """Return everything that an agent needs to execute a requested run (docs: scheduling, "Who executes")."""
    run = job_queries.any_run(db, run_uid)
    job = job_queries.any_job(db, run.job_uid) if run else None
    if run is None or job is None:
        return {"run_id": run_uid}
    return {
        "run_id": run.uid,
        "uuid": job.uid,
        "name": job.name,
        "system_prompt": job.system_prompt,
        "prompt": job.prompt,
        "context": run.context,
        "for": job.created_by,
    }
