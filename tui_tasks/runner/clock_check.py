"""Whether the clock is one to act upon: a scheduler that starts what is due in 40 days cannot take it back.

What is known of the time beside the clock is for how long the machine has been up, and what others write into the
journal meanwhile. A clock that was set, or that these contradict, is not acted upon for a while: one that is wrong at
the start of a machine, or set wrong by hand, is mostly set right within seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from statistics import median_low
from typing import Final

from tui_tasks.core import elapsed
from tui_tasks.core.engine.database import Database
from tui_tasks.uptime import Uptime

_log = logging.getLogger(__name__)

_SECOND: Final = 1_000_000
# Microseconds. Clocks that differ by less are alike.
TOLERANCE: Final = 30 * _SECOND
# So long nothing is started by a clock that was set, or of which nothing is known.
HOLD: Final = 15 * _SECOND
# The same for one that is ahead of another with which entries are being written.
CONTRADICTED: Final = 600 * _SECOND
# A machine that was off for longer than this may as well have a wrong clock.
LONG: Final = 24 * 3600 * _SECOND
# So many of the newest entries tell what the time was before: a few wrong ones among them make no difference.
WITNESSES: Final = 99


class ClockCheck:
    """What one process knows of its clock."""

    def __init__(self, clock: Callable[[], int], uptime: Callable[[], Uptime]) -> None:
        self._clock = clock
        self._uptime = uptime
        # Of the last look: for how long the machine had been up, and how far the clock is ahead of that.
        self._up = self._offset = 0
        self._heard = -1
        self._before = 0
        self._held_until = 0

    def has_jumped(self) -> bool:
        """Whether the clock was set since the last look."""
        return self._heard >= 0 and abs(self._clock() - self._uptime().up - self._offset) > TOLERANCE

    def look(self, db: Database) -> int:
        """For how long (microseconds) nothing is to be started by this clock; 0 where it is one to act upon.

        Raises:
            StorageFailed: the database cannot be read.
        """
        uptime = self._uptime()
        offset = self._clock() - uptime.up
        if self._heard < 0:
            self._begin(db, uptime, offset)
        elif abs(offset - self._offset) > TOLERANCE:
            self._doubt(uptime.up + HOLD, f"it was set {_span(offset - self._offset)}")
            # Entries from before it was set would seem to contradict it.
            self._heard = max([self._heard, *(seq for seq, _ in _newest(db, self._heard, 1))])
        else:
            self._hear(db, uptime, offset)
        self._up, self._offset = uptime.up, offset
        return max(0, self._held_until - uptime.up)

    def _begin(self, db: Database, uptime: Uptime, offset: int) -> None:
        """The first look: what is known from before."""
        now, entries, mark = uptime.up + offset, _newest(db, -1, WITNESSES), elapsed.mark(db)
        self._heard = entries[0][0] if entries else 0
        self._before = median_low([at for _, at in entries]) if entries else now
        if mark is not None and mark.machine == uptime.machine:
            wrong = offset - (mark.now - mark.up)
            if abs(wrong) > TOLERANCE:
                self._doubt(uptime.up + HOLD, f"it differs from another's of this machine: {_span(wrong)}")
        elif entries and not -TOLERANCE <= now - entries[0][1] <= LONG:
            ahead = now - entries[0][1]
            if ahead < 0:
                self._doubt(uptime.up + HOLD, f"by the newest entry of the journal it is {_span(ahead)}")
            else:
                # Nobody may have written for so long: nothing to warn of.
                self._held_until = uptime.up + HOLD

    def _hear(self, db: Database, uptime: Uptime, offset: int) -> None:
        """What was written since the last look was not written before it."""
        entries = _newest(db, self._heard, WITNESSES)
        if not entries:
            return
        self._heard = entries[0][0]
        looked = self._up + offset
        # Who writes what is older than all there was before has a wrong clock, and tells nothing of this one.
        behind = [looked - at for _, at in entries if self._before - TOLERANCE <= at < looked - TOLERANCE]
        if behind:
            self._doubt(uptime.up + CONTRADICTED, f"others write by one that is {_span(-max(behind))}")

    def _doubt(self, until: int, why: str) -> None:
        if self._held_until <= self._up:
            _log.warning("the clock is not trusted, nothing is started by it for a while: %s", why)
        self._held_until = until


def _newest(db: Database, since: int, most: int) -> list[tuple[int, int]]:
    """The number and the instant of the newest entries, the newest first."""
    found = db.sql("SELECT seq, at FROM journal WHERE seq > ? ORDER BY seq DESC LIMIT ?", (since, most))
    return [(seq, at) for seq, at in found.fetchall()]


def _span(microseconds: int) -> str:
    return f"{timedelta(seconds=abs(microseconds) // _SECOND)} {'ahead' if microseconds > 0 else 'behind'}"
