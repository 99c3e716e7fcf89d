"""The database's own clock, which leases depend on: it counts the time that passed, whatever the wall clocks say.

A wall clock can be set, or be wrong from the start; a machine's uptime cannot. So a database has an instant of its own
that advances only by the uptime that processes observe: it is never ahead of the time that has really passed. Leases,
questions and stored replies that end by it never end early. Between two boots of the machine it may stand still, so
that they end late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tui_tasks.clock import Uptime
from tui_tasks.core.engine.database import Database
from tui_tasks.core.unjournaled import local_values

_KEY: Final = "elapsed"
_UNTIL: Final = "until:"
# In microseconds. Short commands do without `text.times`.
_SECOND: Final = 1_000_000


class Mark(msgspec.Struct, frozen=True, rename={"database_now": "passed"}):
    """The last record of the database's instant.

    Attributes:
        machine: the boot of the machine on which it was written (`clock`).
        up: the machine's uptime then, in microseconds.
        database_now: the database's instant then, in microseconds.
        now: the wall clock of the process that wrote it, in microseconds since the epoch.
    """

    machine: str
    up: int
    database_now: int
    now: int


def mark(db: Database) -> Mark | None:
    """Return the last record, or None."""
    stored = local_values.get(db, _KEY)
    return None if stored is None else msgspec.convert(stored, Mark)


def put_mark(db: Database, record: Mark) -> None:
    """Record the database's instant within the open write transaction."""
    local_values.put_within(db, _KEY, msgspec.to_builtins(record))


class DatabaseClock:
    """A process's view of the database's instant, in microseconds."""

    def __init__(self, uptime: Callable[[], Uptime]) -> None:
        self._uptime = uptime
        # The instant and the machine's uptime at the last look.
        self._seen: tuple[int, int] | None = None
        # Whether that instant is the database's: before the first record each process goes by its wall clock.
        self._is_recorded = False

    def now(self, db: Database, now: int) -> int:
        """Return the instant, without reading the database again; `now` if none was ever recorded.

        Raises:
            StorageFailed: the database cannot be read.
        """
        if self._seen is None:
            return self.look(db, now)
        database_now, up = self._seen
        return database_now + max(0, self._uptime().up - up)

    def look(self, db: Database, now: int) -> int:
        """Return the instant, after reading what other processes recorded.

        Raises:
            StorageFailed: the database cannot be read.
        """
        return self._look(mark(db), now)[0]

    def _look(self, record: Mark | None, now: int) -> tuple[int, Uptime]:
        uptime = self._uptime()
        database_now = now if record is None else record.database_now
        if record is not None and record.machine == uptime.machine:
            database_now += max(0, uptime.up - record.up)
        if self._seen is not None and (self._is_recorded or record is None):
            database_now = max(database_now, self._seen[0] + max(0, uptime.up - self._seen[1]))
        self._seen, self._is_recorded = (database_now, uptime.up), record is not None
        return database_now, uptime

    def record(self, db: Database, now: int) -> int:
        """Return the instant, and record it within the open write transaction.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        stored = mark(db)
        database_now, uptime = self._look(stored, now)
        if stored is None:
            _begin(db, database_now)
        if (
            stored is None
            or stored.machine != uptime.machine
            or uptime.up < stored.up
            or database_now - stored.database_now > _SECOND
        ):
            put_mark(db, Mark(uptime.machine, uptime.up, database_now, now))
            self._is_recorded = True
        return database_now


def _begin(db: Database, database_now: int) -> None:
    """Make keys and claims from before the first record count from now."""
    db.sql("UPDATE kept_reply SET at = ?", (database_now,))
    for uid, lease in db.sql("SELECT uid, lease FROM claim WHERE state = 'active'").fetchall():
        if end_of(db, uid) is None:
            put_end(db, uid, database_now + lease, database_now)


def put_end(db: Database, uid: str, at: int, database_now: int) -> None:
    """Record the instant at which something ends; delete records of what ended a day ago."""
    db.sql(
        "DELETE FROM view WHERE key >= 'until:' AND key < 'until;' AND CAST(value AS INTEGER) < ?",
        (database_now - 24 * 3600 * _SECOND,),
    )
    local_values.put_within(db, _UNTIL + uid, at)


def drop_end(db: Database, uid: str) -> None:
    """Delete the record of when something ends, within the open write transaction."""
    local_values.drop_within(db, _UNTIL + uid)


def end_of(db: Database, uid: str) -> int | None:
    """Return the recorded instant at which something ends; None if there is none."""
    stored = local_values.get(db, _UNTIL + uid)
    return None if stored is None else int(stored)


# Questions are read once for all claims: thousands of either are looked at in each turn of a channel.
# The active claims with the instant at which each lapses. While a question of its holder is open it lapses at no known
# instant (NULL), or no sooner than a lease after the question times out (docs: protocol, section 7).
_LAPSES: Final = """
SELECT claim.uid, claim.id, max(
    ifnull(CAST(own.value AS INTEGER), claim.expires_at),
    ifnull(asking.until + claim.lease, 0)
) AS at
FROM claim LEFT JOIN view AS own ON own.key = 'until:' || claim.uid
LEFT JOIN (
    SELECT ask.agent, max(ask.expires_at IS NULL) AS is_endless,
        max(ifnull(CAST(asked.value AS INTEGER), ask.expires_at)) AS until
    FROM ask LEFT JOIN view AS asked ON asked.key = 'until:' || ask.uid
    WHERE ask.state = 'open' GROUP BY ask.agent
) AS asking ON asking.agent = claim.agent
WHERE claim.state = 'active' AND ifnull(asking.is_endless, 0) = 0
"""


def next_lapse(db: Database) -> int | None:
    """Return the instant at which the first lease ends; None if no lease ends."""
    at: int | None = db.scalar(f"SELECT min(at) FROM ({_LAPSES})")
    return at


def lapses_at(db: Database, claim: str) -> int | None:
    """Return the instant at which the lease of an active claim ends; None if a question of its holder is open."""
    at: int | None = db.scalar(f"SELECT at FROM ({_LAPSES} AND claim.uid = ?)", (claim,))
    return at


def lapsed(db: Database, database_now: int) -> list[str]:
    """Return the uids of the unreleased claims whose lease has ended."""
    rows = db.sql(f"SELECT uid FROM ({_LAPSES}) WHERE at <= ? ORDER BY at, id", (database_now,))
    return [uid for (uid,) in rows.fetchall()]
