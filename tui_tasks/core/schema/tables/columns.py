"""The kinds of columns of the tables, beside those of Peewee."""

from __future__ import annotations

from typing import Any

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
