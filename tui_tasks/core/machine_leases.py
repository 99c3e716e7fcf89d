"""Machines that share a server: each has a lease, so that others can end what belongs to one that never returns.

A lease ends by the database's own instant (`commit.elapsed`), as every lease does. While no machine at all is heard of,
as when the server is away, no lease runs.
"""

from __future__ import annotations

from typing import Final

from tui_tasks.core.commit import elapsed
from tui_tasks.core.engine.database import Database

LEASE: Final = 600_000_000
"""Microseconds after which a machine that was not heard of counts as gone."""
RENEWED: Final = LEASE // 4
"""A machine that is there renews its lease this often."""
_KEY: Final = "machine:"
_ALL: Final = "SELECT key, CAST(value AS INTEGER) FROM view WHERE key >= 'until:machine:' AND key < 'until:machine;'"
# A namespace is that of process ids, and after an `@` the machine.
_HOLDERS: Final = """
SELECT namespace FROM session WHERE state != 'gone'
UNION SELECT namespace FROM beat
UNION SELECT asker.namespace FROM asker JOIN ask ON ask.uid = asker.ask WHERE ask.state = 'open'
"""


def leases(db: Database) -> dict[str, int]:
    """Return the instant at which the lease of each machine ends."""
    return {key.rpartition(":")[2]: until for key, until in db.sql(_ALL).fetchall()}


def is_due(db: Database, passed: int) -> bool:
    """Return whether this machine has to renew its lease at an instant."""
    until = elapsed.until(db, _KEY + db.machine)
    return until is None or until - passed <= LEASE - RENEWED


def renew(db: Database, passed: int) -> None:
    """Renew the lease of this machine within the open write transaction.

    If no machine was heard of for long, the other leases end later by as much.
    """
    known = leases(db)
    silent = passed - (max(known.values()) - LEASE) if known else 0
    if silent > 2 * RENEWED:
        for machine, until in known.items():
            if until > passed - silent:
                elapsed.put(db, _KEY + machine, until + silent, passed)
    begin(db, db.machine, passed)


def begin(db: Database, machine: str, passed: int) -> None:
    """Give a machine a whole lease within the open write transaction."""
    elapsed.put(db, _KEY + machine, passed + LEASE, passed)


def end(db: Database, machine: str) -> None:
    """Delete the lease of a machine within the open write transaction."""
    elapsed.drop(db, _KEY + machine)


def unknown(db: Database) -> set[str]:
    """Return the machines that hold something, and have no lease, as they never renewed one."""
    return _holders(db) - leases(db).keys()


def lost(db: Database, passed: int) -> set[str]:
    """Return the machines that hold something, and whose lease has ended at an instant.

    Whoever has to renew its own lease first knows of none: it may be the one that was cut off, or the server was away.
    """
    if is_due(db, passed):
        return set()
    ended = {machine for machine, until in leases(db).items() if until <= passed}
    return ended & _holders(db) if ended else set()


def _holders(db: Database) -> set[str]:
    """Return the other machines with a live session, a run that has begun, or a process that waits for an answer."""
    machines = {namespace.partition("@")[2] for (namespace,) in db.sql(_HOLDERS).fetchall()}
    return machines - {"", db.machine}
