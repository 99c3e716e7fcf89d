"""The names in a database, for a shell's completion. In plain SQL, as importing Peewee takes too long.

Each function returns words with a text about each. What may be many in a large database is limited to `MAX`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database

MAX: Final = 200
# How many tasks are read to find those with numbers of a length that begin with the typed digits.
_NUMBERED: Final = 2_000
_MAX_DIGITS: Final = 7  # more of them are a uid's beginning
_SHORT: Final = 8  # characters of a uid, as `ls` prints it

Words = dict[str, str]

# One step in the index for each name, however long the journal is.
_ACTORS: Final = """
WITH RECURSIVE actors(name) AS (
    SELECT min(actor) FROM journal
    UNION ALL SELECT (SELECT min(actor) FROM journal WHERE actor > name) FROM actors WHERE name IS NOT NULL
)
SELECT name FROM actors WHERE name IS NOT NULL LIMIT ?
"""
_LISTS: Final = """
SELECT IIF(kind = 'plan', uid, name), IIF(kind = 'plan', name, ''), pending + in_progress FROM list
WHERE deleted = 0 AND (?1 IS NULL OR IFNULL(project, '') = ?1) ORDER BY archived, id DESC LIMIT ?2
"""
_IN_LIST: Final = """
SELECT rank, id, name FROM task INDEXED BY task_column
WHERE list_id = ?1 AND deleted = 0 AND status = ?2 ORDER BY rank LIMIT ?3
"""
_BY_NUMBER: Final = """
SELECT id, name, status, list_id FROM task WHERE id BETWEEN ?1 AND ?2 AND deleted = 0 ORDER BY id LIMIT ?3
"""
_BY_UID: Final = """
SELECT uid, name, status FROM task WHERE uid >= ?1 AND uid < ?2 AND deleted = 0
AND EXISTS (SELECT 1 FROM list WHERE list.id = task.list_id AND list.deleted = 0) LIMIT ?3
"""


def lists(db: Database, project: str | None = None) -> Words:
    """Return the names of lists and the ids of plans: those of a project, or all."""
    rows = db.sql(_LISTS, (project, MAX))
    return {handle: " ".join((title, f"{count:,} open")).strip() for handle, title, count in rows}


def agents(db: Database) -> Words:
    """Return the agents that have an entry in the journal; the human and the program's own actors are none."""
    return {name: "" for (name,) in db.sql(_ACTORS, (MAX,)) if name not in vocab.RESERVED_AGENTS}


def projects(db: Database) -> Words:
    """Return the projects that have lists."""
    return {
        name: "" for (name,) in db.sql("SELECT DISTINCT project FROM list WHERE project IS NOT NULL AND deleted = 0")
    }


def checks(db: Database) -> Words:
    """Return the checks that are defined."""
    return {name: "" for (name,) in db.sql("SELECT DISTINCT name FROM check_definition WHERE deleted = 0")}


def jobs(db: Database) -> Words:
    """Return the jobs, by name."""
    rows = db.sql("SELECT name, IIF(enabled, '', 'off') FROM job WHERE deleted = 0 ORDER BY id LIMIT ?", (MAX,))
    return dict(rows)


def asks(db: Database) -> Words:
    """Return the open questions, by the first characters of their ids."""
    rows = db.sql("SELECT uid, question FROM ask WHERE state = 'open' ORDER BY opened_at LIMIT ?", (MAX,))
    return {uid[:_SHORT]: question for uid, question in rows}


def tasks(db: Database, prefix: str, handle: str | None, project: str | None, statuses: tuple[str, ...]) -> Words:
    """Return the words that begin with `prefix` and name a task in one of these statuses.

    These are the numbers of the tasks of the named list, or of the project's lists; for the beginning of a uid, the
    first characters of uids.
    """
    digits = prefix.removeprefix("#")
    sign = "#" * (digits != prefix)
    homes = _homes(db, handle, project)
    if not digits:
        return dict(_cut((f"{sign}{number}", name) for number, name in _of_lists(db, homes, statuses)))
    if digits.isdecimal() and len(digits) <= _MAX_DIGITS:
        names = _with_digits(db, digits, frozenset(homes), statuses)
        return dict(_cut((f"{sign}{number}", name) for number, name in names))
    rows = db.sql(_BY_UID, (prefix, f"{prefix}\U0010ffff", MAX))
    return {uid[: max(_SHORT, len(prefix))]: name for uid, name, status in rows if status in statuses}


def _of_lists(db: Database, homes: list[int], statuses: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of the tasks of lists in these statuses, in the order of each list."""
    for home in homes:
        rows = [row for status in statuses for row in db.sql(_IN_LIST, (home, status, MAX))]
        yield from ((number, name) for _, number, name in sorted(rows))


def _with_digits(
    db: Database, digits: str, homes: frozenset[int], statuses: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of the tasks of lists in these statuses whose number begins with the digits."""
    if digits.startswith("0"):
        return
    newest = db.scalar("SELECT ifnull(max(id), 0) FROM task")
    low, high = int(digits), int(digits)
    while low <= newest:
        rows = db.sql(_BY_NUMBER, (low, high, _NUMBERED))
        yield from ((number, name) for number, name, status, home in rows if status in statuses and home in homes)
        low, high = low * 10, high * 10 + 9


def _homes(db: Database, handle: str | None, project: str | None) -> list[int]:
    if handle is None:
        sql = "SELECT id FROM list WHERE deleted = 0 AND IFNULL(project, '') = ?1 ORDER BY archived, id LIMIT ?2"
        return [home for (home,) in db.sql(sql, (project or "", MAX))]
    named = (
        "SELECT id FROM list WHERE deleted = 0 AND ((kind = 'list' AND name = ?1) OR uid = ?1)"
        " ORDER BY kind = 'list' AND name = ?1 DESC LIMIT 1"
    )
    return [home for (home,) in db.sql(named, (handle,))]


def _cut(rows: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (row for row, _ in zip(rows, range(MAX), strict=False))
