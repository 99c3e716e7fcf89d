"""What has failed: tasks, runs, checks, tools, sessions, claims, and what agents were refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.digest.digest_line import DigestLine
from tui_tasks.core.read.digest.entries import EventEntry, StatusEntry


class _Failure(msgspec.Struct, gc=False):
    """A failure with all its entries; `status` is what a task that has failed is now."""

    kind: str
    uid: str
    name: str
    who: str
    text: str
    task: str | None
    at: int = 0
    entries: list[int] = []
    status: str | None = None


def failed(db: Database, statuses: list[StatusEntry], events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each thing that has failed, however often it did."""
    each = [(entry.seq, entry.at, _of_task(entry)) for entry in statuses if entry.become == "failed"]
    each += [(event.seq, event.at, failure) for event in events if (failure := _failure(db, event)) is not None]
    found: dict[tuple[str, str], _Failure] = {}
    for seq, at, failure in each:
        one = found.setdefault((failure.kind, failure.uid), failure)
        one.at, one.text, one.who = at, failure.text, failure.who
        one.entries.append(seq)
    for one in found.values():
        many = len(one.entries)
        text = f"{one.text} ({many} times)" if many > 1 else one.text
        if one.kind == "task" and one.status != "failed":
            text += f", and is {str(one.status).replace('_', ' ')} now"
        yield DigestLine(
            "failed", one.kind, one.uid, one.name, one.who, text, one.at, tuple(one.entries), one.task, many
        )


def _of_task(entry: StatusEntry) -> _Failure:
    text = f"failed: {entry.reason}" if isinstance(entry.reason, str) and entry.reason else "failed"
    status = "deleted" if entry.deleted else entry.status
    return _Failure("task", entry.uid, entry.name, entry.actor, text, entry.uid, status=status)


def _failure(db: Database, event: EventEntry) -> _Failure | None:
    """Return the failure that an entry reports, or None."""
    kind, uid, task, name, new = event.kind, event.uid, event.task, event.name, event.values
    tool = str(new.get("tool", ""))
    if event.entity == "run":
        return _of_run(db, uid, new, event.actor)
    if kind == "check.finished" and new.get("state") == "failed":
        check = str(new.get("name", ""))
        return _Failure("check", f"{task}/{check}", name or uid, event.agent or "", f"check {check} failed", task)
    if kind == "claim.lapsed":
        return _Failure("claim", task or uid, name or uid, event.agent or event.actor, "its claim ran out", task)
    if kind == "tool.failed":
        return _Failure("tool", f"{uid}/{tool}", tool, uid, f"failed: {new.get('error', '')}", None)
    if kind == "session.failed":
        return _Failure("session", uid, uid, uid, str(new.get("last_message") or "its turn failed"), None)
    if kind == "agent.refused":
        return _Failure("refusal", f"{uid}/{tool}", tool, uid, f"was refused: {new.get('message', '')}", None)
    return None


def _of_run(db: Database, uid: str, new: dict[str, Any], actor: str) -> _Failure:
    row = db.sql(
        "SELECT run.job_uid, job.name, run.result, run.reason FROM run JOIN job ON job.uid = run.job_uid"
        " WHERE run.uid = ?",
        (uid,),
    ).fetchone()
    job, name, result, reason = row or (uid, uid, None, None)
    why = new.get("reason") or new.get("result") or reason or result
    lines = str(why or "").strip().splitlines()
    outcome = new.get("outcome")
    return _Failure("run", job, name, actor, f"{outcome}: {lines[-1]}" if lines else str(outcome), None)
