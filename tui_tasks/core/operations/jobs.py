"""The writes of the scheduler. `core.rules` decides who may make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_tasks.core.operations import Operation
from tui_tasks.core.snapshots import Heartbeat

# Jobs: of agents and the human


class CreateJob(Operation, frozen=True):
    """Create a job. Result: the job.

    Attributes:
        name: its name.
        type: adhoc, planned or scheduled.
        system_prompt: the system prompt.
        prompt: the prompt.
        timezone: an IANA name.
        schedule: of a scheduled job, the five fields of a cron.
        plan: of a planned job, its times as ISO 8601 texts.
        dedicated_context: whether it runs as a process of its own, not in a conversation.
        settings: `core.schedule.job_settings`, those that differ from the defaults.
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
    """Set fields and settings of a job. Result: the job.

    `changes` may have name, system_prompt, prompt, schedule, plan, timezone and dedicated_context, as `CreateJob` takes
    them.
    """

    uid: str
    changes: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}


class EnableJob(Operation, frozen=True):
    """Let a job run again at its times, from now on; the human accepts a held one by it. Result: the job.

    `seen` is the `version` of the job that the human has seen; a held job needs it.
    """

    uid: str
    seen: str | None = None


class DisableJob(Operation, frozen=True):
    """Let a job start no more. A running run continues, one that has not begun is ended. Result: the job."""

    uid: str


class DeleteJob(Operation, frozen=True):
    """End a job's runs, and delete it. Result: the job as it was."""

    uid: str


class RunJob(Operation, frozen=True):
    """Start a job by hand. Result: the run.

    `force`: the user asked for it although the job has a schedule or plan (docs: scheduling, rule S3). `context` is put
    before the prompt.
    """

    uid: str
    context: str = ""
    force: bool = False


class FinishRun(Operation, frozen=True):
    """Record how a run ended that the conversation was asked to do. Result: the run."""

    uid: str
    outcome: str
    result: str | None = None


class StopRun(Operation, frozen=True):
    """End a run, for the human. Result: the run; a running one ends when its supervisor has ended it."""

    uid: str


# Runs: of a scheduler and a supervisor


class DecideDue(Operation, frozen=True):
    """Decide the due times of a job, once for all processes; if there are many, some of them. Result: how many."""

    uid: str


class TakeBackDue(Operation, frozen=True):
    """Decide again the due times of a job that a wall clock decided too early. Result: whether there were any.

    `decided_until` is the job's value, read before the clock was: a process that was suspended in between takes back
    nothing that another has decided since.
    """

    uid: str
    decided_until: int


class RequestRun(Operation, frozen=True):
    """Ask the conversation to do a due run. Result: the run, or None if it is not to be done now."""

    uid: str


class ClaimRun(Operation, frozen=True):
    """Claim a run of the runner; only one process succeeds. Result: the run, or None.

    `by` is the process that will start its supervisor; at most `max_parallel` runs are claimed or running at a time.
    """

    uid: str
    by: Heartbeat
    max_parallel: int


class BeginRun(Operation, frozen=True):
    """Take over a claimed run as its supervisor, to begin it at once. Result: the run, or None if it may not begin.

    `token_hash` is the SHA-256 of the run's token in hexadecimal, `deadline` the instant at which the run is ended.
    """

    uid: str
    by: Heartbeat
    token_hash: str
    deadline: int


class NoteRunAgent(Operation, frozen=True):
    """Record which agent a run started: the agent's name, and the program's id of its session. Result: the run."""

    uid: str
    agent: str
    session: str


class EndRun(Operation, frozen=True):
    """Record how a run of the runner ended, unless its end is recorded. Result: the run.

    Attributes:
        uid: the run.
        outcome: success, error or interrupted.
        exit_code: that of the command.
        result: what the agent or command wrote last.
        reason: why it was no success.
        retry: whether the job's retries apply.
        turns: how many answers the agent's model gave; None: unknown.
        tokens: the tokens that it used.
        cost_usd: what it cost, in US dollars.
    """

    uid: str
    outcome: str
    exit_code: int | None = None
    result: str | None = None
    reason: str | None = None
    retry: bool = True
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class AbandonRun(Operation, frozen=True):
    """End a run whose process is gone, unless its heartbeat is newer than `seen`. Result: whether it ended."""

    uid: str
    seen: Heartbeat | None
    reason: str


class ExpireRuns(Operation, frozen=True):
    """End the requested runs that nobody answered by their deadline. Result: how many."""
