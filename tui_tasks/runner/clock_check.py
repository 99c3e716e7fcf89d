"""Decides whether the system clock can be trusted: a run that a wrong clock starts too early cannot be taken back.

The clock is compared with the machine's uptime and with the instants of entries that other processes write into the
journal. After a jump or a contradiction the scheduler starts nothing for a while, because a clock that is wrong after
boot or set wrong by hand is usually corrected within seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from statistics import median_low
from typing import Final

from tui_tasks.clock import Uptime
from tui_tasks.core.commit import database_clock
from tui_tasks.core.engine.database import Database
from tui_tasks.text.times import DAY, MINUTE, SECOND

_log = logging.getLogger(__name__)

# All times are in microseconds. Clocks that differ by less count as equal.
TOLERANCE: Final = 30 * SECOND
# How long nothing is started after the clock was set, or while nothing confirms it.
HOLD: Final = 15 * SECOND
# How long nothing is started by a clock that is ahead of the one with which others write entries.
CONTRADICTED: Final = 10 * MINUTE
# A newest entry older than this may mean a machine that was off, or a wrong clock.
LONG_PAUSE: Final = DAY
# The median of this many newest entries is the time before the start, so that a few wrong instants do not matter.
WITNESSES: Final = 99


class ClockCheck:
    """Judges the wall clock of one process.

    Args:
        clock: returns the time of day, in microseconds since the epoch.
        uptime: returns how long the machine has been up.
    """

    def __init__(self, clock: Callable[[], int], uptime: Callable[[], Uptime]) -> None:
        self._clock = clock
        self._uptime = uptime
        # The uptime at the last look, and the clock's reading minus that uptime.
        self._last_uptime = self._last_offset = 0
        self._last_seq = -1
        self._usual_before = 0
        self._held_until = 0

    def has_jumped(self) -> bool:
        """Return whether the clock was set since the last look."""
        return self._last_seq >= 0 and abs(self._clock() - self._uptime().up - self._last_offset) > TOLERANCE

    def look(self, db: Database) -> int:
        """Return for how many microseconds nothing is to be started by this clock; 0 if it is trusted.

        Raises:
            StorageFailed: the database cannot be read.
        """
        uptime = self._uptime()
        offset = self._clock() - uptime.up
        if self._last_seq < 0:
            self._compare_with_earlier(db, uptime, offset)
        elif abs(offset - self._last_offset) > TOLERANCE:
            self._distrust(uptime.up + HOLD, f"it was set {_format_offset(offset - self._last_offset)}")
            # Skip entries written before the clock was set, which would seem to contradict it.
            self._last_seq = max([self._last_seq, *(seq for seq, _ in _newest(db, self._last_seq, 1))])
        else:
            self._compare_with_new_entries(db, uptime, offset)
        self._last_uptime, self._last_offset = uptime.up, offset
        return max(0, self._held_until - uptime.up)

    def _compare_with_earlier(self, db: Database, uptime: Uptime, offset: int) -> None:
        """Compare the clock with what was recorded before this process started."""
        now, entries, mark = uptime.up + offset, _newest(db, -1, WITNESSES), database_clock.mark(db)
        self._last_seq = entries[0][0] if entries else 0
        self._usual_before = median_low([at for _, at in entries]) if entries else now
        if mark is not None and mark.machine == uptime.machine:
            wrong = offset - (mark.now - mark.up)
            if abs(wrong) > TOLERANCE:
                self._distrust(uptime.up + HOLD, f"it differs from another's of this machine: {_format_offset(wrong)}")
        elif entries and not -TOLERANCE <= now - entries[0][1] <= LONG_PAUSE:
            ahead = now - entries[0][1]
            if ahead < 0:
                self._distrust(uptime.up + HOLD, f"by the newest entry of the journal it is {_format_offset(ahead)}")
            else:
                # Possibly nobody wrote for that long, so log no warning.
                self._held_until = uptime.up + HOLD

    def _compare_with_new_entries(self, db: Database, uptime: Uptime, offset: int) -> None:
        """Distrust the clock if an entry written since the last look has an instant before that look."""
        entries = _newest(db, self._last_seq, WITNESSES)
        if not entries:
            return
        self._last_seq = entries[0][0]
        looked = self._last_uptime + offset
        # An instant older than the usual ones comes from a writer with a wrong clock and says nothing about this one.
        behind = [looked - at for _, at in entries if self._usual_before - TOLERANCE <= at < looked - TOLERANCE]
        if behind:
            self._distrust(uptime.up + CONTRADICTED, f"others write by one that is {_format_offset(-max(behind))}")

    def _distrust(self, until: int, why: str) -> None:
        if self._held_until <= self._last_uptime:
            _log.warning("the clock is not trusted, nothing is started by it for a while: %s", why)
        self._held_until = until


def _newest(db: Database, since: int, most: int) -> list[tuple[int, int]]:
    """Return the seq and instant of up to `most` entries after `since`, newest first."""
    rows = db.sql("SELECT seq, at FROM journal WHERE seq > ? ORDER BY seq DESC LIMIT ?", (since, most))
    return [(seq, at) for seq, at in rows.fetchall()]


def _format_offset(microseconds: int) -> str:
    return f"{timedelta(seconds=abs(microseconds) // SECOND)} {'ahead' if microseconds > 0 else 'behind'}"
