"""The tables of what is recorded beside tasks: log entries, saved states, memories and claims.

A command that adds or lists tasks needs none of them, and does not import this module.
"""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, Model, TextField
from tui_tasks.core.schema.tables import Flag, Id, JsonField


class LogRow(Model):
    """A log entry of a task; a note is one too."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    at = BigIntegerField()
    agent = TextField()
    message = TextField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "log"


class StateRow(Model):
    """The state that an agent saved to resume a task (seed 004)."""

    uid = TextField(primary_key=True)  # the task's
    agent = TextField()
    approach = TextField(null=True)
    files_modified = JsonField(default="[]")
    completed_steps = JsonField(default="[]")
    remaining_steps = JsonField(default="[]")
    blockers = JsonField(default="[]")
    decisions = JsonField(default="[]")
    context_snapshot = TextField(null=True)
    saved_at = BigIntegerField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "state"


class MemoryRow(Model):
    """The result of a completed task, kept for later (seed 001). It outlives the task."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    title = TextField()
    domain = TextField(null=True)
    content = JsonField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    deleted = Flag(default=0)

    class Meta:
        table_name = "memory"


class ClaimRow(Model):
    """An agent's hold on a task for the length of a lease (docs: protocol, section 7)."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    agent = TextField()
    was_agent = TextField(null=True)  # the task's agent before the claim
    lease = BigIntegerField()  # microseconds
    expires_at = BigIntegerField()
    state = TextField()  # active | released | finished | lapsed

    class Meta:
        table_name = "claim"
