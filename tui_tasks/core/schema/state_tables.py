"""The tables that replaying the journal must reproduce, by the name that journal entries use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from tui_tasks.core.engine.orm import Model

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
    "session": "sessions",
    "stuck": "agents",
    "job": "jobs",
    "run": "jobs",
    "check_definition": "checks",
    "check_run": "checks",
    "task_check": "checks",
}


@cache
def model_of(table: str) -> type[Model]:
    """Return the model of a table of `STATE`, whose module is imported on first use: a command needs few of them."""
    module = import_module(f"tui_tasks.core.schema.tables.{STATE[table]}")
    models = (found for found in vars(module).values() if isinstance(found, type) and issubclass(found, Model))
    return next(model for model in models if model is not Model and model._meta.table_name == table)
