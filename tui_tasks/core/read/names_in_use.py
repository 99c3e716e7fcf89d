"""The names in a database, for a shell's completion. In plain SQL, as importing Peewee takes too long.

Each function returns words with a text about each. What may be many in a large database is limited to `MAX`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database

MAX: Final = 200
# How many tasks from the top of a list are offered by their numbers.
_NUMBERED: Final = 2_000
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
WHERE deleted = 0 AND (?1 IS NULL OR project = ?1) ORDER BY archived, id DESC LIMIT ?2
"""
_PLACES: Final = """
SELECT number, name, status FROM (
    SELECT row_number() OVER (ORDER BY rank) AS number, name, status
    FROM task WHERE list_id = ?1 AND deleted = 0 ORDER BY rank LIMIT ?2
)
"""
_IN_LIST: Final = """
SELECT uid, name FROM task INDEXED BY task_column
WHERE list_id = ?1 AND deleted = 0 AND status = ?2 ORDER BY rank LIMIT ?3
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

    These are the tasks' numbers if all are of one list (the named one, or the only one); otherwise the first characters
    of their uids.
    """
    homes = _homes(db, handle, project)
    number = prefix.removeprefix("#")
    if len(homes) == 1 and (not number or number.isdecimal()):
        sign = "#" * (number != prefix)
        rows = db.sql(_PLACES, (homes[0], _NUMBERED))
        found = ((f"{sign}{place}", name) for place, name, status in rows if status in statuses)
        if numbered := dict(_cut((word, name) for word, name in found if word.startswith(prefix))):
            return numbered
    if prefix:
        rows = db.sql(_BY_UID, (prefix, f"{prefix}\U0010ffff", MAX))
        return {uid[: max(_SHORT, len(prefix))]: name for uid, name, status in rows if status in statuses}
    each = (db.sql(_IN_LIST, (home, status, MAX)) for status in statuses for home in homes)
    return dict(_cut((uid[:_SHORT], name) for rows in each for uid, name in rows))


def _homes(db: Database, handle: str | None, project: str | None) -> list[int]:
    if handle is None:
        found = "SELECT id FROM list WHERE deleted = 0 AND (?1 IS NULL OR project = ?1) ORDER BY archived, id LIMIT ?2"
        return [home for (home,) in db.sql(found, (project, MAX))]
    named = (
        "SELECT id FROM list WHERE deleted = 0 AND ((kind = 'list' AND name = ?1) OR uid = ?1)"
        " ORDER BY kind = 'list' AND name = ?1 DESC LIMIT 1"
    )
    return [home for (home,) in db.sql(named, (handle,))]


def _cut(rows: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (row for row, _ in zip(rows, range(MAX), strict=False))
