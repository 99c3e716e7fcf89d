"""The tables of tasks and of the journal, as Peewee models; others have modules of their own. Instants: microseconds.

The models are bound to no database: `statements` compiles queries from them once, and `database` runs the SQL.
`row_writes` maintains what is derived (counts, `waiting_on`, `solo`, the edges).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from tui_tasks.core.engine.orm import (
    SQL,
    BigIntegerField,
    BlobField,
    CompositeKey,
    Field,
    IntegerField,
    Model,
    TextField,
)


class JsonField(TextField):
    """A JSON value stored as text; `row_writes` encodes and `snapshots` decodes it."""


class Flag(IntegerField):
    """A boolean, stored as 1 or 0."""


class Id(BigIntegerField):
    """The row's number, ascending in order of creation; SQLite's rowid."""


def columns(model: type[Model]) -> dict[str, Field]:
    """Return the model's fields by name, in the order of the table."""
    fields: dict[str, Any] = {field.name: field for field in model._meta.sorted_fields}
    return fields


# The module in `core.schema` with the model of each table.
STATE: Final = {
    "list": "tables",
    "task": "tables",
    "edge": "tables",
    "log": "record_tables",
    "state": "record_tables",
    "memory": "record_tables",
    "claim": "record_tables",
    "ask": "agent_tables",
    "agent": "agent_tables",
    "human_message": "agent_tables",
    "session": "agent_tables",
    "stuck": "agent_tables",
    "job": "job_tables",
    "run": "job_tables",
    "check_definition": "job_tables",
    "check_run": "job_tables",
    "task_check": "job_tables",
    "settings": "job_tables",
    "work": "record_tables",
    "auto": "record_tables",
}


@cache
def model_of(table: str) -> type[Model]:
    """Return the model of a table of `STATE`, whose module is imported on first use: a command needs few of them."""
    module = import_module(f"tui_tasks.core.schema.{STATE[table]}")
    models = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Model))
    return next(model for model in models if model is not Model and model._meta.table_name == table)


class JournalRow(Model):
    """One change: who, when, the values before and after, why. Rows are only ever added."""

    seq = Id(primary_key=True)
    at = BigIntegerField()
    actor = TextField()
    kind = TextField()
    entity = TextField()  # the table
    uid = TextField()  # the row there
    task = TextField(null=True)  # the task it is about
    change = BigIntegerField()  # seq of the first entry of the same request or batch
    undoes = BigIntegerField(null=True)  # the change that it undoes
    old = JsonField(null=True)
    new = JsonField(null=True)
    image = JsonField(null=True)  # the task after it, without long unchanged texts
    why = JsonField(null=True)
    # Of the columns above, in their order. One added later stands below: old hashes stay valid.
    hash = BlobField()

    class Meta:
        table_name = "journal"


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
    name = TextField()
    status = TextField()
    priority = IntegerField()
    version = IntegerField()
    created_at = BigIntegerField()
    created_by = TextField()
    updated_at = BigIntegerField()
    updated_by = TextField()
    key = TextField(null=True)  # an id that the caller chose
    description = TextField(default="")
    tags = JsonField(default="[]")
    domain = TextField(null=True)
    result = JsonField(null=True)
    metadata = JsonField(null=True)
    agent = TextField(null=True)
    intent = TextField(null=True)
    depends_on = JsonField(default="[]")
    node_ids = JsonField(default="[]")
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
    links = JsonField(default="[]")  # links to its work: `task_links`
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
