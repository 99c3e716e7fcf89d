"""What happened since an instant, for a person who was away: read from the journal and the state, and nothing else.

It includes every failure of that time, also one that was resolved since. Instants are microseconds, UTC.
"""

from __future__ import annotations

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import compaction, instants, journal
from tui_tasks.core.read.digest import entries
from tui_tasks.core.read.digest.digest_line import PARTS, DigestLine
from tui_tasks.core.read.digest.failed import failed
from tui_tasks.core.read.digest.filed import filed
from tui_tasks.core.read.digest.needs_you import needs_you
from tui_tasks.core.read.digest.reported import reported
from tui_tasks.core.read.digest.spent import spent


class Digest(msgspec.Struct, frozen=True):
    """What happened from `since` to `until`: the entries after seq `after` up to `newest`.

    `is_cut`: entries of that time were compacted away.
    """

    since: int
    until: int
    after: int
    newest: int
    is_cut: bool
    lines: tuple[DigestLine, ...]

    @property
    def parts(self) -> dict[str, list[DigestLine]]:
        """Return the lines of each part, in the order of `PARTS`."""
        return {part: [line for line in self.lines if line.part == part] for part in PARTS}


def digest(db: Database, since: int, now: int) -> Digest:
    """Return what happened since an instant, and what needs the human now."""
    with db.transaction(write=False):
        after = max(instants.seq_before(db, since), journal.oldest(db) - 1)
        newest = journal.newest(db)
        needing = list(needs_you(db))
        statuses, events = entries.statuses(db, after), entries.events(db, after)
        lines = [
            *needing,
            *failed(db, statuses, events),
            *reported(db, statuses, events, {line.uid for line in needing if line.kind == "check"}),
            *filed(db, after, events),
            *spent(events),
        ]
        is_cut = since < _compacted_before(db)
    order = {part: number for number, part in enumerate(PARTS)}
    lines.sort(key=lambda line: (order[line.part], line.kind == "unchecked", line.at, line.key))
    return Digest(since, now, after, newest, is_cut, tuple(lines))


def _compacted_before(db: Database) -> int:
    """Return the instant before which entries were compacted away; 0 if none were."""
    base = compaction.base(db)
    row = db.sql("SELECT new FROM journal WHERE seq = ?", (base.seq,)).fetchone() if base is not None else None
    return int(msgspec.json.decode(row[0]).get("before", 0)) if row is not None else 0
