"""Replays the journal: applies its entries to the tables of another database, as the commits that wrote them did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.commit.apply import apply, touch
from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.schema.state_tables import STATE

# So many entries are read at a time: an open cursor would keep the journal's database from being checkpointed.
PAGE: Final = 2_000
# With the task's version after the entry, for `touch`, only for entries about `TOUCHING` entities.
_ENTRIES: Final = """
SELECT seq, at, actor, entity, uid, task, old, new,
    CASE WHEN entity IN ('log', 'state') THEN json_extract(image, '$.version') END
FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?
"""
_decode = msgspec.json.Decoder().decode


def replay(source: Database, target: Database) -> None:
    """Apply all journal entries of one database to an empty one, which then has the same tables.

    Raises:
        msgspec.DecodeError: an entry is damaged.
    """
    with target.transaction(write=True):
        begin = compaction.restore_base(source, target)
        for _ in apply_entries(source, target, begin, journal.newest(source)):
            pass


def apply_entries(source: Database, target: Database, after: int, upto: int) -> Iterator[int]:
    """Apply the entries `after < seq <= upto` within the write transaction of `target`; yield the seq of each before
    it.

    Raises:
        msgspec.DecodeError: an entry is damaged.
    """
    for seq, at, actor, entity, uid, task, old, new, version in read_entries(source, after, upto):
        yield seq
        if new is not None and entity in STATE:
            apply(target, entity, uid, None if old is None else _decode(old), _decode(new))
        if version is not None and task is not None:
            touch(target, task, version, at, actor)


def read_entries(source: Database, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of `_ENTRIES` for the entries `after < seq <= upto`, values as JSON."""
    while rows := source.sql(_ENTRIES, (after, upto, PAGE)).fetchall():
        yield from rows
        after = rows[-1][0]
