"""Moves a whole journal: from a file to a server and back. A move that was cut off is continued by the next one.

The server checks the chain of hashes at each page; the tables are compared with a replay of the journal.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

from tui_tasks import clock
from tui_tasks.core.commit import compaction, database_clock, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.file_writes import sync_folder
from tui_tasks.core.errors import Conflict, DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance import backup, database_findings
from tui_tasks.core.maintenance.replay import apply_entry
from tui_tasks.core.operations import ChangeMachine
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.postgres import Report, companions, server_snapshots
from tui_tasks.postgres.journal_client import COMPANIONS
from tui_tasks.postgres.replica_files import this_machine
from tui_tasks.postgres.server_snapshots import Covered
from tui_tasks.postgres.team_server import first_line, only_row, prepare

Connection = psycopg.Connection[Any]
_OF_MACHINES: Final = ("settings", "check_definition", "check_run", "work", "auto")

MOVING: Final = "moving entries"
PAGE: Final = 1_000
_MAX_PAGE_CHARACTERS: Final = 8 << 20
_TYPES: Final = (
    *("bigint", "bigint", "text", "text", "text", "text", "text", "bigint", "bigint"),
    *("text", "text", "text", "text", "bytea"),
)
_APPEND: Final = (
    f"SELECT tui_tasks.append(%s, %s, {', '.join(f'%s::{name}[]' for name in _TYPES)}, 0, %s, "
    "ARRAY[]::text[], ARRAY[]::text[], ARRAY[]::text[])"
)


def to_server(source: Path, connection: Connection, report: Report) -> int:
    """Move a file's journal to a server that has none, or only a beginning of it; return the newest seq.

    The file is not changed.

    Raises:
        Conflict: the server has another journal.
        DatabaseRefused: the file or the server cannot be used.
        StorageFailed: one of them cannot be read or written.
    """
    if not source.exists():
        raise DatabaseRefused(f"no database at {source}")
    with _errors(), tempfile.TemporaryDirectory(prefix=".moving-", dir=source.parent) as folder:
        part = Path(folder) / "copy.db"
        with Store(str(source), read_only=True) as opened:
            opened.db.copy_to(str(part), backup.PAGES_A_STEP, None)
        with Store(str(part)) as copy:
            _refuse_unsound(copy.db, source)
            _change_machine(copy, is_to_server=True)
            prepare(connection)
            newest = _push(copy.db, connection, report)
            server_snapshots.strip(copy.db)
            # The processes that hold runs or wait for answers stay behind.
            copy.db.sql("DELETE FROM beat")
            copy.db.sql("DELETE FROM asker")
        _put_snapshot(part, connection, newest, report)
        return newest


def _push(db: Database, connection: Connection, report: Report) -> int:
    """Append the entries that the server has not; return the newest seq."""
    newest, base = journal.newest(db), compaction.base(db)
    mark = database_clock.mark(db)
    passed = 0 if mark is None else mark.database_now
    head = _head(connection)
    if head == (0, b"") and base is not None:
        connection.execute("SELECT tui_tasks.begin_at(%s, %s)", (base.last, base.hash))
        head = _head(connection)
    begin = (base.last, base.hash) if base is not None else (0, b"")
    if head != begin:
        hashed = db.scalar("SELECT hash FROM journal WHERE seq = ?", (head[0],))
        if hashed is None or bytes(hashed) != head[1]:
            raise Conflict(f"the server has another journal, of {head[0]:,} entries: move to an empty database")
    while head[0] < newest:
        rows = _page(db, head[0])
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(_APPEND, (*head, *columns, passed))
        head = rows[-1][0], rows[-1][-1]
        report(MOVING, head[0], newest)
    return newest


def _page(db: Database, after: int) -> list[tuple[Any, ...]]:
    """Return the entries of one page, of which a few can have many megabytes."""
    taken: list[tuple[Any, ...]] = []
    size = 0
    cursor = db.sql(f"SELECT {journal.COLUMN_NAMES} FROM journal WHERE seq > ? ORDER BY seq LIMIT ?", (after, PAGE))
    for row in cursor:
        size += sum(len(value) for value in row if isinstance(value, str))
        if taken and size > _MAX_PAGE_CHARACTERS:
            break
        taken.append((*row[:-1], bytes(row[-1])))
    cursor.close()
    return taken


def _head(connection: Connection) -> tuple[int, bytes]:
    seq, hashed = only_row(connection.execute("SELECT seq, hash FROM tui_tasks.head"))
    return seq, bytes(hashed)


def _put_snapshot(part: Path, connection: Connection, newest: int, report: Report) -> None:
    head = only_row(connection.execute("SELECT seq, hash, number, passed FROM tui_tasks.head"))
    if head[0] != newest:
        raise Conflict(
            "somebody has written to the server meanwhile, before it had all of the file: its journal is whole"
        )
    server_snapshots.put(part, connection, Covered(*head), report)


def to_file(connection: Connection, target: Path, report: Report) -> int:
    """Move a server's journal to a new file; return the newest seq. The server is not changed.

    Raises:
        Conflict: there is such a file already.
        DatabaseRefused: the server cannot be used.
        StorageFailed: one of them cannot be read or written.
    """
    if target.exists():
        raise Conflict(f"{target} exists already: name another file", path=str(target))
    with _errors():
        prepare(connection)
        part = target.with_name(f".{target.name}.moving")
        if not _is_beginning(part, connection):
            backup.remove(part)
            covered = server_snapshots.fetch(connection, part, report)
            with Store(str(part)) as store, store.db.transaction(write=True):
                companions.put_number(store.db, 0 if covered is None else covered.number)
        with Store(str(part)) as store:
            _pull(connection, store.db, report)
            _refuse_unsound(store.db, part)
            with store.db.transaction(write=True):
                companions.forget_number(store.db)
            _change_machine(store, is_to_server=False)
        newest = backup.finish(part)
        part.rename(target)
        backup.remove(part)
        sync_folder(str(target.absolute().parent))
        return newest


def _is_beginning(part: Path, connection: Connection) -> bool:
    """Return whether a file that an earlier move left has a beginning of the server's journal."""
    if not part.exists():
        return False
    with Store(str(part)) as store:
        seq, hashed = journal.head(store.db)
    row = connection.execute("SELECT hash FROM tui_tasks.journal WHERE seq = %s", (seq,)).fetchone()
    return row is not None and bytes(row[0]) == hashed


def _pull(connection: Connection, db: Database, report: Report) -> None:
    """Write and apply the entries that the file lacks, a page in each transaction, with their companions."""
    insert = f"INSERT INTO journal ({journal.COLUMN_NAMES}) VALUES ({', '.join('?' * len(_TYPES))})"
    seq, before = journal.head(db)
    while True:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            rows = connection.execute(
                f"SELECT {journal.COLUMN_NAMES} FROM tui_tasks.journal WHERE seq > %s ORDER BY seq LIMIT %s",
                (seq, PAGE),
            ).fetchall()
            newest, passed = connection.execute("SELECT seq, passed FROM tui_tasks.head").fetchone() or (0, 0)
            beside = [] if len(rows) == PAGE else connection.execute(COMPANIONS, (companions.number(db),)).fetchall()
        for row in rows:
            if row[0] != seq + 1 or journal.hash_after(before, row[:-1]) != bytes(row[-1]):
                raise DatabaseRefused(f"entry {row[0]:,} of the server does not follow from the one before it")
            seq, before = row[0], bytes(row[-1])
        with db.transaction(write=True):
            db.write_many(insert, rows)
            for row in rows:
                apply_entry(db, row)
            companions.apply(db, beside)
            if len(rows) < PAGE and passed:
                # Leases go on by the time that has passed on the server.
                database_clock.put_mark(db, database_clock.Mark("", 0, passed, clock.now()))
        report(MOVING, seq, newest)
        if len(rows) < PAGE:
            return


def _refuse_unsound(db: Database, file: Path) -> None:
    broken = database_findings.broken_link(db)
    if broken is not None:
        raise DatabaseRefused(f"{file}: entry {broken:,} does not follow from the one before it (tui-tasks doctor)")
    difference = next(database_findings.differences(db), None)
    if difference is not None:
        raise DatabaseRefused(f"{file}: {difference} (tui-tasks doctor --replay)")


def _change_machine(store: Store, *, is_to_server: bool) -> None:
    """Let checks and work of the file be those of this machine, or those of this machine the file's.

    Its entries are the same whenever it is done, so that a move can be continued.
    """
    db = store.db
    if not any(db.scalar(f"SELECT EXISTS (SELECT 1 FROM {table})") for table in _OF_MACHINES):
        return
    here = this_machine()
    old, new = ("", here) if is_to_server else (here, "")
    store.commit(ChangeMachine(old, new), actor=SYSTEM, now=db.scalar("SELECT max(at) FROM journal"))


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise StorageFailed(
            f"the server: {first_line(error)}", retryable=not isinstance(error, psycopg.DataError)
        ) from None
    except OSError as error:
        raise StorageFailed(f"{os.strerror(error.errno or 0)}: {error.filename}", retryable=False) from None
