"""The writes of the scheduler, as frozen values beside those of `operations`. Who may do what is decided in `rules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.operation import Operation

# Jobs: what agents and the human do


class CreateJob(Operation, frozen=True):
    """Make a job. Result: the job.

    `type` is adhoc, planned (with `plan`, ISO 8601 texts) or scheduled (with `schedule`, the five fields of a cron).
    """

    name: str
    type: str
    system_prompt: str
    prompt: str
    timezone: str
    schedule: Mapping[str, Any] | None = None
    plan: tuple[str, ...] | None = None
    dedicated_context: bool = False
    settings: Mapping[str, Any] = {}


class EditJob(Operation, frozen=True):
    """Set fields of a job, and some of its settings; what is equal already changes nothing. Result: the job.

    `changes` may hold name, system_prompt, prompt, schedule, plan, timezone, dedicated_context, in the form in which
    `CreateJob` takes them.
    """

    uid: str
    changes: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}


class EnableJob(Operation, frozen=True):
    """Let a job run again at its times, from now on. Result: the job."""

    uid: str


class DisableJob(Operation, frozen=True):
    """Let a job start no more; what runs goes on, what has not begun is ended. Result: the job."""

    uid: str


class DeleteJob(Operation, frozen=True):
    """End what a job runs and delete it. Result: the job as it was."""

    uid: str


class RunJob(Operation, frozen=True):
    """Start a job by hand. Result: the run.

    `force` says that the user asked for it though it has a schedule or plan (rule S3).
    """

    uid: str
    context: str = ""
    force: bool = False


class FinishRun(Operation, frozen=True):
    """The answer of whoever did a run that was requested in the conversation. Result: the run."""

    uid: str
    outcome: str
    result: str | None = None


class StopRun(Operation, frozen=True):
    """The human ends a run. Result: the run; one that has begun ends when its supervisor has ended it."""

    uid: str


# Runs: what a scheduler and a supervisor do


class DecideDue(Operation, frozen=True):
    """Decide the due times of a job, once for all processes; a part of them where they are many. Result: how many."""

    uid: str


class TakeBackDue(Operation, frozen=True):
    """Decide anew the due times of a job that a clock which was ahead has decided. Result: whether there were any."""

    uid: str


class RequestRun(Operation, frozen=True):
    """Ask the conversation to do a run whose time has come. Result: the run, None where it is not to be done now."""

    uid: str


class ClaimRun(Operation, frozen=True):
    """Take a run of the runner's in hand, once for all processes. Result: the run, None where it is not to be had.

    `by` is the process that will start its supervisor; at most `max_parallel` may be in hand at a time.
    """

    uid: str
    by: Heartbeat
    max_parallel: int


class BeginRun(Operation, frozen=True):
    """A supervisor takes over a claimed run, to begin it at once. Result: the run, None where it may not.

    `token_hash` is the SHA-256 of the run's token in hexadecimal digits, `deadline` the instant at which it is ended.
    """

    uid: str
    by: Heartbeat
    token_hash: str
    deadline: int


class NoteRunAgent(Operation, frozen=True):
    """Keep which agent a run has started: the name of its session and the program's own id of it. Result: the run."""

    uid: str
    agent: str
    session: str


class EndRun(Operation, frozen=True):
    """Record how a run of the runner's ended; nothing where its end is recorded already. Result: the run.

    `turns`, `tokens` and `cost_usd` are what its agent has used, where that is known.
    """

    uid: str
    outcome: str
    exit_code: int | None = None
    result: str | None = None
    reason: str | None = None
    # Whether the job's retries apply.
    retry: bool = True
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class AbandonRun(Operation, frozen=True):
    """End a run whose process is gone, unless another sign of life than `seen` has come. Result: whether it was."""

    uid: str
    seen: Heartbeat | None
    reason: str


class ExpireRuns(Operation, frozen=True):
    """End the requested runs that nobody has answered by their deadline. Result: how many."""
