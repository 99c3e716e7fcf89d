"""Reads of matching tasks and memories, for `task`, `memory` and `control:find` (docs: protocol, sections 6 and 7); and
the full-text index of tasks, which finds a rare word among a million tasks at once. It is SQLite's own (FTS5).

The index is derived data: it is no part of the state, the journal has no entries about it, and it can be dropped at any
time. Writes do not update it, as that would make them half as expensive again; `catch_up_index` does so later. Searches
also look at what was written since and check what was found, so an index that is behind changes no result.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.tasks.task_queries import IN_LIVE_LIST, LIVE, TASK_BY_ID, list_by_id, read_task
from tui_tasks.core.read.tasks.task_records import read_memory
from tui_tasks.core.schema.record_tables import MemoryRow
from tui_tasks.core.schema.tables import WAITS, TaskRow, columns
from tui_tasks.core.snapshots import Memory, Task, TaskList

# All matches are counted, so reading each of this many costs less than going through a long list.
MAX_FOUND: Final = 100_000
ANY_PRIORITY: Final = (vocab.URGENT, 2**63 - 1)
"""The lowest and the highest number."""

_PART: Any = (
    LIVE
    & (TaskRow.list_id == slot("list"))
    & (TaskRow.status == slot("status"))
    & (slot("waits") == WAITS)
    & (TaskRow.priority >= slot("lowest"))
    & (TaskRow.priority <= slot("highest"))
    & ((TaskRow.priority > slot("lowest")) | (TaskRow.id > slot("behind")))
)
_URGENT_FIRST = (TaskRow.priority, TaskRow.id)
_FIRST = Statement(lambda: TaskRow.select(*_URGENT_FIRST).where(_PART).order_by(*_URGENT_FIRST).limit(slot("limit")))
_HOW_MANY = Statement(lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(_PART))
_MEMORY = Statement(lambda: MemoryRow.select(*columns(MemoryRow).values()).where(MemoryRow.id == slot("id")))
# Row numbers begin with 1.
_FIRST_OF_ALL: Final = (vocab.URGENT, 0)


def tasks(
    db: Database,
    list_id: int,
    *,
    statuses: Iterable[str] = vocab.STATUSES,
    priorities: tuple[int, int] = ANY_PRIORITY,
    tags: Iterable[str] = (),
    domain: str | None = None,
    query: str | None = None,
    limit: int | None = None,
    after: str | None = None,
) -> tuple[Generator[Task, None, None], int]:
    """Return the matching tasks of a list one by one, most urgent first, then oldest, and how many match in all.

    `priorities` are the lowest and the highest number, both included; `after`: only tasks after the one of that uid.

    Raises:
        NotFound: that task is not, or no longer, among them.
    """
    among = sorted(set(statuses))
    if limit is not None and query is None and domain is None and not tags:
        begin = _FIRST_OF_ALL
        if after is not None:
            of_list: Any = LIVE & (TaskRow.list_id == list_id)
            begin = _place_of(db, after, of_list & TaskRow.status.in_(among) & TaskRow.priority.between(*priorities))
        page = _page(db, list_id, among, priorities, begin, limit)
        return _read_one_by_one(db, iter(page)), _count(db, list_id, among, priorities)
    narrow = None if query is None else narrowed(db, [query], MAX_FOUND)
    wanted: Any = LIVE & in_list(list_id, narrow) & TaskRow.status.in_(among)
    wanted &= TaskRow.priority.between(*priorities)
    wanted = _with(wanted, tags, domain, query)
    total = db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(wanted))[0][0]
    if after is not None:
        priority, number = _place_of(db, after, wanted)
        wanted &= (TaskRow.priority > priority) | ((TaskRow.priority == priority) & (TaskRow.id > number))
    # Only the columns of the sort order are read at once.
    places = db.each_of(TaskRow.select(*_URGENT_FIRST).where(wanted).order_by(*_URGENT_FIRST))
    return _read_one_by_one(db, islice(places, limit)), total


def _with(wanted: Any, tags: Iterable[str], domain: str | None, query: str | None) -> Any:
    """Return a condition with those that a task has these tags, this domain and this text."""
    for tag in tags:
        wanted &= fn.has_tag(TaskRow.tags, tag) == 1
    if domain is not None:
        wanted &= TaskRow.domain == domain
    return wanted if query is None else wanted & _has_text(query)


def of_all_lists(
    db: Database,
    *,
    text: str | None,
    list_id: int | None,
    statuses: Iterable[str],
    tag: str | None,
    agent: str | None,
    behind: int,
) -> Generator[tuple[Task, TaskList], None, None]:
    """Yield the matching tasks with their lists, oldest first; `behind`: only those with a higher row id."""
    narrow = None if text is None else narrowed(db, [text], MAX_FOUND)
    wanted: Any = LIVE & IN_LIVE_LIST & (TaskRow.id > behind) & TaskRow.status.in_(sorted(set(statuses)))
    if list_id is not None:
        wanted &= in_list(list_id, narrow)
    elif narrow is not None:
        wanted &= narrow
    if agent is not None:
        wanted &= TaskRow.agent == agent
    wanted = _with(wanted, () if tag is None else (tag,), None, text)
    homes: dict[int, TaskList] = {}
    for (number,) in db.each_of(TaskRow.select(TaskRow.id).where(wanted).order_by(TaskRow.id)):
        task = read_task(db.one(TASK_BY_ID, id=number))
        if task.list_id not in homes:
            homes[task.list_id] = list_by_id(db, task.list_id)
        yield task, homes[task.list_id]


def _has_text(text: str) -> Any:
    """Return the condition that a text is in the name or the description, without regard to case."""
    folded = text.casefold()
    return (fn.instr(fn.casefold(TaskRow.name), folded) > 0) | (fn.instr(fn.casefold(TaskRow.description), folded) > 0)


def _read_one_by_one(db: Database, places: Iterator[tuple[int, int]]) -> Generator[Task, None, None]:
    for _, number in places:
        yield read_task(db.one(TASK_BY_ID, id=number))


def _place_of(db: Database, uid: str, wanted: Any) -> tuple[int, int]:
    """Return the priority and number of the task with that uid.

    Raises:
        NotFound: it is not among the matching tasks.
    """
    rows = db.query(TaskRow.select(*_URGENT_FIRST).where(wanted & (TaskRow.uid == uid)))
    if not rows:
        raise NotFound("task", uid)
    return rows[0][0], rows[0][1]


def _page(
    db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int], begin: tuple[int, int], limit: int
) -> list[tuple[int, int]]:
    """Return the first matching tasks after `begin` in `task_urgency`, at a cost that does not grow with the list."""
    places: list[tuple[int, int]] = []
    lowest, behind = max(begin, (between[0], 0))
    for part in _parts(list_id, statuses, (lowest, between[1])):
        places += db.all(_FIRST, limit=limit, behind=behind, **part)
    return heapq.nsmallest(limit, places)


def _count(db: Database, list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> int:
    if between == ANY_PRIORITY:
        home = list_by_id(db, list_id)
        return sum(getattr(home, status) for status in statuses)
    return sum(db.one(_HOW_MANY, behind=0, **part)[0] for part in _parts(list_id, statuses, between))


def _parts(list_id: int, statuses: Iterable[str], between: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Yield the contiguous parts of `task_urgency`: one status each, with and without tasks that wait for others."""
    for status in statuses:
        for waits in (0, 1):
            yield {"list": list_id, "status": status, "waits": waits, "lowest": between[0], "highest": between[1]}


def memories(
    db: Database,
    *,
    list_id: int | None = None,
    uid: str | None = None,
    query: str | None = None,
    domain: str | None = None,
    limit: int | None = None,
) -> tuple[Generator[Memory, None, None], int]:
    """Return the matching memories one by one, last updated first, and how many match in all.

    `list_id`: only memories of that list's tasks.
    """
    wanted: Any = MemoryRow.deleted == 0
    if list_id is not None:
        wanted &= MemoryRow.task_uid.in_(TaskRow.select(TaskRow.uid).where(TaskRow.list_id == list_id))
    if uid is not None:
        wanted &= MemoryRow.uid == uid
    if domain is not None:
        wanted &= MemoryRow.domain == domain
    if query is not None:
        folded = query.casefold()
        # The content is stored as JSON, so it contains a text in JSON's spelling.
        within = msgspec.json.encode(folded).decode()[1:-1]
        wanted &= (fn.instr(fn.casefold(MemoryRow.title), folded) > 0) | (
            fn.instr(fn.casefold(MemoryRow.content), within) > 0
        )
    total = db.query(MemoryRow.select(fn.COUNT(MemoryRow.id)).where(wanted))[0][0]
    latest_first = (MemoryRow.updated_at.desc(), MemoryRow.id.desc())
    rows = db.each_of(MemoryRow.select(MemoryRow.id).where(wanted).order_by(*latest_first))
    return (read_memory(db.one(_MEMORY, id=number)) for (number,) in islice(rows, limit)), total


# With fewer tasks than this no index is made: reading each takes no longer than a frame.
WORTH_IT: Final = 5_000
# Rows of a step; it holds the write lock for some milliseconds.
STEP: Final = 200
# A step waits for this many entries, as each costs a commit.
SLACK: Final = 500
# An index that is behind by more entries than this is not used.
MAX_BEHIND: Final = 5_000
# If more tasks than this may have a word, reading all tasks in order soon finds some.
MAX_NARROWED: Final = 5_000

_MAKE: Final = (
    # An index of earlier versions has no tags.
    "DROP TABLE IF EXISTS search",
    "DROP TABLE IF EXISTS search_progress",
    "CREATE VIRTUAL TABLE search_words USING fts5"
    "(said, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1')",
    # Its progress: the index has the tasks up to this id (NULL: all), as of the journal's entry `seq`.
    "CREATE TABLE search_words_reached (id INTEGER, seq INTEGER NOT NULL)",
    "INSERT INTO search_words_reached VALUES (0, 0)",
)
_NOT_INDEXED: Final = "SELECT id, name, description, tags FROM task WHERE id > ? ORDER BY id LIMIT ?"
_WRITTEN: Final = (
    "FROM journal JOIN task ON task.uid = journal.uid WHERE journal.seq > ? AND journal.seq <= ? "
    "AND journal.entity = 'task' AND json_valid(journal.new) AND (json_type(journal.new, '$.name') IS NOT NULL "
    "OR json_type(journal.new, '$.description') IS NOT NULL OR json_type(journal.new, '$.tags') IS NOT NULL)"
)


def catch_up_index(db: Database, most: int = STEP) -> bool:
    """Add some of what was written since to the index, in a transaction of its own; return whether there is more.

    The index is made once a database has enough tasks for it to pay.

    Raises:
        StorageFailed: nothing was written.
    """
    if not _is_behind(db):
        return False
    with db.transaction(write=True):
        if _progress(db) is None:
            for statement in _MAKE:
                db.sql(statement)
            _start_over(db)
        elif _is_cut_off(db):
            db.sql("INSERT INTO search_words (search_words) VALUES ('delete-all')")
            _start_over(db)
        _index_some(db, most)
    return _is_behind(db)


def narrowed(db: Database, words: Iterable[str], most: int = MAX_NARROWED) -> Any:
    """Return a condition that all tasks with all the words in their name, description or tags meet, and few others.

    None if it would not help: the words are short, more than `most` tasks may have them, or there is no index, or it is
    far behind. The caller must still check the tasks that are found.
    """
    wanted = _query(words)
    progress = _progress(db) if wanted else None
    if progress is None or progress[0] is not None or _is_cut_off(db):
        return None
    seq, newest = progress[1], journal.newest(db)
    if newest - seq > MAX_BEHIND:
        return None
    found = db.sql("SELECT rowid FROM search_words WHERE search_words MATCH ? LIMIT ?", (wanted, most + 1))
    numbers = [number for (number,) in found]
    if len(numbers) > most:
        return None
    numbers += [row[0] for row in db.sql(f"SELECT DISTINCT task.id {_WRITTEN}", (seq, newest))]
    return TaskRow.id.in_(SQL("(SELECT value FROM json_each(?))", [msgspec.json.encode(numbers).decode()]))


def in_list(list_id: int, narrow: Any) -> Any:
    """Return the condition that a task is in a list and meets `narrow`, unless that is None."""
    # The sum keeps SQLite from going through the whole list by an index.
    return TaskRow.list_id == list_id if narrow is None else narrow & (TaskRow.list_id + 0 == list_id)


def _folded(text: str) -> str:
    # FTS5 reads a NUL as the end of the text.
    return text.casefold().replace("\0", " ")


def _query(words: Iterable[str]) -> str:
    """Return the FTS5 query for all trigrams of all words; "" if there are none."""
    threes: dict[str, None] = {}
    for word in words:
        folded = word.casefold()
        if "\0" not in folded:
            threes |= dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return " AND ".join('"{}"'.format(three.replace('"', '""')) for three in list(threes)[:12])


def _progress(db: Database) -> tuple[int | None, int] | None:
    if db.scalar("SELECT 1 FROM sqlite_master WHERE name = 'search_words_reached'") is None:
        return None
    progress: tuple[int | None, int] = db.sql("SELECT id, seq FROM search_words_reached").fetchone()
    return progress


def _is_behind(db: Database) -> bool:
    progress = _progress(db)
    if progress is None:
        pays = (db.scalar("SELECT max(id) FROM task") or 0) >= WORTH_IT
        return pays and bool(db.scalar("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'"))
    return progress[0] is not None or journal.newest(db) - progress[1] > SLACK or _is_cut_off(db)


def _is_cut_off(db: Database) -> bool:
    """Return whether entries that are not in the index were compacted away."""
    progress, oldest = _progress(db), db.scalar("SELECT min(seq) FROM journal")
    return progress is not None and oldest is not None and progress[1] + 1 < oldest


def _start_over(db: Database) -> None:
    db.sql("UPDATE search_words_reached SET id = 0, seq = ?", (journal.newest(db),))


def _index_some(db: Database, most: int) -> None:
    progress = _progress(db)
    assert progress is not None
    upto, seq = progress
    if upto is not None:
        rows = db.sql(_NOT_INDEXED, (upto, most)).fetchall()
        upto = rows[-1][0] if len(rows) == most else None
    else:
        until = min(seq + most, journal.newest(db))
        rows = db.sql(
            f"SELECT DISTINCT task.id, task.name, task.description, task.tags {_WRITTEN}", (seq, until)
        ).fetchall()
        seq = until
    for number, *texts in rows:
        said = _folded("\n".join(texts))
        db.sql("INSERT OR REPLACE INTO search_words (rowid, said) VALUES (?, ?)", (number, said))
    db.sql("UPDATE search_words_reached SET id = ?, seq = ?", (upto, seq))
