"""The tables of lists, tasks and what belongs to a task."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.orm import SQL, BigIntegerField, CompositeKey, IntegerField, Model, TextField
from tui_tasks.core.schema.tables import Flag, Id, JsonField


class ListRow(Model):
    """A list of tasks: a dialect's own, a named list, or a plan (docs: protocol, section 5)."""

    id = Id(primary_key=True)
    uid = TextField()
    kind = TextField()  # list | plan
    name = TextField()
    description = TextField(default="")
    agent = TextField(null=True)
    origin = TextField()  # the dialect that made it
    one_in_progress = Flag(default=0)
    created_at = BigIntegerField()
    deleted = Flag(default=0)
    pending = IntegerField(default=0)
    in_progress = IntegerField(default=0)
    done = IntegerField(default=0)
    failed = IntegerField(default=0)
    skipped = IntegerField(default=0)
    cancelled = IntegerField(default=0)
    archived = Flag(default=0)  # shown only where archived lists are asked for
    review = Flag(default=0)  # tasks that agents file in it are held until the human accepts them
    project = TextField(null=True)  # the project that it belongs to (docs: protocol, section 5)

    class Meta:
        table_name = "list"


class TaskRow(Model):
    """A task (docs: protocol, section 4). A deleted task's row stays, marked, so that it can be restored."""

    # Also the task's number, as in `#12`. A new task gets the highest one plus 1, and no row is ever removed, so that
    # none is given twice. The entry of the task's creation has it, so that a replay gives the same.
    id = Id(primary_key=True)
    uid = TextField()
    list_id = IntegerField()
    rank = TextField()
    key = TextField(null=True)  # an id that the caller chose
    name = TextField()
    description = TextField(default="")
    status = TextField()
    priority = IntegerField()
    tags = JsonField(default="[]")
    domain = TextField(null=True)
    result = JsonField(null=True)
    metadata = JsonField(null=True)
    agent = TextField(null=True)
    intent = TextField(null=True)
    depends_on = JsonField(default="[]")
    node_ids = JsonField(default="[]")
    version = IntegerField()
    created_at = BigIntegerField()
    created_by = TextField()
    updated_at = BigIntegerField()
    updated_by = TextField()
    started_at = BigIntegerField(null=True)
    finished_at = BigIntegerField(null=True)
    deleted = Flag(default=0)
    solo = Flag(default=0)  # its list holds at most one in progress for each agent
    waiting_on = IntegerField(default=0)  # unfinished dependencies, plus one if it is held for the human
    claimed_by = TextField(null=True)
    fenced = JsonField(default="[]")  # agents whose claim on it lapsed or was ended
    due = TextField(null=True)
    estimate = IntegerField(null=True)
    held = Flag(default=0)  # an agent filed it, and the human has not accepted it yet
    decline_reason = TextField(null=True)  # the human's reason if a held task was declined
    checks = JsonField(null=True)  # names of checks that the human gave it; None: its list's checks
    links = JsonField(default="[]")  # links to its work: `work_links`
    status_by = TextField(null=True)  # who set its status; None: unknown, or pending since it was made
    accepted = TextField(null=True)  # a digest of what the human accepted; None: it was never held

    class Meta:
        table_name = "task"


# Whether a task waits for others. Queries must write it exactly so, as the index `task_urgency` does.
WAITS: Any = TaskRow.waiting_on > SQL("0")


class EdgeRow(Model):
    """One dependency of a task, to find which tasks wait for another; derived from `TaskRow.depends_on`."""

    task_uid = TextField()
    on_uid = TextField()

    class Meta:
        table_name = "edge"
        primary_key = CompositeKey("task_uid", "on_uid")


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
