"""Entries of a journal, and a client of psycopg alone that appends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from tui_tasks.core.commit.journal import hash_after

COLUMNS = ("seq", "at", "actor", "kind", "entity", "uid", "task", "change", "undoes", "old", "new", "image", "why")
APPEND = (
    "SELECT tui_tasks.append(%s, %s, %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[],"
    " %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bytea[], %s, %s,"
    " %s::text[], %s::text[], %s::text[])"
)
NOTHING = (0, b"")
Head = tuple[int, bytes]


def entries(head: Head, *givens: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Entries that follow an entry, with their hashes; a given column replaces the usual one."""
    seq, before = head
    made = []
    for given in givens:
        seq += 1
        usual = {"seq": seq, "at": 1, "actor": "human", "kind": "task.created", "entity": "task", "uid": f"u{seq}"}
        usual |= {"task": f"u{seq}", "change": seq, "undoes": None, "old": None, "new": '{"a":1}', "image": None}
        row = tuple((usual | {"why": None} | given)[name] for name in COLUMNS)
        before = hash_after(before, row)
        made.append((*row, before))
    return made


def append(
    connection: psycopg.Connection[Any],
    head: Head,
    rows: list[tuple[Any, ...]],
    companions: Sequence[tuple[str, str, str | None]] = (),
    now: int = 0,
    passed: int = 0,
) -> int:
    """Append rows after an entry; return the newest companion's number."""
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(14)]
    more = [list(column) for column in zip(*companions, strict=True)] if companions else [[], [], []]
    found = connection.execute(APPEND, (*head, *columns, now, passed, *more)).fetchone()
    assert found is not None
    return found[0]


def write(connection: psycopg.Connection[Any], head: Head = NOTHING, count: int = 1, **given: Any) -> Head:
    """Append some entries; return the new head."""
    rows = entries(head, *[given] * count)
    append(connection, head, rows)
    return rows[-1][0], rows[-1][-1]
