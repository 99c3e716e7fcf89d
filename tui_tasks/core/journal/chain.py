"""Verifies the journal's hash chain."""

from __future__ import annotations

from types import NoneType
from typing import Final, cast

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.journal.compaction import Base
from tui_tasks.core.schema.tables.journal import JournalRow as J

_encode = msgspec.json.Encoder().encode
_TYPES: Final = {int, str, NoneType}
_COMPACTION_ENTRY = Statement(J.select(J.kind, J.new).where(J.seq == slot("seq")))


def broken_link(db: Database) -> int | None:
    """Return the seq of the first entry that does not follow from the one before it; None if all do.

    In a compacted journal, the compaction's record has the hash that the oldest entry follows from. While the old
    entries are still being deleted, the oldest is not verified; the last of them must have the recorded hash.
    """
    base = compaction.base(db)
    first, cut = journal.oldest(db), base.last if base else 0
    if first > cut + 1:
        return first
    previous = (base.hash if base else b"") if first == cut + 1 else None
    expected = first
    rows = db.sql(f"SELECT {', '.join(c.column_name for c in journal.COLUMNS)} FROM journal ORDER BY seq")
    try:
        if base and not _tells_of(db, base):
            return base.seq
        for row in rows:
            seq, hashed = row[0], row[-1]
            is_cut = base is not None and seq == cut
            # An altered value may have any type.
            if seq != expected or not isinstance(hashed, bytes) or (is_cut and hashed != cast(Base, base).hash):
                return int(seq)
            # JSON cannot tell a blob from the text that is its Base64, so a blob is refused before hashing.
            if not _TYPES.issuperset(map(type, row[:-1])):
                return int(seq)
            if previous is not None and journal.link(previous, row[:-1]) != hashed:
                return int(seq)
            previous, expected = hashed, seq + 1
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        # A text was altered so that it is not UTF-8.
        return int(expected)
    return None


def _tells_of(db: Database, base: Base) -> bool:
    """Return whether the entry that should record the compaction does so."""
    row = db.one(_COMPACTION_ENTRY, seq=base.seq)
    expected_json = _encode({"last": base.last, "hash": base.hash.hex()}).decode()[:-1]
    return row is not None and row[0] == "journal.compacted" and str(row[1]).startswith(expected_json)
