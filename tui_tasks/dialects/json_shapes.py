"""Jobs and runs as JSON in replies and events (docs: protocol, section 6, `scheduler`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from tui_tasks.core.engine.database import Database
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.read import job_queries
from tui_tasks.core.snapshots import Entry

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
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
_AGENT_COLUMNS: Final = ("agent", "session", "turns", "tokens", "cost_usd")
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


def local_iso(instant: int | None, zone: str) -> str | None:
    """Return an instant as ISO 8601 with the offset of the time zone, to the millisecond; None for None."""
    if instant is None:
        return None
    precision = "milliseconds" if instant % 1_000_000 else "seconds"
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone)).isoformat(timespec=precision)


def job_json(job: Job) -> dict[str, Any]:
    """Return a job as JSON, with its settings if some differ from the defaults."""
    zone = job.timezone
    value: dict[str, Any] = {
        "uuid": job.uid,
        "name": job.name,
        "type": job.type,
        "state": job.state,
        "system_prompt": job.system_prompt,
        "prompt": job.prompt,
    }
    if job.schedule is not None:
        value["schedule"] = job.schedule
    if job.plan is not None:
        value["plan"] = [local_iso(instant, zone) for instant in job.plan]
    value |= {
        "timezone": zone,
        "dedicated_context": job.dedicated_context,
        "next_run": local_iso(job.next_run, zone),
        "last_run": local_iso(job.last_run, zone),
        "last_result": job.last_result,
        "created_at": local_iso(job.created_at, zone),
    }
    if job.settings:
        value["settings"] = job.settings
    return value


def run_json(run: Run, zone: str) -> dict[str, Any]:
    """Return a run, or a due time that did not run, as JSON, with the usage of its agent if it ran one."""
    value: dict[str, Any] = {
        "run_id": run.uid,
        "uuid": run.job_uid,
        "trigger": run.trigger,
        "scheduled_for": local_iso(run.scheduled_for, zone),
        "decision": run.decision,
        "outcome": run.outcome,
        "started_at": local_iso(run.started_at, zone),
        "ended_at": local_iso(run.ended_at, zone),
        "exit_code": run.exit_code,
        "result": run.result,
        "reason": run.reason,
    }
    return value if run.agent is None else value | {name: getattr(run, name) for name in _AGENT_COLUMNS}


def event_body(db: Database, entry: Entry) -> dict[str, Any]:
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
