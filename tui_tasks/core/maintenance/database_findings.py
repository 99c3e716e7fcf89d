"""What `doctor` checks of a database: that SQLite can read it and it has all tables and indexes, the hash chain of its
journal, the values and counts of its tables, and its tables against a replay of the journal. An unexpected error names
the first of it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, cast, get_args, get_origin, get_type_hints

import msgspec

from tui_tasks.core import schema, vocab
from tui_tasks.core.agent_snapshots import Ask, CheckDefinition, CheckPlace, Work
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.commit.compaction import Base
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS, sqlite3
from tui_tasks.core.engine.orm import BlobField, Field, FloatField, IntegerField, Model, Statement, slot
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.read.agents.session_queries import SessionActivity
from tui_tasks.core.rules import recorded_settings
from tui_tasks.core.schema import agent_tables, job_tables, record_tables, tables
from tui_tasks.core.schema.tables import STATE, JsonField, columns, model_of
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.snapshots import Entry, SavedState, Task
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.unjournaled.local_values import Looked

_encode = msgspec.json.Encoder().encode
_TYPES: Final = {int, str, NoneType}
_COMPACTION_ENTRY = Statement(lambda: J.select(J.kind, J.new).where(J.seq == slot("seq")))
_MAX: Final = 10
"""The most rows that are reported: of a table, and of those that differ from the replay."""
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
    local_values.DISMISSED: dict[str, int],
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
_MADE: Final = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)")
_NAMES: Final = {"array": "a list", "object": "an object"}


def findings(db: Database) -> Iterator[str]:
    """Yield a sentence for each defect of a database."""
    yield from with_read_failure(_findings(db))


def with_read_failure(problems: Iterator[str]) -> Iterator[str]:
    """Yield findings; a failed read is the last of them, as altered values may have any type, or not be UTF-8."""
    try:
        yield from problems
    except (*READ_ERRORS, TypeError, ValueError, msgspec.MsgspecError) as error:
        yield f"not all of it can be read: {error.__cause__ or error}. Restore a backup"


def _findings(db: Database) -> Iterator[str]:
    for (said,) in db.sql("PRAGMA integrity_check(20)"):
        if said != "ok":
            yield f"SQLite finds it damaged: {said}. Restore a backup"
    yield from missing(db)
    yield from altered(db)
    yield from contradictions(db)


def missing(db: Database) -> Iterator[str]:
    """Yield a sentence for each table and index of the schema that a database lacks."""
    there = {(kind, name) for kind, name in db.sql("SELECT type, name FROM sqlite_master")}
    for statement in schema.statements("new"):
        if made := _MADE.match(statement):
            kind, name = made[1].lower(), made[2]
            if (kind, name) not in there:
                yield f"the {kind} {name} is missing{_ADVICE}"


def altered(db: Database) -> Iterator[str]:
    """Yield a sentence that names the first entry which does not follow from the one before it; nothing if all do."""
    broken = broken_link(db)
    if broken is not None:
        yield f"the journal was altered at or before entry {broken}. Compare it with a backup"


def broken_link(db: Database) -> int | None:
    """Return the seq of the first entry that does not follow from the one before it; None if all do.

    In a compacted journal, the compaction's record has the hash that the oldest entry follows from. While the old
    entries are still being deleted, the oldest is not verified; the last of them must have the recorded hash.
    """
    base = compaction.base(db)
    first, cut = journal.oldest(db), base.last if base else 0
    if first > cut + 1:
        return first
    previous = (base.hash if base else b"") if first == cut + 1 else None
    expected = first
    rows = db.sql(f"SELECT {journal.COLUMN_NAMES} FROM journal ORDER BY seq")
    try:
        if base and not _tells_of(db, base):
            return base.seq
        for row in rows:
            seq, hashed = row[0], row[-1]
            is_cut = base is not None and seq == cut
            # An altered value may have any type.
            if seq != expected or not isinstance(hashed, bytes) or (is_cut and hashed != cast(Base, base).hash):
                return int(seq)
            # JSON cannot tell a blob from the text that is its Base64, so a blob is refused before hashing.
            if not _TYPES.issuperset(map(type, row[:-1])):
                return int(seq)
            if previous is not None and journal.hash_after(previous, row[:-1]) != hashed:
                return int(seq)
            previous, expected = hashed, seq + 1
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        # A text was altered so that it is not UTF-8.
        return int(expected)
    return None


def _tells_of(db: Database, base: Base) -> bool:
    """Return whether the entry that should record the compaction does so."""
    row = db.one(_COMPACTION_ENTRY, seq=base.seq)
    expected_json = _encode({"last": base.last, "hash": base.hash.hex()}).decode()[:-1]
    return row is not None and row[0] == "journal.compacted" and str(row[1]).startswith(expected_json)


def wrong_values(db: Database) -> Iterator[str]:
    """Yield a sentence for each value of another type than its column's, or of another form.

    Raises:
        StorageFailed: the database cannot be read.
    """
    for module in (tables, record_tables, agent_tables, job_tables):
        models = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Model))
        for model in models:
            if model is not Model:
                yield from _wrong_in_table(db, model)
    for key, kind in _LOCAL_VALUES.items():
        try:
            msgspec.convert(local_values.get(db, key), kind | None)
        except (TypeError, ValueError, msgspec.MsgspecError):
            yield f"the field value of row {key} of view is not what this program writes{_ADVICE}"
    try:
        recorded_settings.recorded(db)
    except (TypeError, ValueError, msgspec.MsgspecError):
        yield f"the row of settings is not what this program writes{_ADVICE}"


def _wrong_in_table(db: Database, model: type[Model]) -> Iterator[str]:
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


# It reads annotations anew at each call, which takes longer than to search a small table.
_types_of = cache(get_type_hints)


def _type_of(table: str, field: Field) -> Any:
    """Return the type of a JSON field's values that are not null."""
    if table not in _SNAPSHOTS:
        return {"[]": list, "{}": dict}.get(field.default, Any)
    kind = _types_of(_SNAPSHOTS[table])[field.name]
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


AT_ONCE: Final = 100_000
"""The most entries to replay without being asked, which takes a few seconds."""


def is_quick(db: Database) -> bool:
    """Return whether there are few enough entries to replay them without being asked."""
    return journal.newest(db) - journal.oldest(db) < AT_ONCE


def differences(db: Database) -> Iterator[str]:
    """Yield a sentence for each row that differs from the replay. The journal itself must be sound."""
    with tempfile.TemporaryDirectory(prefix="tui-tasks-") as folder, db.transaction(write=False):
        other = schema.opened(str(Path(folder) / "replayed.db"))
        try:
            # The folder is deleted at the end of the check.
            other.sql("PRAGMA synchronous = off")
            replay(db, other)
            lines = (said for table in STATE for said in _differences(table, db, other))
            yield from (said for said, _ in zip(lines, range(_MAX), strict=False))
            if next(lines, None) is not None:
                yield "more rows differ from the journal"
        finally:
            other.close()


def _differences(table: str, db: Database, other: Database) -> Iterator[str]:
    mine, from_journal = _rows(table, db), _rows(table, other)
    row, by_journal = next(mine, None), next(from_journal, None)
    while row is not None or by_journal is not None:
        if by_journal is None or (row is not None and row[0] < by_journal[0]):
            assert row is not None
            yield _sentence(table, row[1], "is in the tables, but not by the journal")
            row = next(mine, None)
        elif row is None or by_journal[0] < row[0]:
            yield _sentence(table, by_journal[1], "is in the journal, but not in the tables")
            by_journal = next(from_journal, None)
        else:
            if row != by_journal:
                yield _sentence(table, row[1], f"differs from the journal ({_fields(row[1], by_journal[1])})")
            row, by_journal = next(mine, None), next(from_journal, None)


def _rows(table: str, db: Database) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield the rows of a table with their keys, in the order of the keys."""
    keys = _keys(model_of(table))
    cursor = db.sql(f"SELECT * FROM {table} ORDER BY {', '.join(keys)}")
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        fields = dict(zip(columns, row, strict=True))
        yield tuple(fields[key] for key in keys), fields


def _keys(model: type[Model]) -> list[str]:
    meta: Any = model._meta
    return [field.column_name for field in meta.get_primary_keys()]


def _fields(row: Mapping[str, Any], by_journal: Mapping[str, Any]) -> str:
    return ", ".join(name for name in row if row[name] != by_journal.get(name))


def _sentence(table: str, row: Mapping[str, Any], what: str) -> str:
    uid = row["uid"] if "uid" in row else row["task_uid"]
    return f"{table} {uid} {what}: it was changed by other means, or entries were cut off. Compare it with a backup"


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
    """Return `damage` of a database that is open, and the first altered entry where the tables are sound."""
    try:
        first = next(chain(missing(db), wrong_values(db), contradictions(db), altered(db)), "")
    except READ_ERRORS as error:
        first = str(error)
    if not first:
        return ""
    wrong = first.removesuffix(_ADVICE)
    return f"{db.path} is damaged: {wrong}. `tui-tasks doctor` lists all damage, `tui-tasks restore FILE` ends it"


def quick_damage_of(db: Database) -> str | None:
    """Return `damage_of`, quickly enough to be called at each error; None: the database is too large for that."""
    is_small = db.scalar("PRAGMA page_count") * db.scalar("PRAGMA page_size") <= SMALL
    return damage_of(db) if is_small else None
