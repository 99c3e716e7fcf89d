"""The tables of what is recorded beside tasks: log entries, saved states, memories, claims, and the work of agents that
the human has started on them (docs: protocol, section 12).

A command that adds or lists tasks needs none of them, and does not import this module.
"""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, IntegerField, Model, TextField
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


class WorkRow(Model):
    """An agent at work on a task, in a git worktree of its own or in a checkout."""

    id = Id(primary_key=True)
    uid = TextField()
    task_uid = TextField()
    agent = TextField()  # the agent's name
    program = TextField()
    repository = TextField()  # the checkout to which the worktree belongs
    worktree = TextField()  # where the agent works; the checkout itself if it has no worktree of its own
    makes_worktree = Flag(default=1)  # whether the worktree and the branch were made for this work
    branch = TextField(null=True)
    base = TextField(null=True)  # the branch that it is merged into
    base_commit = TextField(null=True)  # that branch's commit at the start
    terminal = TextField(null=True)  # its session in our tmux server; null: it has none
    state = TextField()  # one of `vocab.WORK_STATES`
    message = TextField(null=True)  # why it failed, or the files in conflict
    summary = TextField(null=True)  # the agent's own words when it was ready
    pull_request = TextField(null=True)
    started_at = BigIntegerField()
    merged_at = BigIntegerField(null=True)
    head = TextField(null=True)  # the commit that was merged or discarded
    intent = JsonField(null=True)  # what git is about to do: refs old and new, paths
    kept = JsonField(null=True)  # what brings it back after its end: refs and folders
    limits = JsonField(null=True)  # a `work_limit_rules.Limits`; null: those of the settings, and none was reached
    machine = TextField(default="")  # on a server: the id of the machine that has the worktree

    class Meta:
        table_name = "work"


class WorkCountRow(Model):
    """What git last counted of a work. No part of the state."""

    uid = TextField(primary_key=True)
    head = TextField(null=True)
    ahead = IntegerField(null=True)
    behind = IntegerField(null=True)
    files = IntegerField(null=True)
    insertions = IntegerField(null=True)
    deletions = IntegerField(null=True)
    dirty = IntegerField(null=True)
    near = TextField(null=True)  # a limit that is near, what its program asks first, or conflicts; for people
    at = BigIntegerField()

    class Meta:
        table_name = "work_count"


class AutoRow(Model):
    """A list whose ready tasks are started by themselves, or were."""

    uid = TextField(primary_key=True)  # the list's
    program = TextField(default="")  # empty: as for a start by hand
    folder = TextField()  # a folder in the repository
    at_once = IntegerField()  # how many of its agents may be at work at once
    failures = IntegerField()  # after so many failures in a row it stops
    stays = Flag(default=0)  # whether it is still on when the database is opened anew
    is_on = Flag()
    host = TextField(default="")  # the process that starts the agents; empty: the next that looks
    after = BigIntegerField(default=0)  # the id of the last work before it was turned on
    message = TextField(null=True)  # why it stopped
    machine = TextField(default="")  # on a server: the id of the machine that has the folder

    class Meta:
        table_name = "auto"
