"""Which entry stood at an instant: found by bisection, so that the journal is never read whole.

Instants are microseconds, UTC.
"""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.schema.tables.journal import JournalRow as J

# So many entries back it is looked at a time for one from before the clock was set back.
STRETCH: Final = 2_000

_AT = Statement(J.select(J.at).where(J.seq >= slot("seq")).order_by(J.seq).limit(1))
_ANY_LATER = Statement(
    J.select(J.seq)
    .where((J.seq > slot("low")) & (J.seq <= slot("high")) & (J.at >= slot("at")))
    .order_by(J.seq)
    .limit(1)
)
_OLDEST = Statement(J.select(J.seq).order_by(J.seq).limit(1))


def seq_before(db: Database, instant: int) -> int:
    """Return a seq up to which all entries are earlier than an instant, usually the last such seq; 0 without one."""
    oldest = db.one(_OLDEST)
    low, high = (oldest[0] if oldest else 1), journal.newest(db) + 1
    while low < high:
        middle = (low + high) // 2
        if db.one(_AT, seq=middle)[0] < instant:
            low = middle + 1
        else:
            high = middle
    return _back_to(db, low - 1, instant)


def _back_to(db: Database, seq: int, instant: int) -> int:
    """Return a lower seq where the clock was set back: later instants may then stand before `seq`."""
    while seq > 0 and db.one(_ANY_LATER, low=seq - STRETCH, high=seq, at=instant):
        seq -= STRETCH
    return max(seq, 0)
