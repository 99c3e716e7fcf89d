"""Values in the tables that this program never writes, as of a row that was changed by other means; by `doctor`, and
where something else fails unexpectedly, which they may be the cause of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from tui_tasks.core import schema, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.engine.orm import BlobField, Field, FloatField, IntegerField, Model
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance import backup
from tui_tasks.core.schema import agent_tables, job_tables, record_tables, tables
from tui_tasks.core.schema.tables import JsonField, columns

_MAX: Final = 10
"""The most rows of a table that are reported."""
_ADVICE: Final = ". Restore a backup"
_DAY: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_WORDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("task", "status"): vocab.STATUSES,
    ("work", "state"): vocab.WORK_STATES,
}


def wrong_values(db: Database) -> Iterator[str]:
    """Yield a sentence for each value of another type than its column's, or of another form.

    Raises:
        StorageFailed: the database cannot be read.
    """
    for module in (tables, record_tables, agent_tables, job_tables):
        models = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Model))
        for model in models:
            if model is not Model:
                yield from _of_table(db, model)


def _of_table(db: Database, model: type[Model]) -> Iterator[str]:
    table, fields = model._meta.table_name, columns(model)
    tests = [(name, test, what) for name, field in fields.items() for test, what in _tests(table, name, field)]
    cases = " ".join(f"WHEN {test} THEN {at}" for at, (_, test, _) in enumerate(tests))
    key = next(name for name in ("id", "seq", "uid", *fields) if name in fields)
    rows = db.sql(f"SELECT {key}, CASE {cases} END AS wrong FROM {table} WHERE wrong IS NOT NULL LIMIT {_MAX}")
    for number, at in rows.fetchall():
        name, _, what = tests[at]
        row = f"task #{number}" if table == "task" else f"row {number} of {table}"
        yield f"the {name} of {row} {what}{_ADVICE}"


def _tests(table: str, name: str, field: Field) -> Iterator[tuple[str, str]]:
    """Yield conditions in SQL under which a value is wrong, and how it is."""
    present = f"{name} IS NOT NULL"
    if not field.null:
        yield f"{name} IS NULL", "is missing"
    if isinstance(field, IntegerField):
        yield f"{present} AND typeof({name}) <> 'integer'", "is no whole number"
    elif isinstance(field, FloatField):
        yield f"{present} AND typeof({name}) NOT IN ('real', 'integer')", "is no number"
    elif isinstance(field, BlobField):
        yield f"{present} AND typeof({name}) <> 'blob'", "is no hash"
    else:
        yield f"{present} AND typeof({name}) <> 'text'", "is no text"
    if isinstance(field, JsonField):
        yield f"{present} AND NOT json_valid({name})", "is no JSON"
        if field.default in ("[]", "{}"):
            kind, what = ("array", "list") if field.default == "[]" else ("object", "object")
            yield f"json_type({name}) <> '{kind}'", f"is no {what} in JSON"
    if (words := _WORDS.get((table, name))) is not None:
        yield f"{name} NOT IN ({', '.join(map(repr, words))})", f"is none of {', '.join(words)}"
    if name == "due":
        yield f"{present} AND {name} NOT GLOB '{_DAY}*'", "is no date"


def damage(path: str) -> str:
    """Return what is wrong with the values of a database, for people; empty if nothing is."""
    try:
        db = schema.opened(path, read_only=True)
    except (DatabaseRefused, StorageFailed):
        return ""
    try:
        return damage_of(db)
    finally:
        db.close()


def damage_of(db: Database) -> str:
    """Return the same of a database that is open."""
    try:
        first = next(chain(wrong_values(db), backup.contradictions(db)), "")
    except READ_ERRORS as error:
        first = str(error)
    if not first:
        return ""
    wrong = first.removesuffix(_ADVICE)
    return f"{db.path} is damaged: {wrong}. `tui-tasks doctor` lists all damage, `tui-tasks restore FILE` ends it"
