"""Opens databases and brings their schema up to date. `PRAGMA user_version` is the version of a database's schema.

`N.sql` takes a database from version N - 1 to N. A released step is never edited. A step adds tables, columns and
indexes. A column that it adds has a default, which rows, journal entries and copies written earlier read as. What would
change rows is an operation, not a step: replaying the journal must give the same tables. docs: architecture, "A schema
step". `new.sql` is all steps in one, as SQLite reads the whole schema again for each column that a step adds; it is
written by `python -m tests.core.schema.new_database`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.open_checks import APPLICATION_ID, SCHEMA, refusing
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.installation import is_replica

NEW: Final = "new"


def statements(step: int | str) -> Iterator[str]:
    """Yield the SQL statements of the step that ends at a version, or of all (`NEW`), in order."""
    with open(os.path.join(os.path.dirname(__file__), f"{step}.sql"), encoding="ascii") as file:
        for statement in file.read().split(";\n"):
            if statement.strip():
                yield statement


def opened(path: str, *, read_only: bool = False, makes: bool = True) -> Database:
    """Open a database with its schema up to date; `makes`: create it if the file does not exist.

    Raises:
        DatabaseRefused: it cannot be used, and was left as it is.
    """
    kind: type[Database] = Database
    if is_replica(path):
        # The one place of the core that knows of servers.
        kind = import_module("tui_tasks.postgres.replica").Replica
    db = kind(path, read_only=read_only, makes=makes)
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: Database) -> None:
    """Bring the schema up to date: all missing steps in one transaction.

    Raises:
        DatabaseRefused: the database is not one of ours.
    """
    with refusing(db.path):
        version = db.scalar("PRAGMA user_version")
        if version < 0:
            raise DatabaseRefused(f"{db.path} is damaged (its schema has the number {version}); it was left as it is")
        if db.read_only:
            if version < SCHEMA:
                raise DatabaseRefused(
                    f"{db.path} is of an older version, and nothing is written here: open it once without --read-only, "
                    "as `tui-tasks ls` does"
                )
            return
        # Only now, as this writes, and a refused file is left as it is (docs: protocol, section 3).
        db.write_ahead()
        if version < SCHEMA:
            with db.transaction(write=True):
                _take_steps(db)


def _take_steps(db: Database) -> None:
    # Another process may have done the steps meanwhile.
    version = db.scalar("PRAGMA user_version")
    for step in range(version + 1, SCHEMA + 1) if version else [NEW]:
        for statement in statements(step):
            db.sql(statement)
    db.sql(f"PRAGMA application_id = {APPLICATION_ID}")
    db.sql(f"PRAGMA user_version = {SCHEMA}")
