"""The tables, as Peewee models, a module for each subject. Instants are integers: microseconds, UTC.

The models are bound to no database: `statements` compiles queries from them once, and `database` runs the SQL. `apply`
maintains what is derived (counts, `waiting_on`, `solo`, the edges).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from tui_tasks.core.engine.orm import BigIntegerField, Field, IntegerField, Model, TextField


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
