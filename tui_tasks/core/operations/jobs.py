"""Operations on jobs, runs and checks. `core.rules` decides who may make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations import Operation

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
        settings: `core.schedule.policy.Settings`, those that differ from the defaults.
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
    """Disable a job. A running run continues, one that has not begun ends. Result: the job."""

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


class DropDecided(Operation, frozen=True):
    """Decide again the due times of a job that a wall clock decided too early. Result: whether there were any.

    `decided_until` is the job's value, read before the clock was: a process that was suspended in between drops
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


# Of the human


class NamedCheck(Operation, frozen=True):
    """A check of a configuration file. Not an operation itself.

    Attributes:
        name: its name.
        digest: the hash of its command, folder and inputs; on a server of its inputs alone.
        lists: the names of the lists whose tasks all have it.
        gate: whether it must pass before such a task can be done.
        cwd: the folder of its inputs; empty on a server.
        inputs: globs below `cwd`.
    """

    name: str
    digest: str
    lists: tuple[str, ...] = ()
    gate: bool = False
    cwd: str = ""
    inputs: tuple[str, ...] = ()


class RecordSettings(Operation, frozen=True):
    """Record from which settings file checks, reviewed lists, standing answers and the limits of questions come, and
    all but the checks. Result: whether anything changed.

    Attributes:
        source: the path of the file.
        lists: the names of the lists; `*`: every list.
        limit: how many held tasks an agent may have.
        jobs: whether the jobs that agents make are held.
        rules: the standing answers, each as the fields of an `AnswerRule`.
        ask_limit: how many questions of one agent may wait.
        ask_total: how many of all agents may.
    """

    source: str
    lists: tuple[str, ...] = ()
    limit: int = 25
    jobs: bool = False
    rules: tuple[dict[str, str], ...] = ()
    ask_limit: int = 50
    ask_total: int = 1_000


class DefineChecks(Operation, frozen=True):
    """Replace the checks of a configuration file by these. Result: whether anything changed.

    Attributes:
        source: the path of the file.
        checks: its valid checks.
        kept: the names of checks that stay as they are, because the file's tables for them are invalid.
        alone: whether the checks of all other files are deleted.
    """

    source: str
    checks: tuple[NamedCheck, ...]
    kept: frozenset[str] = frozenset()
    alone: bool = False


class PlaceChecks(Operation, frozen=True):
    """Say how this machine runs the checks of a server's database. Result: whether anything changed.

    Attributes:
        source: this machine's settings file.
        places: digest and folder by the name of the check; checks that are not among them do not run here.
    """

    source: str
    places: Mapping[str, tuple[str, str]]


class GiveChecks(Operation, frozen=True):
    """Set the names of a task's checks; None: those of its list. Only for the human. Result: the task."""

    uid: str
    names: tuple[str, ...] | None


class WaiveChecks(Operation, frozen=True):
    """Accept a task as done although checks failed. Result: the names of those checks."""

    uid: str


# Of agents


class RequestChecks(Operation, frozen=True):
    """Run a task's checks, or the one with that name, whether the task is done or not. Result: what is verified of it.

    `unproven_alone`: do not repeat checks that passed and whose inputs are unchanged.
    """

    uid: str
    name: str | None = None
    unproven_alone: bool = False


class ProveTree(Operation, frozen=True):
    """Have the checks of a task that gate run on one tree; what has passed on it counts again. Only for the human.
    Result: these checks.

    Attributes:
        uid: the task.
        repository: the checkout in which the checks' folders are.
        worktree: the worktree that has the tree.
        tree: the hash of the tree.
    """

    uid: str
    repository: str
    worktree: str
    tree: str


# Of a scheduler and a supervisor


class ClaimCheck(Operation, frozen=True):
    """Claim a waiting run of a check; only one process succeeds. Result: the run, or None.

    `by` is the process that will start its supervisor; at most `max_parallel` runs are claimed or running at a time.
    """

    uid: str
    by: Heartbeat
    max_parallel: int


class BeginCheck(Operation, frozen=True):
    """Take over a claimed run as its supervisor, before starting its command. Result: the run, or None if it may not
    begin.

    Attributes:
        uid: the run.
        by: the supervisor's process.
        inputs: the hash of the inputs now.
        commit: the git commit of the folder.
        diff: the hash of the uncommitted changes.
        tree: the hash of the files of the run's worktree; None: it runs in none.
    """

    uid: str
    by: Heartbeat
    inputs: str
    commit: str | None = None
    diff: str | None = None
    tree: str | None = None


class EndCheck(Operation, frozen=True):
    """Record how a run of a check ended. Result: the run.

    Attributes:
        uid: the run.
        outcome: passed, failed or interrupted.
        inputs: the hash of the inputs now; if it changed during the run, a passed run is stale.
        exit_code: that of the command.
        output: the end of its output.
        tree: the hash of the files of the run's worktree now, to the same end as `inputs`.
    """

    uid: str
    outcome: str
    inputs: str | None = None
    exit_code: int | None = None
    output: str = ""
    tree: str | None = None


class AbandonCheck(Operation, frozen=True):
    """End a run whose process is gone, unless its heartbeat is newer than `seen`. Result: whether it ended."""

    uid: str
    seen: Heartbeat | None


class FreeCheck(Operation, frozen=True):
    """Let any machine begin a waiting run whose machine is lost; end it if none can. Result: whether it waited."""

    uid: str
    machine: str


class ChangeInputs(Operation, frozen=True):
    """Make the passed runs of a check stale whose inputs do not hash to `inputs`. Result: how many.

    `digest` is that of the definition with which `inputs` was hashed, in the folder of the runs `uids`; empty: of all.
    """

    check_uid: str
    digest: str
    inputs: str
    uids: tuple[str, ...] = ()
