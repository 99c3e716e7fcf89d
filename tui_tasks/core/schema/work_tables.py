"""The tables of work: agents that the human has started on a task (docs: protocol, section 12)."""

from __future__ import annotations

from tui_tasks.core.engine.orm import BigIntegerField, IntegerField, Model, TextField
from tui_tasks.core.schema.tables import Flag, Id, JsonField


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
    limits = JsonField(null=True)  # a `limit_rules.Limits`; null: those of the settings, and none was reached
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
