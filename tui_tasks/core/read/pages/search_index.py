"""A full-text index of tasks, which finds a rare word among a million tasks at once. It is SQLite's own (FTS5).

It is derived data: it is no part of the state, the journal has no entries about it, and it can be dropped at any time.
Writes do not update it, as that would make them half as expensive again; `catch_up` does so later. Searches also look
at what was written since and check what was found, so an index that is behind changes no result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL
from tui_tasks.core.schema.tables import TaskRow

# With fewer tasks than this, reading each takes no longer than a frame.
WORTH_IT: Final = 5_000
# Rows of a step; it holds the write lock for some milliseconds.
STEP: Final = 200
# A step waits for this many entries, as each costs a commit.
SLACK: Final = 500
# An index that is behind by more entries than this is not used.
MAX_BEHIND: Final = 5_000
# If more tasks than this may have a word, reading all tasks in order soon finds some.
MAX_FOUND: Final = 5_000

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
_BY_ID: Final = "SELECT id, name, description, tags FROM task WHERE id > ? ORDER BY id LIMIT ?"
_WRITTEN: Final = (
    "FROM journal JOIN task ON task.uid = journal.uid WHERE journal.seq > ? AND journal.seq <= ? "
    "AND journal.entity = 'task' AND json_valid(journal.new) AND (json_type(journal.new, '$.name') IS NOT NULL "
    "OR json_type(journal.new, '$.description') IS NOT NULL OR json_type(journal.new, '$.tags') IS NOT NULL)"
)


def catch_up(db: Database, most: int = STEP) -> bool:
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


def narrowed(db: Database, words: Iterable[str], most: int = MAX_FOUND) -> Any:
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


def of_list(list_id: int, narrow: Any) -> Any:
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
        rows = db.sql(_BY_ID, (upto, most)).fetchall()
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
