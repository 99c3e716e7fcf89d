"""The statements that each connection to the server prepares, and their parameters as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg import errors, generators

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
