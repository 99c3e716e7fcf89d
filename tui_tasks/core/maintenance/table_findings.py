"""What is wrong in the tables by themselves, as where a row was changed by hand: values that this program never writes,
rows that belong to nothing, counts that do not fit. `doctor` lists it; an unexpected error names the first of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from tui_tasks.core import schema, vocab
from tui_tasks.core.agent_snapshots import Ask, CheckDefinition, CheckPlace, Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.engine.orm import BlobField, Field, FloatField, IntegerField, Model
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.read.agents.session_queries import SessionActivity
from tui_tasks.core.rules import recorded_settings
from tui_tasks.core.schema import agent_tables, job_tables, record_tables, tables
from tui_tasks.core.schema.tables import JsonField, columns
from tui_tasks.core.snapshots import Entry, SavedState, Task
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.unjournaled.local_values import Looked

_MAX: Final = 10
"""The most rows of a table that are reported."""
_ADVICE: Final = ". Restore a backup"
SMALL: Final = 16 << 20
"""Bytes that are searched in less than half a second."""
_DAY: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_WORDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("task", "status"): vocab.STATUSES,
    ("work", "state"): vocab.WORK_STATES,
}
_LOCAL_VALUES: Final[Mapping[str, Any]] = {
    local_values.SEEN: int,
    local_values.HIDDEN: dict[str, int],
    local_values.UNSEEN: dict[str, Any],
    local_values.LOOKED: Looked,
}

# Of each table with JSON: what its rows are read as, whose types say what the JSON may be.
_SNAPSHOTS: Final[Mapping[str, type]] = {
    "journal": Entry,
    "task": Task,
    "state": SavedState,
    "ask": Ask,
    "activity": SessionActivity,
    "work": Work,
    "job": Job,
    "check_definition": CheckDefinition,
}
_JSON_TYPES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "integer",
    dict: "object",
    **dict.fromkeys((tuple, list, CheckPlace), "array"),
}
_NAMES: Final = {"array": "a list", "object": "an object"}


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
    for key, kind in _LOCAL_VALUES.items():
        try:
            msgspec.convert(local_values.get(db, key), kind | None)
        except (TypeError, ValueError, msgspec.MsgspecError):
            yield f"the field value of row {key} of view is not what this program writes{_ADVICE}"
    try:
        recorded_settings.recorded(db)
    except (TypeError, ValueError, msgspec.MsgspecError):
        yield f"the row of settings is not what this program writes{_ADVICE}"


def _of_table(db: Database, model: type[Model]) -> Iterator[str]:
    table, fields = model._meta.table_name, columns(model)
    tests = [(name, test, what) for name, field in fields.items() for test, what in _tests(table, name, field)]
    cases = " ".join(f"WHEN {test} THEN {at}" for at, (_, test, _) in enumerate(tests))
    key = next(name for name in ("id", "seq", "uid", *fields) if name in fields)
    shown = f"CASE typeof({key}) WHEN 'blob' THEN quote({key}) ELSE {key} END"
    rows = db.sql(f"SELECT {shown}, CASE {cases} END AS wrong FROM {table} WHERE wrong IS NOT NULL LIMIT {_MAX}")
    wrong = {number: tests[at] for number, at in rows.fetchall()}
    if len(wrong) < _MAX:
        unread = chain.from_iterable(
            _unread(db, table, shown, name, field) for name, field in fields.items() if isinstance(field, JsonField)
        )
        for number, name in islice(unread, _MAX - len(wrong)):
            wrong.setdefault(number, (name, "", "has JSON that this program cannot read"))
    for number, (name, _, what) in wrong.items():
        row = f"task #{number}" if table == "task" else f"row {number} of {table}"
        yield f"the field {name} of {row} {what}{_ADVICE}"


def _unread(db: Database, table: str, shown: str, name: str, field: Field) -> Iterator[tuple[Any, str]]:
    """Yield the rows whose JSON SQLite takes and msgspec does not, as `"\\ud800"` and `9e999`."""
    decode = msgspec.json.Decoder(_type_of(table, field)).decode
    rows = db.sql(f"SELECT {shown}, CAST({name} AS BLOB) FROM {table} WHERE length({name}) > 2 AND json_valid({name})")
    for number, value in rows:
        try:
            decode(value)
        except (ValueError, RecursionError, msgspec.MsgspecError):
            yield number, name


def _tests(table: str, name: str, field: Field) -> Iterator[tuple[str, str]]:
    """Yield conditions in SQL under which a value is wrong, and how it is."""
    present = f"{name} IS NOT NULL"
    if not field.null:
        yield f"{name} IS NULL", "is missing"
    if isinstance(field, IntegerField):
        yield f"{present} AND typeof({name}) <> 'integer'", "is not a whole number"
    elif isinstance(field, FloatField):
        yield f"{present} AND typeof({name}) NOT IN ('real', 'integer')", "is not a number"
    elif isinstance(field, BlobField):
        yield f"{present} AND typeof({name}) <> 'blob'", "is not a hash"
    else:
        yield f"{present} AND typeof({name}) <> 'text'", "is not text"
    if isinstance(field, JsonField):
        yield f"{present} AND NOT json_valid({name})", "is not JSON"
        yield from _json_tests(name, _type_of(table, field))
    if (words := _WORDS.get((table, name))) is not None:
        yield f"{name} NOT IN ({', '.join(map(repr, words))})", f"is not one of {', '.join(words)}"
    if name == "news":
        known = ", ".join(map(repr, columns(agent_tables.SessionRow)))
        yield f"EXISTS (SELECT 1 FROM json_each(news) WHERE key NOT IN ({known}))", "has an unknown part"
    if name == "due":
        yield f"{present} AND {name} NOT GLOB '{_DAY}*'", "is not a date"


def _type_of(table: str, field: Field) -> Any:
    """Return the type of a JSON field's values that are not null."""
    if table not in _SNAPSHOTS:
        return {"[]": list, "{}": dict}.get(field.default, Any)
    kind = get_type_hints(_SNAPSHOTS[table])[field.name]
    return next(one for one in get_args(kind) if one is not NoneType) if get_origin(kind) is UnionType else kind


def _json_tests(name: str, kind: Any) -> Iterator[tuple[str, str]]:
    """Yield conditions under which a JSON value is no list or object as its type says, or a part of it is wrong."""
    if json := _JSON_TYPES.get(get_origin(kind) or kind):
        yield f"json_type({name}) <> '{json}'", f"is not {_NAMES[json]} in JSON"
        if parts := _wrong_parts(name, kind):
            yield parts, "has a part of another type"


def _wrong_parts(value: str, kind: Any, depth: int = 0) -> str:
    """Return the condition under which a list or an object has a part of another type; empty if it may have any."""
    types = [one for one in get_args(kind) if one is not ...]
    inner = types[-1] if types else Any
    if (json := _JSON_TYPES.get(get_origin(inner) or inner)) is None:
        return ""
    part = f"part{depth}"
    deeper = _wrong_parts(f"{part}.value", inner, depth + 1)
    wrong = f"{part}.type <> '{json}'" + f" OR {deeper}" * bool(deeper)
    return f"EXISTS (SELECT 1 FROM json_each({value}) AS {part} WHERE {wrong})"


def contradictions(db: Database) -> Iterator[str]:
    """Yield a sentence for each table with rows that belong to nothing, and for each status that lists miscount."""
    yield from _orphans(db)
    yield from _miscounts(db)


_ORPHANS: Final = {
    "task": "list_id NOT IN (SELECT id FROM list)",
    "log": "task_uid NOT IN (SELECT uid FROM task)",
    "state": "uid NOT IN (SELECT uid FROM task)",
    "claim": "task_uid NOT IN (SELECT uid FROM task)",
    "edge": "task_uid NOT IN (SELECT uid FROM task)",
    "run": "job_uid NOT IN (SELECT uid FROM job)",
}


def _orphans(db: Database) -> Iterator[str]:
    for table, condition in _ORPHANS.items():
        number = db.scalar(f"SELECT count(*) FROM {table} WHERE {condition}")
        if number:
            yield f"{number} rows of {table} belong to nothing. Restore a backup"


def _miscounts(db: Database) -> Iterator[str]:
    for status in vocab.STATUSES:
        wrong = db.scalar(
            f"SELECT count(*) FROM list WHERE {status} <> "
            f"(SELECT count(*) FROM task WHERE list_id = list.id AND status = '{status}' AND deleted = 0)"
        )
        if wrong:
            yield f"{wrong} lists miscount what is {status}. Restore a backup"


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
    """Return the same of a database that is open, and the first altered entry where the tables are sound."""
    from tui_tasks.core.maintenance import journal_findings  # it imports this module

    try:
        first = next(chain(wrong_values(db), contradictions(db), journal_findings.altered(db)), "")
    except READ_ERRORS as error:
        first = str(error)
    if not first:
        return ""
    wrong = first.removesuffix(_ADVICE)
    return f"{db.path} is damaged: {wrong}. `tui-tasks doctor` lists all damage, `tui-tasks restore FILE` ends it"


def quick_damage_of(db: Database) -> str | None:
    """Return the same, quickly enough to be called at each error; None: the database is too large for that."""
    is_small = db.scalar("PRAGMA page_count") * db.scalar("PRAGMA page_size") <= SMALL
    return damage_of(db) if is_small else None
