"""The tables, as Peewee models, a module for each subject; the journal is here. Instants are microseconds, UTC.

The models are bound to no database: `statements` compiles queries from them once, and `database` runs the SQL. `apply`
maintains what is derived (counts, `waiting_on`, `solo`, the edges).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from tui_tasks.core.engine.orm import BigIntegerField, BlobField, CompositeKey, Field, IntegerField, Model, TextField


class JsonField(TextField):
    """A JSON value stored as text; `apply` encodes and `snapshots` decodes it."""


class Flag(IntegerField):
    """A boolean, stored as 1 or 0."""


class Id(BigIntegerField):
    """The row's number, ascending in order of creation; SQLite's rowid."""


def columns(model: type[Model]) -> dict[str, Field]:
    """Return the model's fields by name, in the order of the table."""
    fields: dict[str, Any] = {field.name: field for field in model._meta.sorted_fields}
    return fields


# The module in `tables` with the model of each table.
STATE: Final = {
    "list": "tasks",
    "task": "tasks",
    "edge": "tasks",
    "log": "tasks",
    "state": "tasks",
    "memory": "tasks",
    "claim": "tasks",
    "ask": "agents",
    "agent": "agents",
    "human_message": "agents",
    "session": "agents",
    "stuck": "agents",
    "job": "jobs",
    "run": "jobs",
    "check_definition": "jobs",
    "check_run": "jobs",
    "task_check": "jobs",
    "settings": "jobs",
    "work": "work",
    "auto": "work",
}


@cache
def model_of(table: str) -> type[Model]:
    """Return the model of a table of `STATE`, whose module is imported on first use: a command needs few of them."""
    module = import_module(f"tui_tasks.core.schema.tables.{STATE[table]}")
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
    hash = BlobField()

    class Meta:
        table_name = "journal"


class StoredReplyRow(Model):
    """The reply to a request that carried an idempotency key (docs: protocol, section 2)."""

    agent = TextField()
    key = TextField()
    fingerprint = TextField()
    reply = TextField()
    at = BigIntegerField()

    class Meta:
        table_name = "kept_reply"
        primary_key = CompositeKey("agent", "key")


class ViewRow(Model):
    """What a screen remembers for the human: last looked, saved filters. No part of the state."""

    key = TextField(primary_key=True)
    value = JsonField()

    class Meta:
        table_name = "view"


class UnfinishedChangeRow(Model):
    """A change some of whose steps are committed (`core.commit.unfinished`). No part of the state."""

    change = BigIntegerField(primary_key=True)
    actor = TextField()
    lock = TextField()

    class Meta:
        table_name = "unfinished_change"
