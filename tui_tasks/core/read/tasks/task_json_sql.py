"""Tasks as the JSON that commands print, written by SQLite itself.

For 10,000 tasks that takes a tenth of the time that Python would, and importing Peewee would take as long as all the
rest. So the SQL is plain text here, and `test_task_json_sql` compares its result with Python's.

SQLite also joins the objects: a row for each would take a fifth longer. Its texts are limited to 1 GB, so a list is
written by pages.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterator
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.vocab import SET_FIELDS

# The members of `snapshots.full_task`, in its order; `list` and `blocked` are not columns.
_NAMES: Final = (
    *(
        "uid",
        "number",
        "key",
        "list",
        "name",
        "description",
        "status",
        "priority",
        "tags",
        "domain",
        "result",
        "metadata",
    ),
    *("agent", "intent", "depends_on", "blocked", "held", "node_ids", "version"),
    *("created_at", "updated_at", "started_at", "finished_at"),
    *FIELDS,
)
_COLUMNS: Final = {"number": "id"}
_JSON: Final = frozenset({"result", "metadata"})
PAGE: Final = 500  # tasks: their text fits into memory that is already allocated
SHORT: Final = 24 << 20  # bytes of a database any page of which fits into memory


def _member(name: str) -> str:
    """Return the SQL of the value of a member."""
    if name == "list":
        return "IIF(list.kind = 'plan', list.uid, list.name)"
    if name == "blocked":
        return "json(IIF(task.waiting_on > 0, 'true', 'false'))"
    if name == "held":
        return "json(IIF(task.held, 'true', 'false'))"
    if name.endswith("_at"):
        # As `snapshots.iso` writes it: milliseconds, truncated. strftime would take twice as long.
        return f"replace(datetime(task.{name} / 1000 / 1000.0, 'unixepoch', 'subsec'), ' ', 'T') || '+00:00'"
    if name in SET_FIELDS:
        # Nearly all are empty, and SQLite parses a constant only once.
        return f"IIF(task.{name} = '[]', json('[]'), json(task.{name}))"
    return f"json(task.{name})" if name in _JSON else f"task.{_COLUMNS.get(name, name)}"


_MEMBERS: Final = ", ".join(f"'{name}', {_member(name)}" for name in _NAMES)
_NO_MORE: Final = "'verified', NULL, 'checks', json('[]'), 'work', NULL, 'works', json('[]')"
_LIVE: Final = "task.deleted = 0 AND task.list_id = ?"
_LISTS: Final = "SELECT id FROM list WHERE deleted = 0 AND (?1 IS NULL OR IFNULL(project, '') = ?1) ORDER BY id"
# The list of that name, otherwise the plan of that id, as in `task_queries.find_list`.
_LIST: Final = (
    "SELECT id FROM list WHERE deleted = 0 AND ((kind = 'list' AND name = ?1) OR uid = ?1)"
    " ORDER BY kind = 'list' AND name = ?1 DESC LIMIT 1"
)


def tasks(
    db: Database, handle: str | None = None, statuses: Collection[str] = (), project: str | None = None
) -> Generator[str, None, None]:
    """Yield the tasks of a list in order, or of all lists, as JSON objects with every field (docs: protocol,
    section 7).

    Each text has up to `PAGE` objects with commas between them, and is not empty. `statuses`: only tasks in these, if
    any are given. `project`: all its lists (empty: those of no project), if no list is named. A read transaction lasts
    until the last text is taken.

    Raises:
        NotFound: there is no such list.
        StorageFailed: the database cannot be read.
    """
    with db.transaction(write=False):
        # Databases with checks or work are rare, and the members about them are written in Python.
        has_more = any(db.scalar(f"SELECT EXISTS (SELECT 1 FROM {table})") for table in ("check_definition", "work"))
        pages = _pages_with_more if has_more else _pages
        homes: list[Any] = (db.sql(_LISTS, (project,)) if handle is None else db.sql(_LIST, (handle,))).fetchall()
        if not homes and handle is not None:
            raise NotFound("list", handle)
        for (home,) in homes:
            yield from pages(db, home, tuple(statuses))


def _may_be_long(db: Database) -> bool:
    """Return whether a page of tasks may be too long for memory."""
    return bool(db.scalar("PRAGMA page_count") * db.scalar("PRAGMA page_size") > SHORT)


def _page(statuses: tuple[str, ...], members: str, more: str = "", limit: int = -1) -> str:
    wanted = f"{_LIVE} AND task.status IN ({', '.join('?' * len(statuses))})" if statuses else _LIVE
    return (
        f"SELECT task.rank, json_object({members}) AS text{more} FROM task JOIN list ON list.id = task.list_id"
        f" WHERE {wanted} AND task.rank > ? ORDER BY task.rank LIMIT {limit}"
    )


def _pages(db: Database, home: int, statuses: tuple[str, ...]) -> Iterator[str]:
    members = f"{_MEMBERS}, {_NO_MORE}"
    if _may_be_long(db):
        for _, text in db.sql(_page(statuses, members), (home, *statuses, "")):
            yield text
        return
    query = f"SELECT group_concat(text, ', '), max(rank) FROM ({_page(statuses, members, limit=PAGE)})"
    rank = ""
    while rank is not None:
        text, rank = db.sql(query, (home, *statuses, rank)).fetchone()
        if text is not None:
            yield text


def _pages_with_more(db: Database, home: int, statuses: tuple[str, ...]) -> Iterator[str]:
    from tui_tasks.core.read import check_queries, work_text
    from tui_tasks.core.read.tasks import task_queries
    from tui_tasks.core.snapshots import verified
    from tui_tasks.text.safe import dumps

    known, of_list = check_queries.definitions(db), task_queries.list_by_id(db, home)
    query = _page(statuses, _MEMBERS, ", task.uid, task.checks", 1 if _may_be_long(db) else PAGE)
    rank = ""
    while rows := db.sql(query, (home, *statuses, rank)).fetchall():
        rank = rows[-1][0]
        given = [(uid, json.loads(names) if names else None) for _, _, uid, names in rows]
        checks = check_queries.of_tasks(db, given, of_list, known)
        works_of = work_text.json_of_tasks(db, [uid for uid, _ in given])
        texts = []
        for _, text, uid, _ in rows:
            check_list = [check.to_json() for check in checks.get(uid, ())]
            more: dict[str, Any] = {"verified": verified(check["state"] for check in check_list), "checks": check_list}
            works = works_of.get(uid, [])
            more |= {"work": works[-1] if works else None, "works": works}
            texts.append(f"{text[:-1]}, {dumps(more)[1:]}")
        yield ", ".join(texts)
