"""`compact`: the human drops old entries of the journal, after being told how many."""

from __future__ import annotations

import re
import sys
from datetime import datetime

from tui_tasks.core import compaction, journal
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations import CompactJournal
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN

DAY = 24 * 3600 * 1_000_000
_DAYS = {"d": 1, "w": 7}


def instant(text: str, now: int) -> int:
    """The instant (microseconds, UTC) that a person means: `90d`, `12w`, or a date, with or without a time.

    Raises:
        InvalidArgument: it is none of these, or not past.
    """
    if age := re.fullmatch(r"(\d{1,5})([dw])", text):
        return now - int(age[1]) * _DAYS[age[2]] * DAY
    try:
        meant = int(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument("before", f"{text} is no age like 90d or 12w, and no date like 2026-01-31") from None
    if meant > now:
        raise InvalidArgument("before", f"{text} is not past yet")
    return meant


def run(store: Store, before: int, now: int, *, asked: bool) -> int:
    """Drop what is older than an instant; without `asked` only when the human agrees. Return the exit status."""
    count = compaction.first_since(store.db, before) - journal.oldest(store.db)
    if count > 0 and not asked and not _agreed(count):
        print("nothing was dropped")
        return 1
    store.commit(CompactJournal(before), actor=HUMAN, now=now)
    while compaction.drop_some(store.db):
        pass
    print(f"dropped {count:,} entries; the journal begins at {journal.oldest(store.db):,}")
    return 0


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise InvalidArgument("yes", "nobody can be asked here: say --yes")
    told = f"{count:,} entries are dropped: history, and undo of what they tell of, end there. Drop them? [y/N] "
    return input(told).strip().lower() in ("y", "yes")
