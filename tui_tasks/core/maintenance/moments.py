"""The moments of the past that can be shown: after which entry, and at which instant."""

from __future__ import annotations

from bisect import bisect_right
from datetime import tzinfo

import msgspec

from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, InvalidArgument
from tui_tasks.text import times
from tui_tasks.text.times import HOUR
from tui_tasks.text.times import moment as moment_text


class Moment(msgspec.Struct, frozen=True, gc=False):
    """A past state.

    Attributes:
        seq: the entry after which it was; 0: before the first.
        instant: from when it is seen, in microseconds since the epoch: that of the entry, or a later one before the
            next entry.
    """

    seq: int
    instant: int


def parse(db: Database, text: str, now: int, zone: tzinfo | None = None) -> Moment:
    """Return the moment that a person means: the number of an entry, or an instant as `times.past` takes it.

    Raises:
        InvalidArgument: it is neither, lies in the future, or is earlier than the journal.
        Conflict: nothing has been written yet.
    """
    newest = journal.newest(db)
    if not newest:
        raise Conflict("nothing has been written yet, so there is no past to show")
    if text.strip().isdecimal():
        return _moment_of_entry(db, int(text), newest, zone)
    try:
        instant = times.past(text, now, zone)
    except ValueError as refused:
        raise InvalidArgument("at", f"{refused}, or the number of an entry") from None
    moment = at(db, instant)
    if instant < _begins(db):
        raise InvalidArgument("at", f"{text} is earlier than {_earliest_text(db, zone)}")
    return moment


def _moment_of_entry(db: Database, seq: int, newest: int, zone: tzinfo | None) -> Moment:
    if seq > newest:
        raise InvalidArgument("at", f"there is no entry {seq:,} yet: the newest is {newest:,}")
    if seq < max(earliest(db), 1):
        raise InvalidArgument("at", f"entry {seq:,} is earlier than {_earliest_text(db, zone)}")
    return after(db, seq)


def _earliest_text(db: Database, zone: tzinfo | None) -> str:
    first = max(earliest(db), 1)
    why = " (earlier entries were compacted away)" if compaction.base(db) is not None else ""
    return f"the journal, which begins with entry {first:,}, {moment_text(_begins(db), zone)}{why}"


def earliest(db: Database) -> int:
    """Return the seq of the earliest state that can be shown: 0 is that of a new database."""
    base = compaction.base(db)
    return base.tables if base is not None else 0


def _begins(db: Database) -> int:
    """Return the instant of the earliest state; for a new database that of the first entry."""
    return _instant_of(db, max(earliest(db), journal.oldest(db)))


def _instant_of(db: Database, seq: int) -> int:
    return int(db.scalar("SELECT at FROM journal WHERE seq = ?", (seq,)))


def after(db: Database, seq: int, instant: int | None = None) -> Moment:
    """Return the moment after an entry that can be shown, at `instant` or at the entry's own instant."""
    if instant is None:
        at = db.scalar("SELECT at FROM journal WHERE seq = ?", (seq,))
        instant = int(at) if at is not None else _begins(db)
    return Moment(seq, instant)


def at(db: Database, instant: int) -> Moment:
    """Return the moment at an instant: after the last entry up to it, or the earliest state if there is none."""
    return _between(db, instant, earliest(db), journal.newest(db))


def _between(db: Database, instant: int, low: int, high: int) -> Moment:
    """Return the moment at an instant among the entries from `low` to `high`; that of `low` if all are later.

    Entries are ordered by number. Where a clock was set back, and several entries fit the instant, it is one of them.
    """
    known = range(max(low, journal.oldest(db)), high + 1)
    place = bisect_right(known, instant, key=lambda seq: _instant_of(db, seq))
    return after(db, known[place - 1], instant) if place else after(db, low)


def by_change(db: Database, moment: Moment, *, back: bool) -> Moment | None:
    """Return the moment one change earlier or later; None if there is none."""
    seq = previous_change(db, moment.seq) if back else next_change(db, moment.seq)
    return None if seq is None else after(db, seq)


def by_hour(db: Database, moment: Moment, now: int, *, back: bool) -> Moment | None:
    """Return the moment an hour earlier or later, not after `now`; None if no entry lies in that direction."""
    begin, newest = earliest(db), journal.newest(db)
    if moment.seq == (begin if back else newest):
        return None
    if back:
        return _between(db, moment.instant - HOUR, begin, moment.seq)
    instant = max(moment.instant, min(moment.instant + HOUR, now))
    reached = _between(db, instant, moment.seq, newest)
    return after(db, reached.seq, instant)


def next_change(db: Database, seq: int) -> int | None:
    """Return the last entry of the next change; None after the newest entry."""
    newest = journal.newest(db)
    if seq >= newest:
        return None
    other = db.scalar(
        "SELECT seq FROM journal WHERE seq > ? AND change <> (SELECT change FROM journal WHERE seq = ?) "
        "ORDER BY seq LIMIT 1",
        (seq, seq + 1),
    )
    return newest if other is None else int(other) - 1


def previous_change(db: Database, seq: int) -> int | None:
    """Return the last entry before the change that has the entry `seq`; None at the earliest state."""
    begin = earliest(db)
    if seq <= begin:
        return None
    other = db.scalar(
        "SELECT seq FROM journal WHERE seq < ? AND change <> (SELECT change FROM journal WHERE seq = ?) "
        "ORDER BY seq DESC LIMIT 1",
        (seq, seq),
    )
    return max(begin, int(other) if other is not None else begin)
