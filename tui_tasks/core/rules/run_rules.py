"""Runs: what becomes of a due time, how a run begins, how it ends. Each due time is decided once, whoever decides."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.commit.run_effects import nominal_uid
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.job_snapshots import ON_TIME, Job, Run
from tui_tasks.core.operations.jobs import (
    AbandonRun,
    BeginRun,
    ClaimRun,
    DecideDue,
    DropDecided,
    EndRun,
    ExpireRuns,
    FinishRun,
    NoteRunAgent,
    RequestRun,
    RunJob,
    StopRun,
)
from tui_tasks.core.read import job_queries
from tui_tasks.core.rules import rule, run_steps
from tui_tasks.core.rules.run_steps import change_run, expire, finish, new_run, refuse_inside_run, request
from tui_tasks.core.schedule import fire_times
from tui_tasks.core.schedule.policy import Decision, decide, read_settings
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.text.times import DAY, SECOND, count

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

# The most due times decided in one transaction, so that other writers do not wait long.
PART: Final = 500


def trigger_of(job: Job) -> str:
    """Return what starts a job that is not started by hand."""
    return "plan" if job.type == "planned" else "schedule"


@rule(DecideDue)
def decide_due(tx: Transaction, op: DecideDue) -> int:
    """Decide each due time exactly once: as ran, missed, skipped or coalesced."""
    job = job_queries.any_job(tx.db, op.uid)
    if job is None or job.deleted or job.next_run is None or job.next_run > tx.now:
        return 0
    settings = read_settings(job.settings)
    due = fire_times.due_between(job, job.decided_until, tx.now, PART + settings.catch_up_cap)
    part, later = due[:PART], len(due[PART:])
    if part:
        known = job_queries.decided(tx.db, job.uid, part[0], part[-1])
        fresh = [instant for instant in part if instant not in known]
        load = job_queries.load(tx.db, job, tx.now)
        record(tx, job, decide(fresh, tx.now, settings, load, job=job.uid, later=later))
    until = part[-1] if part else tx.now
    new = {"decided_until": until, "next_run": fire_times.next_due(job, until)}
    tx.emit("job.advanced", "job", job.uid, old={name: getattr(job, name) for name in new}, new=new)
    return len(part)


@rule(DropDecided)
def drop_decided(tx: Transaction, op: DropDecided) -> bool:
    """Drop decisions about times yet to come, of which no run has begun: they are decided when they come.

    A run that is no longer kept may have been for a time that comes again by a clock that is behind. So no time is
    decided anew from before the job was made, or from before its oldest kept run; only runs more than a day ahead do
    not count for that.
    """
    job = job_queries.any_job(tx.db, op.uid)
    if job is None or job.deleted or job.decided_until != op.decided_until or job.decided_until <= tx.now + ON_TIME:
        return False
    oldest = job_queries.kept_since(tx.db, job.uid, tx.now + DAY)
    since = max(at for at in (tx.now, job.created_at, oldest or 0) if at <= tx.now + DAY)
    if since >= job.decided_until:
        return False
    unbegun = [
        run.uid
        for run in job_queries.open_runs(tx.db, job.uid)
        if run.state != "running"
        and (run.scheduled_for or 0) > since
        and heartbeats.heartbeat_of(tx.db, run.uid) is None
    ]
    tx.emit("job.pruned", "run", job.uid, new={"after": since, "unbegun": unbegun})
    new = {"decided_until": since, "next_run": fire_times.next_due(job, since) if job.enabled else None}
    tx.emit("job.advanced", "job", job.uid, old={name: getattr(job, name) for name in new}, new=new)
    return True


def record(tx: Transaction, job: Job, decisions: list[Decision]) -> None:
    """Record decisions about due times: a row for each, and a journal entry for each run or stretch of times without
    one.
    """
    for (verdict, reason), alike in groupby(decisions, key=lambda decision: (decision.decision, decision.reason)):
        if verdict == "ran":
            for decision in alike:
                _record_run(tx, job, decision)
            continue
        times = [decision.scheduled_for for decision in alike]
        new = {"first_id": tx.state_cache.next_id("run", len(times)), "trigger": trigger_of(job), "decision": verdict}
        new |= {"reason": reason, "times": times}
        tx.emit("job.decided", "run", job.uid, new=new)


def _record_run(tx: Transaction, job: Job, decision: Decision) -> None:
    stands_for = job_queries.coalesced(tx.db, job.uid)
    reasons = [decision.reason] if decision.reason else []
    if stands_for:
        reasons.append(f"replaces {count(stands_for, 'earlier due time')}")
    delayed = decision.start_at is not None and decision.start_at > tx.now
    new_run(
        tx,
        job,
        trigger_of(job),
        uid=nominal_uid(job.uid, decision.scheduled_for),
        scheduled_for=decision.scheduled_for,
        state="queued" if decision.queued or delayed else "waiting",
        not_before=decision.start_at if delayed else None,
        reason=", ".join(reasons) or None,
    )


@rule(RunJob)
def run_job(tx: Transaction, op: RunJob) -> Run:
    """Start a job by hand, where its state and rule S3 allow it."""
    refuse_inside_run(tx)
    job = job_queries.job(tx.db, op.uid)
    by_agent = tx.actor != vocab.HUMAN
    if by_agent and job.type != "adhoc" and not op.force:
        explanation = f"job {job.name!r} is {job.type}: it runs at its times (rule S3)"
        raise Forbidden(f'{explanation}; send "force": true if the user asked for it', rule="S3", uuid=job.uid)
    if job.active and expire(tx):
        job = job_queries.job(tx.db, op.uid)
    run_steps.refuse_start(tx, job)
    if not job.enabled:
        raise Conflict(f"job {job.name!r} is disabled", uuid=job.uid, state="disabled")
    if job.active:
        raise Conflict(f"job {job.name!r} is running", uuid=job.uid, state="running")
    limit = read_settings(job.settings).starts_per_hour
    if by_agent and limit and job_queries.load(tx.db, job, tx.now).started >= limit:
        raise Conflict(f"the limit of {limit} starts an hour is reached", uuid=job.uid, state=job.state)
    return new_run(tx, job, "manual", context=op.context)


@rule(RequestRun)
def request_run(tx: Transaction, op: RequestRun) -> Run | None:
    """Request a waiting run whose time has come."""
    run = _startable(tx, op.uid)
    return None if run is None or run.dedicated else request(tx, run, job_queries.job(tx.db, run.job_uid))


@rule(ClaimRun)
def claim_run(tx: Transaction, op: ClaimRun) -> Run | None:
    """Claim a run for one process. The claim stays when that process dies, since the run may have begun."""
    if heartbeats.heartbeat_of(tx.db, op.uid) is not None or job_queries.in_hand(tx.db) >= op.max_parallel:
        return None
    run = _startable(tx, op.uid)
    if run is None or not run.dedicated:
        return None
    if run.state == "queued":
        run = change_run(tx, run, "job.decided", {"state": "waiting"})
    heartbeats.put_heartbeat(tx.db, op.by)
    return run


def _startable(tx: Transaction, uid: str) -> Run | None:
    """Return the run if its time has come and its start deadline has not passed."""
    run = job_queries.run(tx.db, uid)
    job = job_queries.any_job(tx.db, run.job_uid)
    if job is None or not job_queries.startable(tx.db, run, tx.now):
        return None
    deadline = read_settings(job.settings).start_deadline
    if deadline and run.scheduled_for is not None and tx.now > run.scheduled_for + deadline * SECOND:
        finish(tx, run, "interrupted", reason=f"not started within its start deadline of {deadline} s")
        return None
    return run


@rule(BeginRun)
def begin_run(tx: Transaction, op: BeginRun) -> Run | None:
    """Begin a claimed run that has not been ended meanwhile, under one supervisor."""
    run = job_queries.run(tx.db, op.uid)
    if run.state != "waiting" or heartbeats.heartbeat_of(tx.db, op.uid) is None:
        return None
    heartbeats.put_heartbeat(tx.db, op.by)
    changes = {"state": "running", "started_at": tx.now, "token_hash": op.token_hash, "deadline": op.deadline}
    return change_run(tx, run, "run.started", changes)


@rule(EndRun)
def end_run(tx: Transaction, op: EndRun) -> Run:
    """Record how a run ended, unless its end is recorded already."""
    run = job_queries.run(tx.db, op.uid)
    if run.state == "final":
        return run
    used = {"turns": op.turns, "tokens": op.tokens, "cost_usd": op.cost_usd}
    return finish(
        tx, run, op.outcome, exit_code=op.exit_code, result=op.result, reason=op.reason, retry=op.retry, used=used
    )


@rule(NoteRunAgent)
def note_run_agent(tx: Transaction, op: NoteRunAgent) -> Run:
    """Record the agent of a run, also of one that has ended meanwhile."""
    run = job_queries.run(tx.db, op.uid)
    return change_run(tx, run, "run.agent", {"agent": op.agent, "session": op.session})


@rule(AbandonRun)
def abandon_run(tx: Transaction, op: AbandonRun) -> bool:
    """End a run whose process has died as interrupted; it is never started again."""
    run = job_queries.any_run(tx.db, op.uid)
    if run is None or run.state == "final" or heartbeats.heartbeat_of(tx.db, op.uid) != op.seen:
        return False
    finish(tx, run, "interrupted", reason=op.reason)
    return True


@rule(ExpireRuns)
def expire_runs(tx: Transaction, op: ExpireRuns) -> int:
    """End the requested runs whose deadline has passed."""
    return expire(tx)


@rule(FinishRun)
def finish_run(tx: Transaction, op: FinishRun) -> Run:
    """Record how a requested run ended, as the one who did it says (docs: scheduling, "Who executes")."""
    refuse_inside_run(tx)
    run = job_queries.run(tx.db, op.uid)
    if run.dedicated:
        raise InvalidArgument("run_id", "the runner does this run, and records how it ends", id=op.uid)
    if run.state != "running":
        explanation = (
            f"has ended ({run.outcome or run.decision})" if run.state == "final" else "has not been requested yet"
        )
        raise Conflict(f"run {op.uid} {explanation}", id=op.uid, state=run.state)
    return finish(tx, run, op.outcome, result=op.result)


@rule(StopRun)
def stop_run(tx: Transaction, op: StopRun) -> Run:
    """Stop a run. One that has begun is ended by its supervisor, which then records it; others end here."""
    refuse_inside_run(tx)
    run = job_queries.run(tx.db, op.uid)
    if run.state == "final":
        raise Conflict(f"run {op.uid} has ended", id=op.uid, state=run.state)
    reason = f"stopped by {tx.actor}"
    if run.dedicated and run.state == "running":
        return run if run.stop_reason else change_run(tx, run, "job.stopping", {"stop_reason": reason})
    return finish(tx, run, "interrupted", reason=reason)
