"""The first schema: every table and index, and the dialects' own lists."""

from __future__ import annotations

import uuid
from typing import Any

from tui_tasks.core import models, vocab
from tui_tasks.core.database import Database
from tui_tasks.core.indexes import indexes
from tui_tasks.core.orm import SqliteDatabase
from tui_tasks.core.statements import Statement, slot

_NAMESPACE = uuid.UUID("6d1b2f0a-3c53-4a86-9a0e-5e0c35d2c7a1")


def dialect_list_uid(name: str) -> str:
    """The uid of a dialect's own list: the same in every database."""
    return str(uuid.uuid5(_NAMESPACE, name))


def first_schema(db: Database) -> None:
    """Make the tables and indexes as `models` has them, and the dialects' own lists (contract, section 5)."""
    writer: Any = SqliteDatabase(None)
    with writer.bind_ctx(models.ALL):
        for model in models.ALL:
            schema: Any = model._schema  # type: ignore[attr-defined]  # Peewee's stubs leave it out
            for context in (schema._create_table(safe=False), *schema._create_indexes(safe=False)):
                sql, _ = context.query()
                db.sql(sql)
        for index in indexes():
            sql, _ = writer.get_sql_context().sql(index).query()
            db.sql(sql)
    fields = models.columns(models.ListRow)
    insert = Statement(models.ListRow.insert({field: slot(name) for name, field in fields.items()}))
    for number, name in enumerate(vocab.DIALECT_LISTS, 1):
        values = {column: field.default for column, field in fields.items()}
        values |= {"id": number, "uid": dialect_list_uid(name), "kind": "list", "name": name, "origin": name}
        values |= {"created_at": 0, "one_in_progress": int(name == "tasklist")}
        db.run(insert, values)
