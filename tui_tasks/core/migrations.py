"""The schema, step by step. `PRAGMA user_version` tells how many of the steps a database has had."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from tui_tasks.core import models, vocab
from tui_tasks.core.database import Database, refusing
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.fitness import APPLICATION_ID, SCHEMA
from tui_tasks.core.indexes import indexes
from tui_tasks.core.orm import SqliteDatabase
from tui_tasks.core.statements import Statement, slot

_NAMESPACE = uuid.UUID("6d1b2f0a-3c53-4a86-9a0e-5e0c35d2c7a1")


def dialect_list_uid(name: str) -> str:
    """The uid of a dialect's own list: the same in every database."""
    return str(uuid.uuid5(_NAMESPACE, name))


def _first_schema(db: Database) -> None:
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


STEPS: Final[tuple[Callable[[Database], None], ...]] = (_first_schema,)
assert len(STEPS) == SCHEMA


def opened(path: str, *, read_only: bool = False) -> Database:
    """Open a database, making it at first use, with its schema up to date.

    Raises:
        DatabaseRefused: it cannot be used, and was left as it is.
    """
    db = Database(path, read_only=read_only)
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: Database) -> None:
    """Bring the schema up to date, each step in a transaction of its own with the number it ends at.

    Raises:
        DatabaseRefused: the database is not one of ours.
    """
    with refusing(db.path):
        version = db.scalar("PRAGMA user_version")
        if version < 0:
            raise DatabaseRefused(f"{db.path} is damaged (its schema has the number {version}); it was left as it is")
        if db.read_only:
            if version < len(STEPS):
                raise DatabaseRefused(f"{db.path} is of an older version: open it once without --read-only")
            return
        # Only now: this writes, and a file that is refused is left as it is (contract, section 3).
        db.write_ahead()
        for number in range(version, len(STEPS)):
            with db.transaction(write=True):
                # Another process may have taken the step meanwhile.
                if db.scalar("PRAGMA user_version") == number:
                    STEPS[number](db)
                    db.sql(f"PRAGMA application_id = {APPLICATION_ID}")
                    db.sql(f"PRAGMA user_version = {number + 1}")
