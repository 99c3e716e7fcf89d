"""The part of Python's `sqlite3` that the core uses, on top of apsw.

apsw has wheels, each with an SQLite of its own, for systems that pysqlite3 has none for. Names, error classes and the
meaning of each call are those of `sqlite3` with `isolation_level=None`: a transaction begins where it is begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import apsw

sqlite_version: Final = apsw.sqlite_lib_version()
sqlite_version_info: Final = tuple(map(int, sqlite_version.split(".")))

SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE: Final = apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE

_RETRY_SECONDS: Final = 0.25


class Error(Exception):
    """What SQLite refuses or cannot do.

    Attributes:
        sqlite_errorcode: SQLite's extended result code.
    """

    sqlite_errorcode = apsw.SQLITE_ERROR


class DatabaseError(Error):
    """The database is damaged, or is none."""


class OperationalError(DatabaseError):
    """It cannot be done now or here: locked, full, read-only, an I/O error, or SQL that is wrong."""


class IntegrityError(DatabaseError):
    """A constraint does not hold."""


class ProgrammingError(DatabaseError):
    """The driver is used wrongly."""


_CLASSES: Final[dict[type[Exception], type[Error]]] = {
    apsw.ConstraintError: IntegrityError,
    apsw.MismatchError: IntegrityError,
    apsw.CorruptError: DatabaseError,
    apsw.NotADBError: DatabaseError,
    apsw.BindingsError: ProgrammingError,
    apsw.ConnectionClosedError: ProgrammingError,
    apsw.CursorClosedError: ProgrammingError,
    apsw.MisuseError: ProgrammingError,
    apsw.ThreadingViolationError: ProgrammingError,
}
_RAISED: Final = (apsw.Error, UnicodeDecodeError)


def _translated(error: Exception) -> Error:
    """The error that `sqlite3` would raise."""
    if isinstance(error, UnicodeDecodeError):
        return OperationalError(f"Could not decode to UTF-8: {error.object.decode(errors='replace')}")
    translated = _CLASSES.get(type(error), OperationalError)(str(error))
    translated.sqlite_errorcode = getattr(error, "extendedresult", apsw.SQLITE_ERROR)
    return translated


class Cursor:
    """Runs statements, one at a time."""

    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor
        self._ahead: Any = None
        self._sql = ""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement that writes has written."""
        return self._cursor.connection.changes()

    @property
    def description(self) -> Any:
        """The columns of the rows, a tuple that begins with the name for each."""
        try:
            return self._cursor.description
        except apsw.ExecutionCompleteError:
            # apsw has them for as long as a statement runs; one without rows is over at once.
            from apsw.ext import query_info

            return query_info(self._cursor.connection, self._sql).description

    def execute(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Cursor:
        """Run a statement as far as its first row."""
        self._ahead, self._sql = None, sql
        try:
            self._cursor.execute(sql, params)
        except _RAISED as error:
            raise _translated(error) from error
        return self

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Cursor:
        """Run a statement that gives no rows, once for each row of parameters."""
        self._ahead, self._sql = None, sql
        try:
            self._cursor.executemany(sql, rows)
        except _RAISED as error:
            raise _translated(error) from error
        return self

    def fetchone(self) -> Any:
        """Return the next row, or None.

        The row after it is looked for at once: a statement that has given its last row must be over, since it would
        hold its read transaction, and with it the write-ahead log, until the cursor is used again.
        """
        try:
            row = self._ahead or self._cursor.fetchone()
            self._ahead = row and self._cursor.fetchone()
        except _RAISED as error:
            raise _translated(error) from error
        return row

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        ahead, self._ahead = self._ahead, None
        try:
            rows = self._cursor.fetchall()
        except _RAISED as error:
            raise _translated(error) from error
        return [ahead, *rows] if ahead else rows

    def close(self) -> None:
        """End the statement, even with rows left."""
        self._cursor.close(force=True)

    def __iter__(self) -> Iterator[Any]:
        ahead, self._ahead = self._ahead, None
        if ahead:
            yield ahead
        try:
            yield from self._cursor
        except _RAISED as error:
            raise _translated(error) from error


class Connection:
    """A connection to a database."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._connection.in_transaction

    @property
    def total_changes(self) -> int:
        """How many rows have been written since it was opened."""
        return self._connection.total_changes()

    def cursor(self) -> Cursor:
        """Return a cursor of its own."""
        return Cursor(self._connection.cursor())

    def execute(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> Cursor:
        """Run a statement on a cursor of its own."""
        return self.cursor().execute(sql, params)

    def create_function(
        self, name: str, arguments: int, function: Callable[..., Any], *, deterministic: bool = False
    ) -> None:
        """Give SQL a function. What it raises is an OperationalError of the statement that calls it."""

        def called(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception as error:
                raise apsw.SQLError("user-defined function raised exception") from error

        self._connection.create_scalar_function(name, called, arguments, deterministic=deterministic)

    def set_busy_handler(self, handler: Callable[[int], bool] | None) -> None:
        """Have a function called while another connection holds a lock; it returns whether to ask again."""
        self._connection.set_busy_handler(handler)

    def set_progress_handler(self, handler: Callable[[], object] | None, steps: int) -> None:
        """Have a function called after so many steps of a statement; it returns whether to interrupt it."""
        self._connection.set_progress_handler(None if handler is None else lambda: bool(handler()), steps)

    def setconfig(self, setting: int, enable: bool) -> None:
        """Set what SQLite calls a database connection configuration option (sqlite.org/c3ref/c_dbconfig_defensive)."""
        self._connection.config(setting, int(enable))

    def backup(
        self, target: Connection, *, pages: int = -1, progress: Callable[[int, int, int], object] | None = None
    ) -> None:
        """Copy the database into another, some pages at a step; `progress` is told status, pages left and pages."""
        try:
            with target._connection.backup("main", self._connection, "main") as copy:
                while not copy.done:
                    try:
                        copy.step(pages)
                    except (apsw.BusyError, apsw.LockedError):
                        time.sleep(_RETRY_SECONDS)
                    if progress is not None:
                        progress(apsw.SQLITE_DONE if copy.done else apsw.SQLITE_OK, copy.remaining, copy.page_count)
        except apsw.Error as error:
            raise _translated(error) from error

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def connect(
    database: str,
    *,
    timeout: float = 5.0,
    isolation_level: None,
    uri: bool = False,
    cached_statements: int = 128,
) -> Connection:
    """Open a database; wait `timeout` seconds for the locks of others."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | (apsw.SQLITE_OPEN_URI if uri else 0)
    try:
        connection = apsw.Connection(database, flags=flags, statementcachesize=cached_statements)
        connection.set_busy_timeout(int(timeout * 1000))
        # pysqlite3 is compiled so: what is sorted does not go to files in a folder that all may read.
        connection.execute("PRAGMA temp_store = memory")
    except apsw.Error as error:
        raise _translated(error) from error
    return Connection(connection)
