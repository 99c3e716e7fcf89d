"""The tables of jobs and of checks: definitions, runs, their output, and which checks prove what task."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.orm import (
    SQL,
    BigIntegerField,
    BlobField,
    CompositeKey,
    FloatField,
    IntegerField,
    Model,
    TextField,
    slot,
)
from tui_tasks.core.schema.tables import Flag, Id, JsonField


class JobRow(Model):
    """A job of the scheduler (seed 003)."""

    id = Id(primary_key=True)
    uid = TextField()
    name = TextField()
    name_key = TextField()  # the name with case folded
    type = TextField()
    system_prompt = TextField()
    prompt = TextField()
    schedule = JsonField(null=True)
    plan = JsonField(null=True)
    timezone = TextField()
    dedicated_context = Flag(default=0)
    enabled = Flag(default=1)
    settings = JsonField(default="{}")
    created_by = TextField()
    created_at = BigIntegerField()
    next_run = BigIntegerField(null=True)
    last_run = BigIntegerField(null=True)
    last_outcome = TextField(null=True)
    last_result = TextField(null=True)
    failures = IntegerField(default=0)  # in a row
    decided_until = BigIntegerField()  # nominal times up to here have a run row
    active = IntegerField(default=0)  # runs that wait to be started or run
    deleted = Flag(default=0)
    held = Flag(default=0)  # disabled until the human accepts it
    accepted = TextField(null=True)  # a digest of what the human accepted; None: it was never held

    class Meta:
        table_name = "job"


class RunRow(Model):
    """One nominal time or manual start of a job, and its outcome (docs: protocol, section 6)."""

    id = Id(primary_key=True)
    uid = TextField()
    job_uid = TextField()
    trigger = TextField()  # schedule | plan | manual
    scheduled_for = BigIntegerField(null=True)
    attempt = IntegerField(default=1)
    retry_of = TextField(null=True)  # the attempt before
    decision = TextField()
    outcome = TextField(null=True)
    state = TextField()  # queued (behind a time or a run) | waiting (for its start) | running | final
    dedicated = Flag(default=0)
    context = TextField(default="")
    requested_by = TextField()
    started_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    exit_code = IntegerField(null=True)
    result = TextField(null=True)
    reason = TextField(null=True)
    token_hash = TextField(null=True)
    deadline = BigIntegerField(null=True)
    not_before = BigIntegerField(null=True)
    stop_reason = TextField(null=True)  # set: its supervisor must end it
    agent = TextField(null=True)  # the session's name, if it ran an agent program
    session = TextField(null=True)  # that program's own id of the session
    turns = IntegerField(null=True)  # how many answers its model gave
    tokens = IntegerField(null=True)
    cost_usd = FloatField(null=True)

    class Meta:
        table_name = "run"


OF_JOB: Any = RunRow.job_uid == slot("job")
# Stated twice, so that SQLite uses the index of open runs.
OPEN_RUN: Any = (RunRow.state != SQL("'final'")) & RunRow.state.in_(
    [SQL("'queued'"), SQL("'waiting'"), SQL("'running'")]
)


class RunLogRow(Model):
    """A piece of a run's output, by its offset in the whole. Bounded, and overwritten: no part of the state."""

    run_uid = TextField()
    start = BigIntegerField()
    data = BlobField()

    class Meta:
        table_name = "run_log"
        primary_key = CompositeKey("run_uid", "start")


class CheckDefinitionRow(Model):
    """A check that a configuration file defines (docs: protocol, section 11). Only that file has its command."""

    uid = TextField(primary_key=True)
    source = TextField()  # the configuration file
    name = TextField()
    digest = TextField()  # of its command, folder and inputs
    lists = JsonField(default="[]")  # names of the lists all of whose tasks have it
    gate = Flag(default=0)
    deleted = Flag(default=0)
    cwd = TextField(default="")  # the folder of its inputs; empty: recorded before there was this column
    inputs = JsonField(default="[]")  # globs below `cwd`
    machines = JsonField(default="{}")  # on a server: [digest, folder, configuration file] by the machine's id

    class Meta:
        table_name = "check_definition"


class CheckRunRow(Model):
    """One run of a check's command, for every task that asked for it before it began."""

    id = Id(primary_key=True)
    uid = TextField()
    check_uid = TextField()
    digest = TextField()  # of the definition that was run
    state = TextField()  # waiting | running | passed | failed | stale (passed, then an input changed) | interrupted
    requested_by = TextField()
    requested_at = BigIntegerField()
    started_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    exit_code = IntegerField(null=True)
    output = TextField(null=True)  # the end of it
    inputs = TextField(null=True)  # hash of the inputs as they were when it began
    git_commit = TextField(null=True)
    git_diff = TextField(null=True)  # hash of the changes since that commit
    cwd = TextField(null=True)  # the folder in which it runs; null: the check's own
    worktree = TextField(null=True)  # the git worktree around that folder, for a task at work
    tree = TextField(null=True)  # hash of the worktree's files, which the run is about
    machine = TextField(default="")  # on a server: the id of the machine that runs it; empty: any that can

    class Meta:
        table_name = "check_run"


class TaskCheckRow(Model):
    """The run that counts for one check of a task; `run_effects` deletes it when the task is no longer done."""

    uid = TextField(primary_key=True)  # the task's and the check's
    task_uid = TextField()
    check_uid = TextField()
    run_uid = TextField()
    waived = Flag(default=0)  # the human accepts the task as done although it failed

    class Meta:
        table_name = "task_check"


class SettingsRow(Model):
    """What the database has of the settings file that is recorded with it, beside the checks; at most one row."""

    uid = TextField(primary_key=True)
    source = TextField()  # the path of the file
    review_lists = JsonField(default="[]")
    review_limit = IntegerField(default=25)
    review_jobs = Flag(default=0)
    rules = JsonField(default="[]")  # the standing answers to permissions
    ask_limit = IntegerField(default=50)  # how many questions of one agent may wait
    ask_total = IntegerField(default=1_000)  # how many of all agents may

    class Meta:
        table_name = "settings"
