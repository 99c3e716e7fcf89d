"""The journal: an entry for every change, chained by hash, append-only; and which entry was the newest at an instant.

An entry's hash covers the entry before it and all its own columns, so that no byte can be changed unnoticed
(`database_findings.broken_link`).

Instants are microseconds, UTC.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cache
from hashlib import sha256
from itertools import compress
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.errors import CursorExpired
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import TaskRow, columns
from tui_tasks.core.snapshots import Entry, Task, completed_image, full_task, reader

# A text with more characters is left out of an entry's image; `event_task` finds it.
LONG_TEXT: Final = 1_000
LONG_FIELDS: Final = ("description", "result", "metadata")

COLUMNS = tuple(columns(J).values())
COLUMN_NAMES: Final = ", ".join(column.column_name for column in COLUMNS)
"""The columns as SQL, for the journal of this machine and of a server."""
_HEAD = Statement(lambda: J.select(J.seq, J.hash).order_by(J.seq.desc()).limit(1))
_OLDEST = Statement(lambda: J.select(J.seq).order_by(J.seq).limit(1))
_SINCE = Statement(lambda: J.select(*COLUMNS).where(J.seq > slot("since")).order_by(J.seq).limit(slot("limit")))
_LATEST = Statement(lambda: J.select(*COLUMNS).order_by(J.seq.desc()).limit(slot("limit")))
_TASK_SINCE = Statement(
    lambda: (
        J.select(*COLUMNS)
        .where((J.task == slot("task")) & (J.seq > slot("since")))
        .order_by(J.seq)
        .limit(slot("limit"))
    )
)
_TASK_LATEST = Statement(
    lambda: J.select(*COLUMNS).where(J.task == slot("task")).order_by(J.seq.desc()).limit(slot("limit"))
)
_LATER_OLD = Statement(
    lambda: (
        J.select(J.old)
        .where((J.task == slot("task")) & (J.seq > slot("seq")) & (J.entity == "task") & J.old.is_null(False))
        .order_by(J.seq)
    )
)
_BEGUN = Statement(lambda: J.select(J.actor, J.undoes).where(J.seq == slot("seq")))
_UNDONE_BY = Statement(lambda: J.select(J.change).where(J.undoes == slot("change")).distinct())
_PART = Statement(
    lambda: (
        J.select(J.seq, J.change, J.kind, J.uid, J.task, value_of(J.new, "rank").is_null(False))
        .where((J.actor == slot("actor")) & (J.seq > slot("after")))
        .order_by(J.seq)
        .limit(slot("limit"))
    )
)
_NUMBER = Statement(lambda: TaskRow.select(TaskRow.id).where(TaskRow.uid == slot("task")))
_ONE = Statement(lambda: J.select(*COLUMNS).where(J.seq == slot("seq")))

_read = reader(Entry, J)
UNREADABLE: Final = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
"""What reading values raises that no program wrote. A server's journal may have such values (`maintenance.replay`)."""
_encode = msgspec.json.Encoder().encode


def read_entry(db: Database, row: Any) -> Entry:
    """Build the snapshot of an entry from its row; the image of a new task is read from the task's own row.

    Values that cannot be read are absent.
    """
    try:
        return _with_image(db, _read((*as_text(row[:-1]), row[-1])))
    except UNREADABLE:
        return _read((*as_text(row[:9]), None, None, None, None, row[-1]))


def _with_image(db: Database, entry: Entry) -> Entry:
    image = entry.image
    if image is None:
        return entry
    if "uid" in image or entry.new is None:
        # Entries of the first versions have no number in them.
        number = image.get("number") or db.one(_NUMBER, task=entry.task)[0]
        return msgspec.structs.replace(entry, image=completed_image(image, number))
    made = full_task(Task(**entry.new), image["list"], image.get("checks", ()), image.get("works", ()))
    return msgspec.structs.replace(entry, image=made)


def value_of(column: Any, name: str) -> Any:
    """Return the expression for a value of a JSON column, NULL where the column is no JSON."""
    return fn.IIF(fn.json_valid(column), fn.json_extract(column, f"$.{name}"), None)


def values_of(text: str | None) -> dict[str, Any]:
    """Return the values of a JSON column; none where it is no object."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except msgspec.DecodeError:
        return {}


def as_text(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its blobs as text: an altered entry may hold a blob where a text was
    (`database_findings.broken_link`).
    """
    if bytes not in map(type, row):
        return row
    return tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in row)


def hash_after(previous: bytes, values: tuple[Any, ...]) -> bytes:
    """Return the hash of an entry: SHA-256 of the one before it and the entry's other columns as JSON."""
    return sha256(previous + _encode(values)).digest()


def append(db: Database, previous: bytes, values: tuple[Any, ...]) -> bytes:
    """Write one entry and return its hash. `values` are the other columns in their order, JSON ones as text."""
    hashed = hash_after(previous, values)
    # sqlite3 binds these exact types, but not None, without searching for an adapter.
    row = (*values, bytearray(hashed))
    db.run(_insert(tuple([value is not None for value in row])), row)
    return hashed


@cache
def _insert(has_value: tuple[bool, ...]) -> Statement:
    """Return the statement for the columns that have a value."""
    fields = columns(J)
    return Statement(
        lambda: J.insert({field: slot(name) for name, field in compress(fields.items(), has_value)}), row=(*fields,)
    )


def head(db: Database) -> tuple[int, bytes]:
    """Return the newest entry's seq and hash; (0, b"") if there is none."""
    row = db.one(_HEAD)
    return (row[0], bytes(row[1])) if row else (0, b"")


def newest(db: Database) -> int:
    """Return the newest entry's seq; 0 if there is none."""
    return head(db)[0]


def oldest(db: Database) -> int:
    """Return the oldest entry's seq; 1 if there is none."""
    row = db.one(_OLDEST)
    return row[0] if row else 1


def since(db: Database, seq: int, limit: int, task: str | None = None) -> list[Entry]:
    """Return the oldest `limit` entries after `seq`, oldest first; with `task` only those about it.

    Raises:
        CursorExpired: entries after `seq` were compacted away.
    """
    refuse_compacted(db, seq)
    if task is None:
        rows = db.all(_SINCE, since=seq, limit=limit)
    else:
        rows = db.all(_TASK_SINCE, task=task, since=seq, limit=limit)
    return [read_entry(db, row) for row in rows]


def refuse_compacted(db: Database, seq: int) -> None:
    """Refuse a cursor whose following entries were compacted away.

    Raises:
        CursorExpired: entries after `seq` were compacted away.
    """
    first = oldest(db)
    if seq + 1 < first:
        raise CursorExpired(f"events before {first} were compacted away: take a snapshot", oldest=first)


def each_since(db: Database, seq: int, limit: int, task: str | None = None) -> Generator[Entry, None, None]:
    """Yield the entries of `since` one by one, in a transaction, as a few entries can have many megabytes.

    Raises:
        CursorExpired: entries after `seq` were compacted away.
    """
    refuse_compacted(db, seq)
    with closing(
        db.each(_SINCE, since=seq, limit=limit)
        if task is None
        else db.each(_TASK_SINCE, task=task, since=seq, limit=limit)
    ) as rows:
        yield from (read_entry(db, row) for row in rows)


def each_latest(db: Database, limit: int, task: str | None) -> Generator[Entry, None, None]:
    """Yield the newest `limit` entries, newest first, in a transaction; with `task` only those about it."""
    with closing(
        db.each(_LATEST, limit=limit) if task is None else db.each(_TASK_LATEST, task=task, limit=limit)
    ) as rows:
        yield from (read_entry(db, row) for row in rows)


def latest(db: Database, limit: int, task: str | None = None) -> list[Entry]:
    """Return the newest `limit` entries, oldest first; with `task` only those about it."""
    rows = db.all(_LATEST, limit=limit) if task is None else db.all(_TASK_LATEST, task=task, limit=limit)
    return [read_entry(db, row) for row in reversed(rows)]


class UndoColumns(msgspec.Struct, frozen=True, gc=False):
    """The columns of an entry that undo needs; `has_rank`: whether the entry set its task's rank."""

    seq: int
    kind: str
    uid: str
    task: str | None
    has_rank: bool


_PAGE: Final = 1_000
# How many entries are searched for the next step of a change, as its agent may write others on another channel.
_APART: Final = 10_000


def of_change(db: Database, change: int) -> Iterator[list[UndoColumns]]:
    """Yield the entries of one request or batch in pages, oldest first. Entries of others may lie between, so pages may
    be empty.
    """
    begun = db.one(_BEGUN, seq=change)
    if begun is None:
        return
    after, apart = change - 1, 0
    while apart < _APART and (rows := db.all(_PART, actor=begun[0], after=after, limit=_PAGE)):
        entries = [
            UndoColumns(seq, kind, uid, task, bool(ranked)) for seq, of, kind, uid, task, ranked in rows if of == change
        ]
        yield entries
        apart = 0 if entries else apart + len(rows)
        after = rows[-1][0]


def each_of_change(db: Database, change: int) -> Iterator[UndoColumns]:
    """Yield the entries of one request or batch one by one, oldest first."""
    return (entry for page in of_change(db, change) for entry in page)


def undoes(db: Database, change: int) -> int | None:
    """Return the change that an undo reverted; None if the change is no undo."""
    begun = db.one(_BEGUN, seq=change)
    return begun[1] if begun is not None else None


def undone_by(db: Database, change: int) -> Entry | None:
    """Return the first entry of the undo that took a change back; None if the change stands."""
    for (by,) in db.all(_UNDONE_BY, change=change):
        if stands(db, by):
            return entry(db, by)
    return None


def stands(db: Database, change: int) -> bool:
    """Return whether a change has not been undone."""
    return undone_by(db, change) is None


def entry(db: Database, seq: int) -> Entry:
    """Return the entry with that seq, which must exist."""
    return read_entry(db, db.one(_ONE, seq=seq))


def event_task(db: Database, entry: Entry) -> dict[str, Any] | None:
    """Return the task of an entry as it was after it, with the long texts that the entry omits."""
    image = entry.image
    if image is None:
        return None
    absent = [name for name in LONG_FIELDS if name not in image]
    if not absent:
        return image
    values: dict[str, Any] = {name: entry.new[name] for name in absent if entry.new and name in entry.new}
    with closing(db.each(_LATER_OLD, task=entry.task, seq=entry.seq)) as later:
        for (old,) in later:
            earlier = values_of(old)
            values = {**{name: earlier[name] for name in absent if name in earlier}, **values}
            if len(values) == len(absent):
                break
    if len(values) < len(absent):
        row = db.one(_LONG_NOW, task=entry.task)
        now = dict(zip(LONG_FIELDS, row or (None, None, None), strict=True))
        for name in absent:
            value = now[name]
            values.setdefault(name, msgspec.json.decode(value) if value and name != "description" else value)
    return {name: values[name] if name in values else image[name] for name in (*image, *absent)}


_LONG_NOW = Statement(
    lambda: TaskRow.select(*(columns(TaskRow)[name] for name in LONG_FIELDS)).where(TaskRow.uid == slot("task"))
)

# How many entries are searched at a time for later instants, which stand there if the clock was set back.
STRETCH: Final = 2_000

_AT = Statement(lambda: J.select(J.at).where(J.seq >= slot("seq")).order_by(J.seq).limit(1))
_ANY_LATER = Statement(
    lambda: (
        J.select(J.seq)
        .where((J.seq > slot("low")) & (J.seq <= slot("high")) & (J.at >= slot("at")))
        .order_by(J.seq)
        .limit(1)
    )
)


def seq_before(db: Database, instant: int) -> int:
    """Return a seq up to which all entries are earlier than an instant, usually the last such seq; 0 without one."""
    return _before_later(db, _by_bisection(db, instant), instant)


def _by_bisection(db: Database, instant: int) -> int:
    """Return the last seq before an instant, as if the clock was never set back."""
    low, high = oldest(db), newest(db) + 1
    while low < high:
        middle = (low + high) // 2
        if db.one(_AT, seq=middle)[0] < instant:
            low = middle + 1
        else:
            high = middle
    return low - 1


def _before_later(db: Database, seq: int, instant: int) -> int:
    """Return `seq`, or a lower one if the clock was set back, so that entries before `seq` have later instants."""
    while seq > 0 and db.one(_ANY_LATER, low=seq - STRETCH, high=seq, at=instant):
        seq -= STRETCH
    return max(seq, 0)


_STATUS_SET = Statement(
    lambda: (
        J.select(J.actor)
        .where(
            (J.task == slot("task"))
            & (J.seq < slot("before"))
            & (J.entity == "task")
            & value_of(J.new, "status").is_null(False)
        )
        .order_by(J.seq.desc())
        .limit(1)
    )
)


def status_set_by(db: Database, task: str, before: int) -> str | None:
    """Return who set a task's status last before a seq; None if it was compacted away."""
    row = db.one(_STATUS_SET, task=task, before=before)
    return row[0] if row is not None else None


# How many entries from an instant on are searched for one that was written then.
_NEAR: Final = 10_000


def seq_of(db: Database, kind: str, uid: str, at: int) -> int | None:
    """Return the seq of the entry of that kind about a row, written at an instant; None if it was compacted away."""
    start = _by_bisection(db, at)
    found = _first_from(db, start, kind, uid)
    if found is None and (earlier := _before_later(db, start, at)) < start:
        # The clock was set back.
        found = _first_from(db, earlier, kind, uid)
    return found


def _first_from(db: Database, start: int, kind: str, uid: str) -> int | None:
    seq: int | None = db.scalar(
        "SELECT seq FROM journal WHERE seq > ? AND seq <= ? AND kind = ? AND uid = ? LIMIT 1",
        (start, start + _NEAR, kind, uid),
    )
    return seq
