"""`python -m tests.core.schema.new_database` writes `new.sql`: what all steps make, for a database that is new."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from tui_tasks.core import schema
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.open_checks import SCHEMA

FILE: Final = Path(schema.__file__).parent / "new.sql"


def by_steps(path: Path) -> Database:
    """A new database, which has taken one step after another."""
    db = Database(str(path))
    for version in range(1, SCHEMA + 1):
        for statement in schema.statements(version):
            db.sql(statement)
    return db


def text(db: Database) -> str:
    """The statements that make a database's tables, indexes and rows."""
    made = db.sql("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    found = [sql for _, _, sql in made]
    for table in (name for kind, name, _ in made if kind == "table"):
        names = [name for _, name, *_ in db.sql(f"PRAGMA table_info({table})")]
        rows = db.sql(f"SELECT {', '.join(f'quote({name})' for name in names)} FROM {table}")
        found += [f"INSERT INTO {table} ({', '.join(names)}) VALUES\n    ({', '.join(values)})" for values in rows]
    return "".join(f"{statement};\n" for statement in found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(by_steps(Path(folder, "new.db"))) as db:
        FILE.write_text(text(db), encoding="ascii")


if __name__ == "__main__":
    main()
