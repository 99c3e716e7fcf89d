"""`scheduler:*` (seed 003): jobs that run by a schedule, by a plan, or on request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, cast, get_type_hints

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument, Problem, TimedOut
from tui_tasks.core.job_snapshots import Job, Run, local_iso
from tui_tasks.core.operations.jobs import (
    CreateJob,
    DeleteJob,
    DisableJob,
    EditJob,
    EnableJob,
    FinishRun,
    RunJob,
)
from tui_tasks.core.read import job_queries
from tui_tasks.core.schedule.fire_times import system_zone, timing_errors
from tui_tasks.core.schedule.policy import YEAR_SECONDS, Settings
from tui_tasks.dialects.long_replies import page_array
from tui_tasks.dialects.requests.arguments import Arguments, Name, Text, Uid
from tui_tasks.dialects.tool_table import TEXT, Call, Table, Wait, list_of, object_of, require_one_of
from tui_tasks.text.times import SECOND

_JOB: Final = object_of("uuid name type state", uuid=TEXT, name=TEXT)
_RUN: Final = object_of("run_id uuid trigger decision outcome", run_id=TEXT)


SCHEDULER = Table()
DEFAULT_WAIT = 300
MAX_RUNS = 100_000
_AGENT_COLUMNS = ("agent", "session", "turns", "tokens", "cost_usd")

State = Literal["idle", "running", "disabled", "error"]
Type = Literal["adhoc", "planned", "scheduled"]

Plan = Annotated[
    list[Text],
    Meta(min_length=1, description="ISO dates with time (2026-03-01T09:00:00), none past."),
]
Field = str | int


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


class Schedule(Arguments):
    """A cron: 5, 1-5, 1,15, * or */15; weekday 0-7 or sun-sat."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    def fields(self) -> dict[str, Field]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class _Filter(Arguments):
    state: list[State] = []
    type: list[Type] = []


@SCHEDULER.tool("scheduler:list_tasks", _Filter, output=list_of(_JOB))
def list_tasks(call: Call, given: _Filter) -> Any:
    """List the jobs, oldest first; check it before you create one."""
    return page_array(call.db, job_queries.each_job(call.db, states=given.state, types=given.type), None, job_json)


class _Named(Arguments):
    name: Annotated[Name, Meta(description="Part of it, any case.")]


@SCHEDULER.tool("scheduler:find_task_by_name", _Named, output=list_of(_JOB))
def find_task_by_name(call: Call, given: _Named) -> Any:
    """Find jobs by part of their name, oldest first."""
    return page_array(call.db, job_queries.each_job(call.db, name=given.name), None, job_json)


class _One(Arguments):
    uuid: Uid


@SCHEDULER.tool("scheduler:show_task", _One, output=_JOB)
def show_task(call: Call, given: _One) -> dict[str, Any]:
    """Read one job: its prompt, next run and last result."""
    job = job_queries.job(call.db, given.uuid)
    if job.state == "error":
        _note_failure(call, job_queries.last_ended(call.db, job.uid))
    return job_json(job)


class _Run(Arguments):
    uuid: Uid
    context: Annotated[Text, Meta(description="Put before the prompt.")] = ""
    force: Annotated[bool, Meta(description="The user asked for it (rule S3).")] = False


@SCHEDULER.tool("scheduler:run_task", _Run, writes=True, output=object_of("uuid run_id state"))
def run_task(call: Call, given: _Run) -> dict[str, Any]:
    """Start an ad hoc job now, others only with `force`. It runs in the background: see scheduler:wait_for_task."""
    run = call.run(RunJob(given.uuid, given.context, given.force))
    return {"uuid": given.uuid, "run_id": run.uid, "state": "running"}


@SCHEDULER.tool("scheduler:delete_task", _One, writes=True, destructive=True, output=_JOB)
def delete_task(call: Call, given: _One) -> dict[str, Any]:
    """Delete a job; its run is ended first."""
    return job_json(call.run(DeleteJob(given.uuid)))


def _timing_problems(given: dict[str, Any], now: int | None) -> list[Problem]:
    return [(error.argument, str(error)) for error in timing_errors(given, now)]


class _Adhoc(Arguments, kw_only=True):
    name: Name
    system_prompt: Text
    prompt: Text
    timezone: Name | None = None
    dedicated_context: bool = False

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what is wrong with the times."""
        return _timing_problems(given, now)


class _Scheduled(_Adhoc, kw_only=True):
    # The arguments that all three share are described only here.
    name: Annotated[Name, Meta(description="Unique.")]
    prompt: Annotated[Text, Meta(description="Its objective; never to schedule more jobs.")]
    timezone: Annotated[Name, Meta(description="IANA; default: the system's.")] | None = None
    dedicated_context: Annotated[bool, Meta(description="Run as a process; false: in this conversation.")] = False
    schedule: Schedule


class _Planned(_Adhoc, kw_only=True):
    plan: Plan


def _create_job(call: Call, given: _Adhoc, kind: str, **when: Any) -> dict[str, Any]:
    job = call.run(
        CreateJob(
            given.name,
            kind,
            given.system_prompt,
            given.prompt,
            given.timezone if given.timezone is not None else system_zone(),
            dedicated_context=given.dedicated_context,
            **when,
        )
    )
    return job_json(job)


@SCHEDULER.tool("scheduler:create_scheduled_task", _Scheduled, writes=True, output=_JOB)
def create_scheduled_task(call: Call, given: _Scheduled) -> dict[str, Any]:
    """Create a job that repeats by a cron schedule. First check for one like it."""
    return _create_job(call, given, "scheduled", schedule=given.schedule.fields())


@SCHEDULER.tool("scheduler:create_planned_task", _Planned, writes=True, output=_JOB)
def create_planned_task(call: Call, given: _Planned) -> dict[str, Any]:
    """Create a job that runs at given times. First check for one like it."""
    return _create_job(call, given, "planned", plan=tuple(given.plan))


@SCHEDULER.tool("scheduler:create_adhoc_task", _Adhoc, writes=True, output=_JOB)
def create_adhoc_task(call: Call, given: _Adhoc) -> dict[str, Any]:
    """Create a job that runs only when it is started."""
    return _create_job(call, given, "adhoc")


class _WaitForTask(Arguments):
    uuid: Uid
    timeout: Annotated[float, Meta(ge=0, le=YEAR_SECONDS, description="Seconds.")] = DEFAULT_WAIT


@SCHEDULER.tool(
    "scheduler:wait_for_task", _WaitForTask, waits=True, output=object_of("uuid run_id state outcome result")
)
def wait_for_task(call: Call, given: _WaitForTask) -> Any:
    """Wait for the end of a running job with dedicated_context, retries included; outcome null: it never ran."""
    job = job_queries.job(call.db, given.uuid)
    if not job.dedicated_context:
        raise InvalidArgument("uuid", f"job {job.name!r} runs in the conversation: it has no dedicated_context")
    active = [run for run in job_queries.open_runs(call.db, job.uid) if run.state != "queued"]
    if not active:
        return _ended_json(call, job, job_queries.last_ended(call.db, job.uid))
    awaited = active[-1].uid
    deadline = call.database_now + int(given.timeout * SECOND)

    def check(later: Call) -> dict[str, Any] | None:
        run = _newest_attempt(later, awaited)
        if run is None or run.state == "final":
            now = job_queries.any_job(later.db, given.uuid) or job
            return _ended_json(later, now, run or job_queries.last_ended(later.db, given.uuid))
        # Here and not in `give_up`, which gets a write transaction: read-only channels wait, too.
        return give_up(later) if later.database_now >= deadline else None

    def give_up(later: Call) -> Any:
        raise TimedOut(f"job {job.name!r} is still running", uuid=job.uid, run_id=awaited, state="running")

    return Wait(check, give_up, deadline)


def _newest_attempt(call: Call, run_id: str) -> Run | None:
    """Return the run, or the last of its retries; None if it is no longer stored."""
    run = job_queries.any_run(call.db, run_id)
    while run is not None and run.state == "final" and (retry := job_queries.retry_of(call.db, run)) is not None:
        run = retry
    return run


def _ended_json(call: Call, job: Job, run: Run | None) -> dict[str, Any]:
    _note_failure(call, run)
    return {
        "uuid": job.uid,
        "run_id": run.uid if run else None,
        "state": job.state,
        "outcome": run.outcome if run else None,
        "result": run.result if run else None,
    }


def _note_failure(call: Call, run: Run | None) -> None:
    """Note in the reply why a run did not succeed, as its result has no field for it."""
    if run is not None and run.outcome not in (None, "success"):
        code = f" (exit status {run.exit_code})" if run.exit_code is not None else ""
        call.note = (
            f"run {run.uid} ended as {run.outcome}{code}: {run.reason or (run.result or 'no reason was given')[:500]}"
        )


# Beyond the seed (docs: protocol, section 6)


class _Update(Arguments):
    uuid: Uid
    name: Name | None = None
    system_prompt: Text | None = None
    prompt: Text | None = None
    schedule: Schedule | None = None
    plan: Annotated[list[Text], Meta(min_length=1, description="All its times.")] | None = None
    timezone: Name | None = None
    dedicated_context: bool | None = None

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what is wrong with the times; which times of a plan may be past depends on the job."""
        return _timing_problems(given, None)


_CHANGES = ("name", "system_prompt", "prompt", "plan", "timezone", "dedicated_context")
_SETTINGS = {name: kind | None for name, kind in get_type_hints(Settings, include_extras=True).items()}
_SETTING_FIELDS = [(name, kind, None) for name, kind in _SETTINGS.items()]
_UpdateOfSettings = cast("type[_Update]", msgspec.defstruct("_Update", _SETTING_FIELDS, bases=(_Update,), kw_only=True))


@SCHEDULER.tool("scheduler:update_task", _UpdateOfSettings, writes=True, idempotent=True, output=_JOB)
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Change a job: at least one field. Defaults in brackets, else 0 for none."""
    fields = {name: getattr(given, name) for name in given.__struct_fields__ if name != "uuid"}
    require_one_of("name", fields)
    changes = {name: fields[name] for name in _CHANGES if fields[name] is not None}
    if given.schedule is not None:
        changes["schedule"] = given.schedule.fields()
    settings = {name: fields[name] for name in _SETTINGS if fields[name] is not None}
    return job_json(call.run(EditJob(given.uuid, changes, settings)))


@SCHEDULER.tool("scheduler:enable_task", _One, writes=True, idempotent=True, output=_JOB)
def enable_task(call: Call, given: _One) -> dict[str, Any]:
    """Switch a disabled job on again."""
    return job_json(call.run(EnableJob(given.uuid)))


@SCHEDULER.tool("scheduler:disable_task", _One, writes=True, idempotent=True, output=_JOB)
def disable_task(call: Call, given: _One) -> dict[str, Any]:
    """Switch a job off; a started run continues."""
    return job_json(call.run(DisableJob(given.uuid)))


class _Runs(Arguments):
    uuid: Uid
    limit: Annotated[int, Meta(ge=1, le=MAX_RUNS)] = 20


@SCHEDULER.tool("scheduler:get_runs", _Runs, output=object_of("runs", runs=list_of(_RUN)))
def get_runs(call: Call, given: _Runs) -> dict[str, Any]:
    """Read a job's runs, newest first, and missed due times with the reason; outcome null: still running."""
    job = job_queries.job(call.db, given.uuid)
    runs = job_queries.each_run(call.db, job.uid, given.limit)
    return {"runs": page_array(call.db, runs, None, lambda run: run_json(run, job.timezone))}


class _Finish(Arguments):
    run_id: Annotated[Uid, Meta(description="Of run.requested.")]
    outcome: Literal["success", "error", "interrupted"]
    result: Annotated[Text, Meta(description="The result.")] | None = None


@SCHEDULER.tool("scheduler:finish_run", _Finish, writes=True, output=_RUN)
def finish_run(call: Call, given: _Finish) -> dict[str, Any]:
    """Report the end of a run that the event run.requested gave you."""
    run = call.run(FinishRun(given.run_id, given.outcome, given.result))
    job = job_queries.any_job(call.db, run.job_uid)
    assert job is not None
    return run_json(run, job.timezone)
