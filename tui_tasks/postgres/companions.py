"""Applies to a replica what its server has and it lacks: entries, and their companions, rows that must not part from
the entries that they came with and that the server has beside the journal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from tui_tasks import clock
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.maintenance.replay import apply_entry
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import SECOND

NUMBER: Final = "server:number"
"""The view of a replica that has the number of the newest companion that was applied."""

# An integer of SQLite.
_Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Table(NamedTuple):
    """The columns of a table's key, the other columns, and which rows travel."""

    keys: dict[str, Any]
    others: dict[str, Any]
    condition: str = ""


_TABLES: Final = {
    "kept_reply": _Table({"agent": str, "key": str}, {"fingerprint": str, "reply": str, "at": _Integer}),
    "session_name": _Table({"program": str, "session": str}, {"agent": str, "part": str}),
    "taken_in": _Table({"name": str}, {"at": _Integer}),
    # Git's counts, which only the machine with the worktree can know.
    "work_count": _Table(
        {"uid": str},
        {
            "head": str | None,
            **dict.fromkeys(("ahead", "behind", "files", "insertions", "deletions", "dirty"), _Integer | None),
            "near": str | None,
            "at": _Integer,
        },
    ),
    # That a question was sent; its answers are taken by the machine that sent it.
    "phone_message": _Table({"ask": str}, {"sent_at": _Integer | None}),
    "asker": _Table({"ask": str}, {"boot": str, "namespace": str, "pid": _Integer, "born": str}),
    # Who holds a run; that it is still there is known to its machine alone.
    "beat": _Table(
        {"run_uid": str},
        {"supervised": _Integer, "boot": str, "namespace": str, "pid": _Integer, "born": str, "at": _Integer},
    ),
    # A lost machine's are taken over and undone by another.
    "unfinished_change": _Table({"change": _Integer}, {"actor": str, "lock": str}),
    # When leases end. All other keys are of one machine's screen.
    "view": _Table(
        {"key": Annotated[str, msgspec.Meta(pattern="^until:")]},
        {"value": Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,18}\Z")]},
        "{row}.key >= 'until:' AND {row}.key < 'until;'",
    ),
}
_read_key = msgspec.json.Decoder(list[str | int]).decode
_read_value = msgspec.json.Decoder(dict[str, str | int | float | bool | None]).decode


def collect(db: Database) -> None:
    """Let a connection collect, by triggers of its own, the changes of such rows."""
    for statement in _statements():
        db.sql(statement)


def _statements() -> Iterator[str]:
    yield "CREATE TEMP TABLE IF NOT EXISTS outgoing (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT)"
    for table, (keys, others, condition) in _TABLES.items():
        for event, row in (("INSERT", "NEW"), ("DELETE", "OLD")):
            key = f"json_array({', '.join(f'{row}.{name}' for name in keys)})"
            pairs = ", ".join(f"'{name}', NEW.{name}" for name in others)
            value = f"json_object({pairs})" if event == "INSERT" else "NULL"
            when = f"WHEN {condition.format(row=row)} " if condition else ""
            yield (
                f"CREATE TEMP TRIGGER IF NOT EXISTS outgoing_{table}_{event} AFTER {event} ON main.{table} {when}"
                f"BEGIN INSERT INTO outgoing VALUES ('{table}', {key}, {value}); END"
            )


def collected(db: Database) -> list[tuple[str, str, str | None]]:
    """Return what was collected since `forget`, as (kind, key, value)."""
    rows: list[tuple[str, str, str | None]] = db.sql("SELECT kind, key, value FROM outgoing ORDER BY rowid").fetchall()
    return rows


def forget(db: Database) -> None:
    """Forget what was collected."""
    db.sql("DELETE FROM outgoing")


def number(db: Database) -> int:
    """Return the number of the newest companion that was applied."""
    return int(local_values.get(db, NUMBER) or 0)


def put_number(db: Database, newest: int) -> None:
    """Set the number of the newest companion that was applied, within the open write transaction."""
    local_values.put_within(db, NUMBER, newest)


def forget_number(db: Database) -> None:
    """Make what was a replica one machine's database, within the open write transaction."""
    db.sql("DELETE FROM view WHERE key = ?", (NUMBER,))


def apply(db: Database, rows: Iterable[tuple[str, str, str | None, int]]) -> None:
    """Apply rows (kind, key, value, number) of the server, oldest first, within the open write transaction.

    A role may write any text there. What is no row of its table is passed over, on every machine alike.
    """
    before = newest = number(db)
    for kind, key, value, its_number in rows:
        if its_number > newest:
            with contextlib.suppress(msgspec.DecodeError, ValueError, sqlite3.IntegrityError):
                _put(db, kind, key, value)
            newest = its_number
    if newest != before:
        put_number(db, newest)


def _put(db: Database, table: str, key: str, value: str | None) -> None:
    if table not in _TABLES:
        return
    keys, others, _ = _TABLES[table]
    # The names of columns are never a role's.
    row = {name: msgspec.convert(held, keys[name]) for name, held in zip(keys, _read_key(key), strict=True)}
    fields = None if value is None else _read_value(value)
    named = tuple(row.values())
    if fields is not None:
        row |= {name: msgspec.convert(fields[name], kind) for name, kind in others.items() if name in fields}
    db.sql(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keys)}", named)
    if fields is not None:
        marks = ", ".join("?" * len(row))
        db.sql(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


class JournalEnd(NamedTuple):
    """The end of the server's journal; see `server.sql`."""

    seq: int
    hash: bytes
    passed: int
    now: int
    number: int
    journal: int
    needs: str


class News(NamedTuple):
    """What a replica lacks.

    Attributes:
        head: the end of the server's journal.
        after: the newest entry of the replica.
        entries: rows of the journal after it, oldest first.
        companions: rows (kind, key, value, number).
        is_complete: whether this is all until the end of the journal. Companions are complete only then.
    """

    head: JournalEnd
    after: int
    entries: list[tuple[Any, ...]]
    companions: list[tuple[Any, ...]]
    is_complete: bool

    @property
    def is_cut(self) -> bool:
        """Whether the server has dropped entries that the replica lacks."""
        return (self.entries[0][0] if self.entries else self.head.seq + 1) > self.after + 1


def apply_news(db: Database, news: News, ahead: int) -> None:
    """Apply news within the open write transaction.

    `ahead`: by how much the server's clock is ahead of this machine's, in microseconds.

    Raises:
        StorageFailed: the replica belongs to another history.
    """
    seq, last = journal.head(db)
    for row in news.entries:
        if row[0] <= seq:
            continue
        if row[0] != seq + 1 or (linked := journal.append(db, last, row[:-1])) != bytes(row[-1]):
            raise other_history(db.path)
        seq, last = seq + 1, linked
        apply_entry(db, row)
    if not news.is_complete:
        return
    apply(db, news.companions)
    _advance(db, news.head.passed, ahead)


def _advance(db: Database, passed: int, ahead: int) -> None:
    """Let the database's own instant, by which leases end, be no earlier than on other machines."""
    mark, up = database_clock.mark(db), clock.uptime()
    here = 0 if mark is None else mark.database_now
    if mark is not None and mark.machine == up.machine:
        here += max(0, up.up - mark.up)
    if passed and (mark is None or here + SECOND < passed):
        database_clock.put_mark(db, database_clock.Mark(up.machine, up.up, passed, clock.now() + ahead))


def other_history(path: str) -> StorageFailed:
    """Return the error of a replica that does not fit its server."""
    return StorageFailed(
        f"{path} does not fit the server's journal: delete it, and it is built again from the server", retryable=False
    )
