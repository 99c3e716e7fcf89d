"""A team's server: connections to it, its tables and functions, and the statements that each connection prepares.

libpq reads service files, PGPASSFILE and TLS settings, as for every client of it. The tables are made by whoever comes
first, and brought up to date by their owner.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

import msgspec
import psycopg
from psycopg import conninfo, errors, generators

from tui_tasks import __version__
from tui_tasks.core.engine.open_checks import SCHEMA
from tui_tasks.core.errors import DatabaseRefused, StorageFailed

# A cut cable is noticed, and a server that does not answer holds up nobody, for about two seconds.
_LIMITS: Final = {
    "connect_timeout": 2,
    "tcp_user_timeout": 2_000,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "application_name": "tui-tasks",
}
_SESSION: Final = "-c idle_in_transaction_session_timeout=2s -c lock_timeout=2s"


def connect(url: str) -> psycopg.Connection[Any]:
    """Open a connection without transactions of its own.

    Raises:
        DatabaseRefused: the URL is wrong, or has a password.
        StorageFailed: the server cannot be reached, or does not let this role in.
    """
    try:
        return open_connection(url)
    except psycopg.Error as error:
        raise StorageFailed(f"{place(url)}: {first_line(error)}", retryable=True) from None


def open_connection(url: str) -> psycopg.Connection[Any]:
    """As `connect`, with the error of psycopg.

    Raises:
        DatabaseRefused: the URL is wrong, or has a password.
        psycopg.Error: the server cannot be reached, or does not let this role in.
    """
    given = parameters(url)
    limits = {name: value for name, value in _LIMITS.items() if name not in given}
    options = f"{given.pop('options', '')} {_SESSION}".strip()
    fixed = {"options": options, "client_encoding": "utf8"}
    return psycopg.connect(**{**given, **limits, **fixed}, autocommit=True)


def parameters(url: str) -> dict[str, Any]:
    """Return what a URL says.

    Raises:
        DatabaseRefused: it is wrong, or has a password, which everybody could read in the list of processes.
    """
    try:
        options = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq's own message repeats parts of the URL.
        raise DatabaseRefused("the URL of the database is wrong: postgresql://USER@HOST/NAME") from None
    if {"password", "sslpassword"} & options.keys() or "@" in str(options.get("host", "")):
        raise DatabaseRefused(
            "the list of processes would show the password of this URL: put it into ~/.pgpass, or a service into "
            "~/.pg_service.conf"
        )
    return {name: value for name, value in options.items() if value is not None}


def only_row(cursor: psycopg.Cursor[Any]) -> Row:
    """Return the one row of a statement that always has one."""
    row: Row | None = cursor.fetchone()
    assert row is not None
    return row


def place(url: str) -> str:
    """Return how messages name a server's database: without user and password."""
    options = parameters(url)
    if "service" in options:
        return f"the service {options['service']}"
    return f"the database {options.get('dbname', '')} at {options.get('host', 'this machine')}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return re.split(r"[\r\n]", str(error).strip())[0] or type(error).__name__


SERVER_SCHEMA: Final = 7
"""The newest version of the server's tables: `server.sql` makes version 1, `server_N.sql` takes it from N - 1 to N."""
OLDEST_SERVER: Final = 140_000

_LOOK: Final = "SELECT id, schema, journal, needs FROM tui_tasks.about"


class ServerDatabase(msgspec.Struct, frozen=True, gc=False):
    """What a server holds.

    Attributes:
        id: of its journal; another one is another history.
        schema: the version of its tables.
        journal: the version of what its entries may hold.
        needs: the program's version that knows both.
    """

    id: str
    schema: int
    journal: int
    needs: str


def prepare(connection: psycopg.Connection[Any]) -> ServerDatabase:
    """Return what the server holds, after making or updating its tables. The connection is in autocommit.

    Raises:
        DatabaseRefused: its tables are newer than this program, or cannot be made or updated by this role.
    """
    if connection.info.server_version < OLDEST_SERVER:
        version = connection.info.parameter_status("server_version")
        raise DatabaseRefused(f"{_place(connection)} runs PostgreSQL {version}: it must be 14 or newer")
    try:
        database = _look(connection) or _make(connection)
        where, needs = _place(connection), database.needs
        if database.schema > SERVER_SCHEMA:
            raise DatabaseRefused(too_new(where, f"server schema {database.schema}", SERVER_SCHEMA, needs))
        if database.journal > SCHEMA:
            raise DatabaseRefused(too_new(where, f"schema {database.journal}", SCHEMA, needs))
        if database.schema < SERVER_SCHEMA or database.journal < SCHEMA:
            return _update(connection)
    except _NotTheOwner:
        raise DatabaseRefused(
            f"{_place(connection)} is older than this tui-tasks: its owner opens it with {__version__} or newer first"
        ) from None
    except errors.InsufficientPrivilege as error:
        raise DatabaseRefused(f"{_place(connection)}: {first_line(error)} (tui-tasks admin roles)") from None
    return database


def too_new(what: str, version: str, known: int, needs: str) -> str:
    """Return that a server's tables or entries are newer than this program, in the words for a file."""
    to = f" to {needs} or newer" if needs != __version__ else ""
    return f"{what} was made by a newer tui-tasks ({version}; this one knows {known}): update it{to}"


def _look(connection: psycopg.Connection[Any]) -> ServerDatabase | None:
    try:
        row = connection.execute(_LOOK).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    return ServerDatabase(*row) if row is not None else None


def _make(connection: psycopg.Connection[Any]) -> ServerDatabase:
    """Make the tables. Whoever makes the schema first wins; others wait for it here."""
    if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
        raise DatabaseRefused(
            f"{_place(connection)} is not in UTF-8: make it with `createdb -E UTF8 -T template0 NAME`"
        )
    try:
        with connection.transaction():
            try:
                connection.execute("CREATE SCHEMA tui_tasks")
            except errors.InsufficientPrivilege:
                raise DatabaseRefused(
                    f"{_place(connection)} has no tables yet, and {connection.info.user} may not make them: its owner "
                    "opens it first"
                ) from None
            connection.execute(_script("server.sql"))
            _take_steps(connection, 1)
            connection.execute(
                "INSERT INTO tui_tasks.about (id, schema, journal, needs) VALUES (gen_random_uuid(), %s, %s, %s)",
                (SERVER_SCHEMA, SCHEMA, __version__),
            )
    except (errors.DuplicateSchema, errors.UniqueViolation):
        pass
    database = _look(connection)
    if database is None:
        raise DatabaseRefused(f"{_place(connection)} has a schema tui_tasks that is not this program's")
    return database


class _NotTheOwner(Exception):
    """This role may not update the tables."""


def _update(connection: psycopg.Connection[Any]) -> ServerDatabase:
    """Take the steps that are missing, under a lock: others wait, then find them done.

    Raises:
        _NotTheOwner: this role may not.
    """
    with connection.transaction():
        try:
            database = ServerDatabase(*only_row(connection.execute(f"{_LOOK} FOR UPDATE")))
        except errors.InsufficientPrivilege:
            raise _NotTheOwner from None
        _take_steps(connection, database.schema)
        if database.schema < SERVER_SCHEMA or database.journal < SCHEMA:
            connection.execute(
                "UPDATE tui_tasks.about SET schema = greatest(schema, %s), journal = greatest(journal, %s), needs = %s",
                (SERVER_SCHEMA, SCHEMA, __version__),
            )
    done = _look(connection)
    assert done is not None
    return done


def _take_steps(connection: psycopg.Connection[Any], version: int) -> None:
    for step in range(version + 1, SERVER_SCHEMA + 1):
        connection.execute(_script(f"server_{step}.sql"))


def _script(name: str) -> bytes:
    return resources.files("tui_tasks.postgres").joinpath(name).read_bytes()


def _place(connection: psycopg.Connection[Any]) -> str:
    """Return how messages name the database: never with a password."""
    info = connection.info
    return f"the database {info.dbname} at {info.host or 'this machine'}"


def server_id(url: str) -> str:
    """Return the id of a server's journal, whose tables are made if there are none.

    Raises:
        DatabaseRefused: the server cannot be reached or used.
    """
    try:
        with contextlib.closing(open_connection(url)) as connection:
            return prepare(connection).id
    except psycopg.Error as error:
        raise DatabaseRefused(f"the server cannot be reached: {first_line(error)}") from None


Row = tuple[Any, ...]

_ENTRIES: Final = (
    *("bigint[]", "bigint[]", "text[]", "text[]", "text[]", "text[]", "text[]", "bigint[]", "bigint[]"),
    *("text[]", "text[]", "text[]", "text[]", "bytea[]", "bigint", "bigint", "text[]", "text[]", "text[]"),
)


def _prepared(name: str, *types: str) -> str:
    marks = ", ".join(f"${number}" for number in range(1, len(types) + 1))
    return f"PREPARE {name} ({', '.join(types)}) AS SELECT tui_tasks.{name}({marks})"


PREPARE: Final = f"""
PREPARE lock_head (bigint, bigint, integer) AS
    SELECT seq, hash, passed, now, number, journal, needs, entries, companions FROM tui_tasks.lock_head($1, $2, $3);
{_prepared("append", "bigint", "bytea", *_ENTRIES)};
{_prepared("append_next", "bigint", "bytea", "bigint", "integer", *_ENTRIES)}
""".encode()
"""What is planned once for each connection."""


def appended(
    end: Sequence[int | bytes], entries: Sequence[Row], companions: Sequence[Row], now: int, passed: int
) -> list[bytes]:
    """Return the parameters of `append` and `append_next`; `end` are those that say what the client has seen last."""
    columns = [_array(column) for column in zip(*entries, strict=True)] or ["{}"] * 14
    more = [_array(column) for column in zip(*companions, strict=True)] or ["{}"] * 3
    ends = (f"\\x{each.hex()}" if isinstance(each, bytes) else str(each) for each in end)
    return [text.encode() for text in (*ends, *columns, str(now), str(passed), *more)]


def _array(values: Sequence[int | str | bytes | None]) -> str:
    """Return the text of an array; psycopg takes four times as long, value by value."""
    return f"{{{','.join(map(_element, values))}}}"


def _element(value: int | str | bytes | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def run_prepared(connection: psycopg.Connection[Any], name: bytes, parameters: Sequence[bytes]) -> int | None:
    """Run a prepared statement as a transaction of its own, and return the number that it returns.

    A cursor of psycopg takes a third as long again as the server.

    Raises:
        psycopg.Error: the server has refused it, or is lost.
    """
    connection.pgconn.send_query_prepared(name, parameters)
    (result,) = connection.wait(generators.execute(connection.pgconn))
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        raise errors.error_from_result(result, connection.info.encoding)
    value = result.get_value(0, 0)
    return None if value is None else int(value)
