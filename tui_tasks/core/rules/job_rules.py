"""Jobs: making, changing, holding, switching on and off, deleting (seed 003; docs: protocol, section 6, `scheduler`).

Where the human has `[review] jobs`, what agents make is held: disabled until the human switches it on. The human
accepts one version of a job. Whoever or whatever makes it another, an undo too, has it held again (docs: protocol,
section 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations.jobs import CreateJob, DeleteJob, DisableJob, EditJob, EnableJob
from tui_tasks.core.read import job_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.run_rules import record
from tui_tasks.core.rules.run_steps import (
    disable,
    end_unbegun,
    finish,
    refuse_inside_run,
    refuse_start,
    waits_for_human,
)
from tui_tasks.core.schedule import fire_times, policy
from tui_tasks.core.schedule.cron import FIELDS, Cron, ScheduleError
from tui_tasks.core.schedule.fire_times import parse_plan, zone_of
from tui_tasks.core.schedule.policy import Decision
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

# Fields that say when a job is due.
TIMING = frozenset({"schedule", "plan", "timezone", "enabled", "deleted"})
_NOTHING: Final[Mapping[str, Any]] = {}
_KIND = {"scheduled": "schedule", "planned": "plan", "adhoc": None}


@contextmanager
def _as_arguments() -> Iterator[None]:
    """Raise a schedule's errors as errors of the tool's arguments."""
    try:
        yield
    except ScheduleError as error:
        raise InvalidArgument(error.argument, str(error)) from None


def _schedule(fields: Mapping[str, Any]) -> dict[str, str]:
    cron = Cron.parse(fields)
    return {name: getattr(cron, name) for name in FIELDS}


def _plan(texts: tuple[str, ...], timezone: str, now: int, kept: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the instants of a plan. A past one is refused unless the job has it already."""
    instants = set()
    for index, text in enumerate(texts):
        try:
            (instant,) = parse_plan([text], timezone, min([now, *kept]))
            if instant not in kept:
                parse_plan([text], timezone, now)
        except ScheduleError as error:
            raise ScheduleError(str(error), field=error.field, index=index if error.field == "plan" else None) from None
        instants.add(instant)
    if not instants:
        raise ScheduleError("a plan is a list of one or more dates with a time", field="plan")
    return tuple(sorted(instants))


@rule(CreateJob)
def create_job(tx: Transaction, op: CreateJob) -> Job:
    """Make a job. Its name is unique, ignoring case (rule S2), and its times are in its time zone."""
    refuse_inside_run(tx)
    refuse_too_long({"name": op.name, "system_prompt": op.system_prompt, "prompt": op.prompt})
    with _as_arguments():
        zone_of(op.timezone)
        schedule = _schedule(op.schedule) if op.schedule is not None else None
        plan = _plan(op.plan, op.timezone, tx.now) if op.plan is not None else None
    settings = policy.changed_settings({}, op.settings)
    _refuse_same_name(tx, op.name)
    is_held = _holds_new(tx)
    if is_held:
        _refuse_too_many(tx)
    job = Job(
        id=tx.state_cache.next_id("job"),
        uid=tx.new_uid(),
        name=op.name,
        name_key=op.name.casefold(),
        type=op.type,
        system_prompt=op.system_prompt,
        prompt=op.prompt,
        schedule=schedule,
        plan=plan,
        timezone=op.timezone,
        dedicated_context=op.dedicated_context,
        enabled=not is_held,
        settings=settings,
        created_by=tx.actor,
        created_at=tx.now,
        next_run=None,
        last_run=None,
        last_outcome=None,
        last_result=None,
        failures=0,
        decided_until=tx.now,
        active=0,
        deleted=False,
        held=is_held,
    )
    job = msgspec.structs.replace(job, **_clock(job, _from_now(job, tx.now)))
    tx.emit("job.created", "job", job.uid, new=asdict(job))
    return job


def _refuse_same_name(tx: Transaction, name: str, but: str | None = None) -> None:
    same = job_queries.job_named(tx.db, name)
    if same is not None and same.uid != but:
        raise Conflict(
            f"the job {same.name!r} is there already ({same.state}): run, change or rename that one (rule S2)",
            uuid=same.uid,
        )


def _clock(job: Job, since: int) -> dict[str, int | None]:
    """Return the fields that make the job due at its times after `since`, if it is on."""
    on = job.enabled and not job.deleted
    return {"decided_until": since, "next_run": fire_times.next_due(job, since) if on else None}


def _from_now(job: Job, now: int) -> int:
    """Return the instant after which times count; a plan may name this very instant."""
    return now - 1 if job.type == "planned" else now


def change_job(tx: Transaction, job: Job, kind: str, changes: Mapping[str, Any]) -> Job:
    """Set fields of a job, with its next time; fields that are equal already are left out."""
    new = {name: value for name, value in changes.items() if getattr(job, name) != value}
    if job.enabled and "enabled" not in new and _is_held_by(tx, job, new):
        disable(tx, job, "the job was changed and waits for the human")
        job = job_queries.job(tx.db, job.uid)
    _follow_acceptance(tx, job, new)
    new = {name: value for name, value in new.items() if getattr(job, name) != value}
    if not new:
        return job
    if "name" in new:
        _refuse_same_name(tx, new["name"], but=job.uid)
        new["name_key"] = new["name"].casefold()
    changed = msgspec.structs.replace(job, **new)
    if new.keys() & TIMING:
        # Times of a plan that are kept and undecided are still due.
        keeps = job.type == "planned" and not new.keys() & {"enabled", "deleted"}
        new |= _clock(changed, job.decided_until if keeps else _from_now(job, tx.now))
        changed = msgspec.structs.replace(changed, **new)
    tx.emit(kind, "job", job.uid, old={name: getattr(job, name) for name in new}, new=new)
    return changed


@rule(EditJob)
def edit_job(tx: Transaction, op: EditJob) -> Job:
    """Set fields and settings of a job; its type cannot change."""
    refuse_inside_run(tx)
    job = job_queries.job(tx.db, op.uid)
    changes = dict(op.changes)
    refuse_too_long({name: value for name, value in changes.items() if value != getattr(job, name)})
    for field in ("schedule", "plan"):
        if field in changes and _KIND[job.type] != field:
            raise InvalidArgument(field, f"job {job.name!r} is {job.type}: it has no {field}")
    with _as_arguments():
        timezone = changes.get("timezone", job.timezone)
        zone_of(timezone)
        if "schedule" in changes:
            changes["schedule"] = _schedule(changes["schedule"])
        if "plan" in changes:
            changes["plan"] = _plan(changes["plan"], timezone, tx.now, job.plan or ())
    if op.settings:
        changes["settings"] = policy.changed_settings(job.settings, op.settings)
        _refuse_fewer_runs(tx, job, changes["settings"])
    _refuse_edit(tx, job)
    return change_job(tx, job, "job.updated", changes)


def _refuse_fewer_runs(tx: Transaction, job: Job, settings: Mapping[str, Any]) -> None:
    """Refuse an agent a lower number of kept runs: their output would be lost, and no undo would restore it."""
    kept, wanted = (policy.read_settings(stored).keep_runs for stored in (job.settings, settings))
    if wanted < kept and tx.actor != vocab.HUMAN:
        raise Forbidden(f"job {job.name!r} keeps {kept:,} runs: only the human can keep fewer", uuid=job.uid)


@rule(EnableJob)
def enable_job(tx: Transaction, op: EnableJob) -> Job:
    """Enable a job from now on. The times of a plan that passed meanwhile are recorded as missed."""
    refuse_inside_run(tx)
    job = job_queries.job(tx.db, op.uid)
    if job.enabled:
        return job
    refuse_start(tx, job)
    if job.held and op.seen != job.version:
        raise Conflict(
            f"job {job.name!r} has changed since you saw it: accept it in the inbox",
            held=True,
            uuid=job.uid,
            version=job.version,
        )
    return switch_on(tx, job, {"held": False, "accepted": job.version} if job.held else {})


def switch_on(tx: Transaction, job: Job, accepting: Mapping[str, Any] = _NOTHING) -> Job:
    """Let a disabled job run again at its times. `accepting`: the values by which the human accepts a held one."""
    if job.type == "planned":
        passed = fire_times.due_between(job, job.decided_until, tx.now - 1, len(job.plan or ()))
        known = job_queries.decided(tx.db, job.uid, job.decided_until, tx.now)
        missed = [Decision(at, "missed", "the job was disabled") for at in passed if at not in known]
        record(tx, job, missed)
    if job.failures:
        tx.emit("job.advanced", "job", job.uid, old={"failures": job.failures}, new={"failures": 0})
    return change_job(tx, job, "job.updated", {"enabled": True, **accepting})


@rule(DisableJob)
def disable_job(tx: Transaction, op: DisableJob) -> Job:
    """Disable a job: it starts neither by its times nor by hand."""
    refuse_inside_run(tx)
    job = job_queries.job(tx.db, op.uid)
    if job.enabled:
        disable(tx, job, "the job was disabled before it began")
    return job_queries.job(tx.db, op.uid)


@rule(DeleteJob)
def delete_job(tx: Transaction, op: DeleteJob) -> Job:
    """Delete a job; a running one is ended first (docs: protocol, section 6)."""
    refuse_inside_run(tx)
    job = job_queries.job(tx.db, op.uid)
    _refuse_edit(tx, job)
    end_unbegun(tx, job, "the job was deleted")
    for run in job_queries.open_runs(tx.db, job.uid):
        finish(tx, job_queries.run(tx.db, run.uid), "interrupted", reason="the job was deleted")
    change_job(tx, job_queries.job(tx.db, op.uid), "job.deleted", {"deleted": True})
    return job


def restore_job(tx: Transaction, job: Job) -> Job:
    """Restore a deleted job, due from now on."""
    _refuse_same_name(tx, job.name)
    return change_job(tx, job, "job.restored", {"deleted": False})


def _holds_new(tx: Transaction) -> bool:
    """Whether a job that the speaker makes, or makes another, is held."""
    return tx.review.jobs and tx.files_for_review


def _is_held_by(tx: Transaction, job: Job, new: Mapping[str, Any]) -> bool:
    """Return whether these new values of a job have it held."""
    return bool({"held": False, **_acceptance(tx, job, new)}["held"]) and not job.held


def _follow_acceptance(tx: Transaction, job: Job, new: dict[str, Any]) -> None:
    """Set in the new values of a job whether it is held by them, and what the human accepts by them.

    Raises:
        Conflict: a held job would be enabled, or the human's redo would accept what has changed since.
    """
    if tx.actor == vocab.HUMAN and job.held and new.get("held") is False:
        if new.get("accepted", job.accepted) != job.digest(new):
            raise Conflict(f"job {job.name!r} has changed since you accepted it: look at it again", uuid=job.uid)
    elif tx.actor != vocab.HUMAN:
        for name in ("accepted", "held"):
            new.pop(name, None)
    new |= _acceptance(tx, job, new)
    if new.get("enabled", job.enabled) and new.get("held", job.held):
        raise waits_for_human(job)


def _acceptance(tx: Transaction, job: Job, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `held` and `accepted` that follow from other new values of a job."""
    accepted = job.accepted
    if tx.actor == vocab.HUMAN:
        # The human's own words need no acceptance.
        follows = "held" not in new and accepted is not None and job.version == accepted
        return {"accepted": job.digest(new)} if follows else {}
    if accepted is None and not job.held and _holds_new(tx):
        # What runs unheld is what the human lets run.
        accepted = job.version
    if accepted is None:
        return {}
    is_held = job.digest(new) != accepted and (job.held or tx.review.jobs)
    return {"held": is_held, "accepted": accepted} if is_held != job.held else {}


def _refuse_too_many(tx: Transaction) -> None:
    """Refuse a held job where the speaker has as many as it may.

    Raises:
        Conflict: it has.
    """
    limit = tx.review.limit
    if job_queries.held_count(tx.db, tx.actor) >= limit:
        reason = f"{tx.actor} has {limit} jobs that wait for the human, the limit: delete one, or wait"
        raise Conflict(reason, held=True, limit=limit)


def _refuse_edit(tx: Transaction, job: Job) -> None:
    """Refuse that another agent than its maker changes a held job.

    Raises:
        Conflict: it would.
    """
    if job.held and tx.actor not in (vocab.HUMAN, vocab.SYSTEM, job.created_by):
        reason = f"job {job.name!r} waits for the human; until then it is {job.created_by}'s"
        raise Conflict(reason, held=True, uuid=job.uid, state=job.state)
