"""`compact`: the human drops old entries of the journal, after seeing how many."""

from __future__ import annotations

import sys

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.maintenance import compacting
from tui_tasks.core.store import Store


def run(store: Store, before: int, now: int, *, asked: bool) -> int:
    """Drop entries older than an instant; without `asked` only if the human agrees. Return the exit status."""
    count = compaction.older_than(store.db, before, now)
    if count > 0 and not asked and not _agreed(count):
        print("nothing was dropped")
        return 1
    count = compacting.compact(store, before, now)
    print(f"dropped {count:,} entries; the journal begins at {journal.oldest(store.db):,}")
    return 0


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise InvalidArgument("yes", "nobody can be asked here: say --yes")
    told = f"{count:,} entries are dropped: history, and undo of what they tell of, end there. Drop them? [y/N] "
    return input(told).strip().lower() in ("y", "yes")
