"""The one place that knows SQLite: opening, refusing, pragmas, transactions, and running statements."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.engine import lock_file, open_checks
from tui_tasks.core.engine.driver import connect, refuse_faulty_library, sqlite3
from tui_tasks.core.engine.open_files import OpenFiles, State
from tui_tasks.core.engine.private_files import make_private
from tui_tasks.core.engine.storage_errors import BUSY_SECONDS, is_busy, needs_opening, storage_errors
from tui_tasks.core.engine.write_queue import WriteQueue
from tui_tasks.core.errors import DatabaseRefused, StorageFailed

if TYPE_CHECKING:
    from tui_tasks.core.engine.orm import Query
    from tui_tasks.core.engine.statements import Statement


class Database:
    """One connection, of one thread. Every use of it is by the thread that opened it.

    Attributes:
        path: of the file itself, where a link leads to it.
        file: what tells the file that is open from any other.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        refuse_faulty_library()
        self._is_file = path != ":memory:"
        # Once: what stands beside the file, the log above all, stands beside what a link leads to.
        self.path = os.path.realpath(path) if self._is_file else path
        if self._is_file and os.path.islink(path) and not os.path.exists(path):
            raise DatabaseRefused(f"{path} is a link to {self.path}, which is not there; name another file with --db")
        self.read_only = read_only
        self._open(makes=not read_only)

    def _open(self, *, makes: bool = False) -> None:
        """Connect; `makes`: the file, where there is none.

        Raises:
            DatabaseRefused: it cannot be used; what was open is as it was.
        """
        if not self._is_file:
            self._connect()
            return
        with lock_file.opening(self.path):
            open_checks.refuse_unopened(self.path, read_only=self.read_only)
            if makes:
                make_private(self.path)
            self._connect()

    def _connect(self) -> None:
        files = OpenFiles(self.path)
        uri = open_checks.uri(self.path, f"mode={'ro' if self.read_only else 'rw'}")
        with open_checks.refusing(self.path), contextlib.ExitStack() as failed:
            connection = connect(uri if self._is_file else self.path, timeout=BUSY_SECONDS, uri=True)
            failed.callback(connection.close)
            if self._is_file:
                # Before anything is read: that would put a log together with the file.
                open_checks.refuse_leftovers(files, self.path)
            for name, value in _pragmas(self.read_only):
                connection.execute(f"PRAGMA {name} = {value}")
            connection.create_function("casefold", 1, _casefold, deterministic=True)
            connection.create_function("has_tag", 2, _has_tag, deterministic=True)
            open_checks.refuse_other(open_checks.head_of(connection), self.path)
            if self._is_file:
                open_checks.refuse_cut_short(connection, self.path)
                if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                    files.note_log()
                if files.state() is not State.SAME:
                    raise DatabaseRefused(f"{self.path} was replaced while it was opened: try again")
            failed.pop_all()
        self._turns = _turns(connection, self.path) if self._is_file and not self.read_only else None
        self._connection = connection
        self._cursor = connection.cursor()
        self._files, self.file = files, files.file
        self._has_failed = False
        # Sums held back (`add`), and how many rows they have written, which `changes` leaves out.
        self._sums: dict[tuple[Statement, int], int] = {}
        self._late = 0

    def _see_to_file(self) -> None:
        """Open anew what has failed, or what another file has taken the place of.

        Raises:
            StorageFailed: there is no such file now, or it cannot be used.
        """
        if not self._is_file:
            return
        state = self._files.state()
        if state not in (State.SAME, State.REPLACED):
            raise StorageFailed(f"{self.path} {state.value}", retryable=True)
        if state is State.REPLACED or self._has_failed:
            before, turns = self._connection, self._turns
            try:
                self._open()
            except DatabaseRefused as refused:
                raise StorageFailed(str(refused), retryable=True) from refused
            before.close()
            if turns is not None:
                turns.close()
            if state is State.REPLACED and not self.read_only:
                # What was restored is one file, without a log.
                self.write_ahead()

    def write_ahead(self) -> None:
        """Use a write-ahead log from now on; wait for others who begin to do so at the same moment, as SQLite does not.

        Raises:
            sqlite3.OperationalError: it is locked for longer than 5 s, or cannot be written.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self.sql("PRAGMA journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    self._has_failed = True
                    raise
            time.sleep(0.002)  # SQLite itself does not wait here

    def open_again(self) -> None:
        """Open it anew, since a read has failed: the file may be another one by now, or on another disk.

        Raises:
            StorageFailed: it cannot be used; what was open is as it was.
        """
        self._has_failed = True
        self._see_to_file()

    def run(self, statement: Statement, values: dict[str, Any]) -> None:
        """Run a compiled statement that writes."""
        self._cursor.execute(statement.sql, statement.bind(values))

    def add(self, statement: Statement, id: int, by: int) -> None:
        """Add to a number of a row, by a statement that takes `id` and `by`.

        It is run before anything is read, so that many changes to one list write its counts once.
        """
        key = (statement, id)
        self._sums[key] = self._sums.get(key, 0) + by

    def _write_sums(self) -> None:
        sums, self._sums = self._sums, {}
        before = self.changes()
        for (statement, row), by in sums.items():
            if by:
                self._cursor.execute(statement.sql, statement.bind({"id": row, "by": by}))
        self._late += self.changes() - before

    def one(self, statement: Statement, **values: Any) -> Any:
        """Return the first row as a tuple, or None."""
        if self._sums:
            self._write_sums()
        return self._cursor.execute(statement.sql, statement.bind(values)).fetchone()

    def all(self, statement: Statement, **values: Any) -> list[Any]:
        """Return all rows as tuples.

        Rows are not taken one by one (but see `each`): SQLite would hold a read transaction until the last, and the
        log could not be checkpointed meanwhile.
        """
        if self._sums:
            self._write_sums()
        rows: list[Any] = self._cursor.execute(statement.sql, statement.bind(values)).fetchall()
        return rows

    def each(self, statement: Statement, **values: Any) -> Generator[Any, None, None]:
        """Return the rows one by one, where few of them may be many megabytes.

        Close the iterator soon: a read transaction lasts until then (see `all`).
        """
        if self._sums:
            self._write_sums()
        cursor = self._connection.execute(statement.sql, statement.bind(values))
        try:
            yield from cursor
        finally:
            cursor.close()

    def query(self, query: Query) -> list[Any]:
        """Return all rows of a query that is built for this one time."""
        if self._sums:
            self._write_sums()
        sql, params = query.sql()
        rows: list[Any] = self._connection.execute(sql, params).fetchall()
        return rows

    def sql(self, text: str, params: Sequence[Any] = ()) -> Any:
        """Run SQL that Peewee does not write (pragmas, schema steps, `written_out`)."""
        if self._sums:
            self._write_sums()
        return self._connection.execute(text, params)

    def scalar(self, text: str) -> Any:
        """Return the first column of the first row of plain SQL."""
        return self.sql(text).fetchone()[0]

    def data_version(self) -> tuple[object, int]:
        """`file`, and a number that differs from the last time when another connection has committed.

        Raises:
            StorageFailed: there is no such file now, or it cannot be read.
        """
        with storage_errors(self.path, reading=True):
            self._see_to_file()
            return self.file, self._cursor.execute("PRAGMA data_version").fetchone()[0]

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        """Hold one transaction: commit at the end, roll back when anything is raised.

        Raises:
            Busy: another process held the write lock for 5 s.
            StorageFailed: the disk is full, an I/O error, a damaged database.
        """
        with storage_errors(self.path, reading=not write):
            self._see_to_file()
            try:
                self._begin(write)
                yield
                self._commit()
                if write:
                    self._acknowledge()
            except BaseException as error:
                self._has_failed = needs_opening(error)
                self._roll_back()
                raise

    def let_others_write(self, seconds: float) -> None:
        """Commit what was written in the open write transaction so far, and go on in another after a while.

        Raises:
            StorageFailed: the database was replaced meanwhile.
        """
        file = self.file
        self._commit()
        time.sleep(seconds)
        self._see_to_file()
        if self.file != file:
            raise StorageFailed(f"{self.path} was replaced while it was written to", retryable=True)
        self._begin(write=True)

    def _begin(self, write: bool) -> None:
        if not write:
            self._cursor.execute("BEGIN")
            return
        while True:
            if self._turns is None:
                self._cursor.execute("BEGIN IMMEDIATE")
            else:
                self._turns.take(self._cursor.execute, "BEGIN IMMEDIATE")
            self._files.note_log()
            if not self._is_file or self._files.state() is State.SAME:
                return
            # While it waited for the lock, another file was put in its place.
            self._roll_back()
            self._see_to_file()

    def _acknowledge(self) -> None:
        """See that what was committed is where others will find it.

        Raises:
            StorageFailed: it is not: another file was put in the database's place meanwhile.
        """
        if self._is_file and (state := self._files.state()) is not State.SAME:
            raise StorageFailed(f"{self.path} {state.value}; what was written is not there", retryable=True)

    def _commit(self) -> None:
        try:
            if self._sums:
                self._write_sums()
            self._cursor.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            self._overwrite()
            raise

    def _roll_back(self) -> None:
        self._sums.clear()
        # SQLite has rolled back by itself after some errors.
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK")

    def _overwrite(self) -> None:
        """Write what changes nothing over the end of the write-ahead log.

        A commit whose sync has failed stands there whole, and a crash before the next commit would bring it back.
        """
        with contextlib.suppress(sqlite3.Error):
            self._cursor.execute("BEGIN IMMEDIATE")
            try:
                self._cursor.execute(f"PRAGMA user_version = {self.scalar('PRAGMA user_version')}")
                self._cursor.execute("COMMIT")
            finally:
                self._roll_back()

    def begin_savepoint(self) -> None:
        """Begin a part of a transaction that can fail alone."""
        if self._sums:
            self._write_sums()
        self._cursor.execute("SAVEPOINT one")

    def end_savepoint(self) -> None:
        """End it well."""
        self._cursor.execute("RELEASE one")

    def fail_savepoint(self) -> None:
        """End it as if it had not begun."""
        self._sums.clear()
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK TO one")
            self._cursor.execute("RELEASE one")

    def changes(self) -> int:
        """How many rows have been written since the database was opened, but for what was held back (`add`)."""
        total: int = self._connection.total_changes - self._late
        return total

    def copy_to(self, path: str, pages: int, progress: Callable[[int, int], None] | None) -> None:
        """Write the database as it is at one moment into a new file, some pages at a step."""
        make_private(path)
        copy = connect(path)

        def told(_: int, left: int, total: int) -> None:
            if progress is not None:
                progress(total - left, total)

        try:
            # Within a read transaction the copy is of one moment, however many write meanwhile.
            with self.transaction(write=False):
                self.scalar("SELECT count(*) FROM sqlite_master")
                self._connection.backup(copy, pages=pages, progress=told)
        finally:
            copy.close()

    def close(self) -> None:
        """Close the connection."""
        if self._is_file and self._files.state() is State.OVERWRITTEN:
            _leave_log(self._connection)
        else:
            self._connection.close()
        if self._turns is not None:
            self._turns.close()
            self._turns = None


def _turns(connection: Any, path: str) -> WriteQueue | None:
    """Have a connection wait in turn, where the driver and the folder allow it; SQLite's own wait does otherwise."""
    if not hasattr(connection, "set_busy_handler"):
        return None
    try:
        turns = WriteQueue(path, BUSY_SECONDS)
    except OSError:
        return None
    connection.set_busy_handler(turns.wait)
    return turns


def _leave_log(connection: Any) -> None:
    """End a connection without the log being written into what is not its file now, as closing the last does."""
    if hasattr(connection, "setconfig"):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        connection.close()
        return
    # pysqlite3 cannot be told so: it ends with the process.
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _casefold(text: str | None) -> str | None:
    """SQLite's own lower() knows ASCII alone."""
    return None if text is None else text.casefold()


def _has_tag(tags: str, tag: str) -> bool:
    import json

    return tag in json.loads(tags)


# Half a megabyte of the database for each connection: the system keeps it as well, and once for all processes.
_CACHE: Final = -500
# A page that every commit changes is copied into the database once a checkpoint: the fewer, the better. 16 MB.
CHECKPOINT: Final = 4_000
# Bytes. A log that one large change has made longer is cut to this once it is begun anew.
LOG_STAYS: Final = 64 << 20


def _pragmas(read_only: bool) -> list[tuple[str, Any]]:
    if read_only:
        return [("query_only", 1), ("cache_size", _CACHE)]
    return [
        ("synchronous", "full"),
        ("foreign_keys", 0),
        ("cache_size", _CACHE),
        ("wal_autocheckpoint", CHECKPOINT),
        ("journal_size_limit", LOG_STAYS),
        # On macOS fsync leaves what is written in the drive's own memory. Elsewhere these change nothing.
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
    ]
