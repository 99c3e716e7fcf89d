"""The tables of checks: how they are defined, their runs, and which prove what task."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, IntegerField, Model, TextField
from tui_tasks.core.schema.tables.columns import Flag, Id, JsonField


class CheckDefinitionRow(Model):
    """A check that a configuration file defines (docs: protocol, section 11). Only that file has its command."""

    uid = TextField(primary_key=True)
    source = TextField()  # the configuration file
    name = TextField()
    digest = TextField()  # of its command, folder and inputs
    lists = JsonField(default="[]")  # names of the lists all of whose tasks have it
    gate = Flag(default=0)
    deleted = Flag(default=0)

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

    class Meta:
        table_name = "check_run"


class TaskCheckRow(Model):
    """The run that counts for one check of a task; `apply` deletes it when the task is no longer done."""

    uid = TextField(primary_key=True)  # the task's and the check's
    task_uid = TextField()
    check_uid = TextField()
    run_uid = TextField()
    waived = Flag(default=0)  # the human accepts the task as done although it failed

    class Meta:
        table_name = "task_check"
