"""A connection to a database: opening it, transactions, and running statements."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.engine import open_checks, write_queue
from tui_tasks.core.engine.driver import (
    BUSY_SECONDS,
    close_without_checkpoint,
    connect,
    needs_opening,
    overwrite_log_end,
    prepare,
    refuse_faulty_library,
    sqlite3,
    storage_errors,
    write_ahead,
)
from tui_tasks.core.engine.file_writes import make_private
from tui_tasks.core.engine.open_checks import naming_cut_log
from tui_tasks.core.engine.open_files import FileState, OpenFiles
from tui_tasks.core.errors import DatabaseRefused, StorageFailed

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import Process
    from tui_tasks.core.engine.orm import Query, Statement

# After these, a checkpoint would write what is not whole, or not the newest.
_NO_CHECKPOINT: Final = (FileState.OVERWRITTEN, FileState.LOG_CUT, FileState.INDEX_LOST)


class Database:
    """One connection, used only by the thread that opened it.

    Attributes:
        path: the path of the file, with links resolved.
        file: device and inode of the file that is open.
        machine: the id of this machine in the server's journal of a replica; a file has only one machine.
        has_ended: whether a recorded process is known to have ended, for those who read what agents do. The core looks
            at no process: the caller that opens the database sets it.
    """

    machine = ""

    def __init__(self, path: str, *, read_only: bool = False, makes: bool = True) -> None:
        """Open a database; `makes`: create it if the file does not exist and it is not opened read-only.

        Raises:
            DatabaseRefused: the file cannot be used.
        """
        refuse_faulty_library()
        self._is_file = path != ":memory:"
        # Links are resolved once: SQLite's log stands beside the file that they lead to.
        self.path = os.path.realpath(path) if self._is_file else path
        if self._is_file and os.path.islink(path) and not os.path.exists(path):
            raise DatabaseRefused(f"{path} is a link to {self.path}, which is not there; name another file with --db")
        self.read_only = read_only
        self.has_ended: Callable[[Process], bool] = lambda _: False
        self._open(makes=makes and not read_only)

    def _open(self, *, makes: bool = False) -> None:
        """Connect; `makes` creates the file where there is none.

        Raises:
            DatabaseRefused: it cannot be used; the former connection, if any, is kept.
        """
        if not self._is_file:
            self._connect()
            return
        with write_queue.opening(self.path):
            open_checks.refuse_unopened(self.path, read_only=self.read_only)
            if makes:
                make_private(self.path)
            self._connect()

    def _connect(self) -> None:
        files = OpenFiles(self.path)
        uri = open_checks.uri(self.path, open_checks.read_query(self.path) if self.read_only else "mode=rw")
        with open_checks.refusing(self.path), contextlib.ExitStack() as failed, naming_cut_log(files, self.path):
            connection = connect(uri if self._is_file else self.path, timeout=BUSY_SECONDS, uri=True)
            failed.callback(connection.close)
            failed.callback(files.close)
            if self._is_file:
                # Before the first read, which would combine the file with a log that is not its own.
                open_checks.refuse_leftovers(files, self.path)
            prepare(connection, read_only=self.read_only)
            open_checks.refuse_other(open_checks.head_of(connection), self.path)
            if self._is_file:
                open_checks.refuse_cut_short(connection, self.path)
                if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                    files.note_log()
                if files.state() is not FileState.SAME or files.is_log_cut():
                    raise DatabaseRefused(f"{self.path} was replaced while it was opened: try again")
            self._prepare(connection)
            failed.pop_all()
        self._queue = write_queue.joined(connection, self.path) if self._is_file and not self.read_only else None
        self._connection = connection
        self._cursor = connection.cursor()
        self._files, self.file = files, files.file
        self._has_failed = False
        # Additions not yet written (`add`), and how many rows they have written, which `changes` leaves out.
        self._sums: dict[tuple[Statement, int], int] = {}
        self._uncounted = 0

    def _prepare(self, connection: Any) -> None:
        """Attach to a new connection what a subclass reads beside the database."""

    def _reopen_if_replaced(self) -> None:
        """Connect again where the last transaction failed or the file was replaced.

        Raises:
            StorageFailed: there is no such file now, or it cannot be used.
        """
        if not self._is_file:
            return
        state = self._files.state()
        if state not in (FileState.SAME, FileState.REPLACED):
            raise StorageFailed(f"{self.path} {state.value}", retryable=True)
        if state is FileState.REPLACED or self._has_failed:
            before, files, queue = self._connection, self._files, self._queue
            try:
                self._open()
            except DatabaseRefused as refused:
                raise StorageFailed(str(refused), retryable=True) from refused
            before.close()
            files.close()
            if queue is not None:
                queue.close()
            if state is FileState.REPLACED and not self.read_only:
                # A restored database is one file, without a log.
                self.write_ahead()

    def write_ahead(self) -> None:
        """Switch to a write-ahead log.

        Raises:
            sqlite3.OperationalError: it is locked for longer than 5 s, or cannot be written.
        """
        try:
            write_ahead(self._connection)
        except sqlite3.OperationalError:
            self._has_failed = True
            raise

    def open_again(self) -> None:
        """Connect again after a read has failed: the file may be another one by now, or on another disk.

        Raises:
            StorageFailed: it cannot be used; what was open is as it was.
        """
        self._has_failed = True
        self._reopen_if_replaced()

    def run(self, statement: Statement, values: Any) -> None:
        """Run a compiled statement that writes, with a dictionary of values or the struct that it takes."""
        self._cursor.execute(statement.sql, statement.bind(values))

    def write_many(self, text: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run SQL that writes, once for each row of values."""
        self._write_sums()
        self._cursor.executemany(text, rows)

    def add(self, statement: Statement, id: int, by: int) -> None:
        """Add to a number of a row, by a statement that takes `id` and `by`.

        Additions are collected and written before the next read, so that many changes to one list write its counts
        once.
        """
        key = (statement, id)
        self._sums[key] = self._sums.get(key, 0) + by

    def _write_sums(self) -> None:
        if not self._sums:
            return
        sums, self._sums = self._sums, {}
        before = self.changes()
        for (statement, row), by in sums.items():
            if by:
                self._cursor.execute(statement.sql, statement.bind({"id": row, "by": by}))
        self._uncounted += self.changes() - before

    def one(self, statement: Statement, **values: Any) -> Any:
        """Return the first row as a tuple, or None."""
        self._write_sums()
        return self._cursor.execute(statement.sql, statement.bind(values)).fetchone()

    def all(self, statement: Statement, **values: Any) -> list[Any]:
        """Return all rows as tuples.

        Rows are fetched at once (but see `each`): a cursor that stands keeps its read transaction open, and the log
        cannot be checkpointed meanwhile.
        """
        self._write_sums()
        rows: list[Any] = self._cursor.execute(statement.sql, statement.bind(values)).fetchall()
        return rows

    def each(self, statement: Statement, **values: Any) -> Generator[Any, None, None]:
        """Return the rows one by one, where few of them may be many megabytes.

        Close the iterator soon: a read transaction lasts until then (see `all`).
        """
        self._write_sums()
        return self._rows(statement.sql, statement.bind(values))

    def each_of(self, query: Query) -> Generator[Any, None, None]:
        """Return the rows of a query that is built for one use one by one (see `each`)."""
        self._write_sums()
        return self._rows(*query.sql())

    def _rows(self, sql: str, params: Sequence[Any]) -> Generator[Any, None, None]:
        cursor = self._connection.execute(sql, params)
        try:
            # Not from the cursor: a generator that is given up closes it itself, outside the guard below.
            yield from iter(cursor.fetchone, None)
        finally:
            with contextlib.suppress(sqlite3.ProgrammingError):  # the database was closed meanwhile
                cursor.close()

    def query(self, query: Query) -> list[Any]:
        """Return all rows of a query that is built for one use."""
        return list(self.sql(*query.sql()))

    def sql(self, text: str, params: Sequence[Any] = ()) -> Any:
        """Run SQL that Peewee does not write (pragmas, schema steps, `task_json_sql`)."""
        self._write_sums()
        return self._connection.execute(text, params)

    def scalar(self, text: str, params: Sequence[Any] = ()) -> Any:
        """Run SQL as `sql` does; return the first column of the first row, None without a row."""
        row = self.sql(text, params).fetchone()
        return row[0] if row is not None else None

    def data_version(self) -> tuple[object, int]:
        """Return `file`, and a number that another connection's commit changes.

        Raises:
            StorageFailed: there is no such file now, or it cannot be read.
        """
        with storage_errors(self.path, reading=True):
            self._reopen_if_replaced()
            return self.file, self._cursor.execute("PRAGMA data_version").fetchone()[0]

    @contextlib.contextmanager
    def transaction(self, *, write: bool, is_repeatable: bool = False) -> Iterator[int | None]:
        """Hold one transaction: commit at the end, roll back when anything is raised.

        Yield the time of day, in microseconds since the epoch, if a server tells it. `is_repeatable`: the caller
        repeats the transaction after `WriteConflict`, which only a replica raises.

        Raises:
            Busy: another process held the write lock for 5 s.
            StorageFailed: the disk is full, an I/O error, a damaged database.
        """
        with storage_errors(self.path, reading=not write):
            self._reopen_if_replaced()
            try:
                self._begin(write)
                yield None
                self._commit()
                if write:
                    self._acknowledge()
            except BaseException as error:
                self._has_failed = needs_opening(error)
                self._roll_back()
                raise

    state_transaction = transaction
    """As `transaction`, for all that writes entries: a replica asks its server first."""

    def local_transaction(self) -> contextlib.AbstractContextManager[int | None]:
        """Hold a write transaction for what is this machine's own.

        Raises:
            WritesJournal: it has written what other machines share, and was rolled back.
        """
        return self.transaction(write=True)

    def follow(self) -> None:
        """Apply the writes of other machines while this is open. A file of one machine has none."""

    @property
    def address(self) -> str:
        """What another process has to name to open the same database."""
        return self.path

    def server_time(self, now: int) -> int:
        """Return the time of day by which jobs are due: the server's where there is one, else `now`."""
        return now

    @property
    def name(self) -> str:
        """The name that the screen shows."""
        return os.path.basename(self.path)

    def seconds_behind(self) -> float | None:
        """Return the seconds since a replica was last as new as its server; None: this is no replica."""
        return None

    def let_others_write(self, seconds: float) -> None:
        """Commit the open write transaction, sleep, and begin the next.

        Raises:
            StorageFailed: the database was replaced meanwhile.
        """
        file = self.file
        self._commit()
        time.sleep(seconds)
        self._reopen_if_replaced()
        if self.file != file:
            raise StorageFailed(f"{self.path} was replaced while it was written to", retryable=True)
        self._begin(write=True)

    def _begin(self, write: bool) -> None:
        if not write:
            self._cursor.execute("BEGIN")
            return
        while True:
            has_waited = True
            if self._queue is None:
                self._cursor.execute("BEGIN IMMEDIATE")
            else:
                has_waited = self._queue.begin_write(self._cursor.execute)
            self._files.note_log()
            # Without a wait the look before this is new enough, and `_acknowledge` looks after the commit.
            if not self._is_file or not has_waited or self._files.state() is FileState.SAME:
                return
            # The file was replaced while this connection waited for the lock.
            self._roll_back()
            self._reopen_if_replaced()

    def _acknowledge(self) -> None:
        """Check that the commit went to the file at the path.

        Raises:
            StorageFailed: it did not: the file was replaced meanwhile.
        """
        if self._is_file and (state := self._files.state(reads_log=True)) is not FileState.SAME:
            written = "may be lost" if state is FileState.INDEX_LOST else "is not there"
            raise StorageFailed(f"{self.path} {state.value}; what was written {written}", retryable=True)

    def _commit(self) -> None:
        try:
            self._write_sums()
            self._cursor.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            overwrite_log_end(self._connection)
            raise

    def _roll_back(self) -> None:
        self._sums.clear()
        # SQLite has rolled back by itself after some errors.
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK")

    def begin_savepoint(self) -> None:
        """Begin a part of a transaction that can be rolled back alone."""
        self._write_sums()
        self._cursor.execute("SAVEPOINT one")

    def end_savepoint(self) -> None:
        """Keep what the savepoint holds."""
        self._write_sums()
        self._cursor.execute("RELEASE one")

    def fail_savepoint(self) -> None:
        """Roll back to the savepoint."""
        self._sums.clear()
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK TO one")
            self._cursor.execute("RELEASE one")

    def changes(self) -> int:
        """Return how many rows were written since the database was opened, without the additions of `add`."""
        total: int = self._connection.total_changes
        return total - self._uncounted

    def copy_to(self, path: str, pages: int, progress: Callable[[int, int], None] | None) -> None:
        """Copy the database, as of one moment, into a new file, `pages` at a step.

        Raises:
            StorageFailed: the disk of the new file is full, which the message names; or the database cannot be read.
        """
        make_private(path)
        report = None if progress is None else lambda _, left, total: progress(total - left, total)
        # In a read transaction the copy is of one moment, whatever is written meanwhile.
        with contextlib.closing(connect(path)) as copy, self.transaction(write=False):
            self.scalar("SELECT count(*) FROM sqlite_master")
            with storage_errors(path):
                self._connection.backup(copy, pages=pages, progress=report)

    def close(self) -> None:
        """Close the connection."""
        if self._is_file and self._files.state(reads_log=True) in _NO_CHECKPOINT:
            close_without_checkpoint(self._connection)
        else:
            self._connection.close()
        self._files.close()
        if self._queue is not None:
            self._queue.close()
            self._queue = None
