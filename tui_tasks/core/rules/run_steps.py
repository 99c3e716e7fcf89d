"""The steps of a run, on which the rules of runs, of jobs and of undo are built.

A run is decided as `waiting` for its start, or `queued` behind a time or earlier runs. Then it is `running`, and it
ends once. Another attempt is a run of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.commit import database_clock
from tui_tasks.core.errors import Conflict, Forbidden
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.job_queries import OpenRun
from tui_tasks.core.schedule import policy
from tui_tasks.core.schedule.policy import MAX_RETRY_DELAY, retry_delay
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.text.times import SECOND

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def refuse_start(tx: Transaction, job: Job) -> None:
    """Refuse that a held job starts, or may; the human accepts it by switching it on.

    Raises:
        Conflict: it is held, and somebody else asks.
    """
    if job.held and tx.actor != vocab.HUMAN:
        raise waits_for_human(job)


def waits_for_human(job: Job) -> Conflict:
    """Return the refusal of what needs the human's acceptance of a held job."""
    reason = f"job {job.name!r} waits for the human, who has not accepted it yet"
    return Conflict(reason, held=True, uuid=job.uid, state=job.state)


# Seconds until a requested run expires where its job has no timeout.
ANSWER_SECONDS: Final = 3_600


def refuse_inside_run(tx: Transaction) -> None:
    """Refuse to change jobs from inside a run, where they can only be read (docs: scheduling, rule S1).

    Raises:
        Forbidden: the speaker was started by a run.
    """
    if tx.inside_run:
        raise Forbidden("a run of a job can only read jobs (rule S1)", rule="S1")


def new_run(tx: Transaction, job: Job, trigger: str, **fields: Any) -> Run:
    """Record that a job is to run; if the conversation is to do the run, request it there."""
    blank: dict[str, Any] = dict.fromkeys(Run.__struct_fields__)
    blank |= {"id": tx.state_cache.next_id("run"), "uid": tx.new_uid(), "job_uid": job.uid, "trigger": trigger}
    blank |= {"attempt": 1, "decision": "ran", "state": "waiting", "context": "", "requested_by": tx.actor}
    run = Run(**(blank | {"dedicated": job.dedicated_context} | fields))
    tx.emit("job.decided", "run", run.uid, new=asdict(run))
    if run.state == "waiting" and run.not_before is None and not run.dedicated:
        return request(tx, run, job)
    return run


def change_run(tx: Transaction, run: Run, kind: str, changes: dict[str, Any]) -> Run:
    """Set fields of a run; fields that are equal already are left out."""
    new = {name: value for name, value in changes.items() if getattr(run, name) != value}
    tx.emit(kind, "run", run.uid, old={name: getattr(run, name) for name in new}, new=new)
    return msgspec.structs.replace(run, **new)


def request(tx: Transaction, run: Run, job: Job) -> Run:
    """Request a run of the current conversation (docs: scheduling, "Who executes")."""
    seconds = policy.read_settings(job.settings).timeout or ANSWER_SECONDS
    changes = {"state": "running", "started_at": tx.now, "deadline": tx.now + seconds * SECOND}
    database_clock.put_end(tx.db, run.uid, tx.database_now + seconds * SECOND, tx.database_now)
    return change_run(tx, run, "run.requested", changes)


def finish(
    tx: Transaction,
    run: Run,
    outcome: str,
    *,
    exit_code: int | None = None,
    result: str | None = None,
    reason: str | None = None,
    retry: bool = True,
    used: Mapping[str, Any] | None = None,
) -> Run:
    """End a run, plan its next attempt, count failures in a row, and delete runs beyond the number that is kept.

    `used` are its turns, tokens and dollars, as its supervisor has counted them.
    """
    changes = {"state": "final", "outcome": outcome, "ended_at": tx.now, "exit_code": exit_code}
    changes |= {"result": result, "reason": reason or run.reason, **_used(tx, run, used or {})}
    ended = change_run(tx, run, "run.finished", changes)
    heartbeats.drop_heartbeat(tx.db, run.uid)
    job = job_queries.any_job(tx.db, run.job_uid)
    assert job is not None
    settings = policy.read_settings(job.settings)
    if outcome == "error" and retry and run.attempt <= settings.retries and job.enabled and not job.deleted:
        _try_again(tx, job, ended, settings.retry_delay)
    elif outcome != "interrupted":
        _count_failures(tx, job, outcome, settings.pause_after)
    below = job_queries.prunable(tx.db, job.uid, settings.keep_runs)
    if below is not None:
        tx.emit("job.pruned", "run", job.uid, new={"below": below})
    return ended


def _used(tx: Transaction, run: Run, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run has used: what its supervisor has counted, else what its session has reported."""
    used = {name: value for name, value in counted.items() if value is not None}
    seen = session_queries.seen(tx.db, run.agent) if run.agent is not None else None
    if seen is not None:
        used = {"tokens": seen.session.tokens, "cost_usd": seen.session.cost_usd, **used}
    return used


def _try_again(tx: Transaction, job: Job, run: Run, delay: int) -> None:
    wait = retry_delay(run.attempt, delay, MAX_RETRY_DELAY)
    new_run(
        tx,
        job,
        run.trigger,
        scheduled_for=run.scheduled_for,
        attempt=run.attempt + 1,
        retry_of=run.uid,
        not_before=tx.now + int(wait * SECOND),
        context=run.context,
        requested_by=run.requested_by,
        reason=f"attempt {run.attempt + 1}, {wait:g} s after attempt {run.attempt} failed",
    )


def _count_failures(tx: Transaction, job: Job, outcome: str, pause_after: int) -> None:
    failures = 0 if outcome == "success" else job.failures + 1
    if failures != job.failures:
        tx.emit("job.advanced", "job", job.uid, old={"failures": job.failures}, new={"failures": failures})
    if pause_after and failures >= pause_after and job.enabled and not job.deleted:
        disable(tx, job, f"the job was disabled after {failures} failures in a row")


def disable(tx: Transaction, job: Job, reason: str) -> None:
    """Disable a job: runs that have not begun are ended, running ones go on."""
    end_unbegun(tx, job, reason)
    old = {"enabled": True, "next_run": job.next_run}
    tx.emit("job.updated", "job", job.uid, old=old, new={"enabled": False, "next_run": None})


def end_unbegun(tx: Transaction, job: Job, reason: str) -> None:
    """End the runs of a job that have not begun."""
    for run in job_queries.open_runs(tx.db, job.uid):
        if run.state != "running":
            finish(tx, job_queries.run(tx.db, run.uid), "interrupted", reason=reason)


def _is_late(tx: Transaction, run: OpenRun) -> bool:
    until = database_clock.end_of(tx.db, run.uid)
    deadline = run.deadline if until is None else until
    return deadline is not None and deadline <= tx.database_now


def expire(tx: Transaction) -> int:
    """End the requested runs that were not answered by their deadlines; return how many."""
    late = [
        run
        for run in job_queries.open_runs(tx.db)
        if run.state == "running" and not run.dedicated and _is_late(tx, run)
    ]
    for run in late:
        whole = job_queries.run(tx.db, run.uid)
        finish(tx, whole, "error", reason="no scheduler:finish_run by the deadline")
    return len(late)
