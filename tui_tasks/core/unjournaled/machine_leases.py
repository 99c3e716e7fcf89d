"""Machines that share a server: each has a lease, so that others can end what belongs to one that never returns.

A lease ends by the database's own instant (`commit.database_clock`), as every lease does. While no machine at all is
heard of, as when the server is away, no lease runs.
"""

from __future__ import annotations

from typing import Final

from tui_tasks.core.commit import database_clock
from tui_tasks.core.engine.database import Database

LEASE: Final = 600_000_000
"""Microseconds after which a machine that was not heard of counts as gone."""
LEASE_RENEWED: Final = LEASE // 4
"""A machine that is there renews its lease this often."""
_LEASE_KEY: Final = "machine:"
_PHONE_KEY: Final = "phone:"
_LEASES: Final = "SELECT key, CAST(value AS INTEGER) FROM view WHERE key >= 'until:machine:' AND key < 'until:machine;'"
# A namespace is that of process ids, and after an `@` the machine.
_HOLDERS: Final = """
SELECT namespace FROM session WHERE state != 'gone'
UNION SELECT namespace FROM beat
UNION SELECT asker.namespace FROM asker JOIN ask ON ask.uid = asker.ask WHERE ask.state = 'open'
UNION SELECT '@' || machine FROM check_run WHERE state = 'waiting' AND machine <> ''
UNION SELECT lock FROM unfinished_change
"""


def leases(db: Database) -> dict[str, int]:
    """Return the instant at which the lease of each machine ends."""
    return {key.rpartition(":")[2]: until for key, until in db.sql(_LEASES).fetchall()}


def is_lease_due(db: Database, passed: int) -> bool:
    """Return whether this machine has to renew its lease at an instant."""
    until = database_clock.until(db, _LEASE_KEY + db.machine)
    return until is None or until - passed <= LEASE - LEASE_RENEWED


def renew_lease(db: Database, passed: int) -> None:
    """Renew the lease of this machine within the open write transaction.

    If no machine was heard of for long, the other leases end later by as much.
    """
    known = leases(db)
    silent = passed - (max(known.values()) - LEASE) if known else 0
    if silent > 2 * LEASE_RENEWED:
        for machine, until in known.items():
            if until > passed - silent:
                database_clock.put(db, _LEASE_KEY + machine, until + silent, passed)
    begin_lease(db, db.machine, passed)


def begin_lease(db: Database, machine: str, passed: int) -> None:
    """Give a machine a whole lease within the open write transaction."""
    database_clock.put(db, _LEASE_KEY + machine, passed + LEASE, passed)


def end_lease(db: Database, machine: str) -> None:
    """Delete the lease of a machine within the open write transaction."""
    database_clock.drop(db, _LEASE_KEY + machine)


def renew_phone(db: Database, passed: int) -> None:
    """Record within the open write transaction that this machine sends to a phone, for the length of a lease."""
    database_clock.put(db, _PHONE_KEY + db.machine, passed + LEASE, passed)


def is_phone_due(db: Database, passed: int) -> bool:
    """Return whether this machine has to renew the record of its phone at an instant."""
    until = database_clock.until(db, _PHONE_KEY + db.machine)
    return until is None or until - passed <= LEASE - LEASE_RENEWED


def has_phone(db: Database, machine: str, passed: int) -> bool:
    """Return whether a machine sends to a phone at an instant."""
    until = database_clock.until(db, _PHONE_KEY + machine)
    return until is not None and until > passed


def unknown_machines(db: Database) -> set[str]:
    """Return the machines that hold something, and have no lease, as they never renewed one."""
    return _holders(db) - leases(db).keys()


def lost_machines(db: Database, passed: int) -> set[str]:
    """Return the machines that hold something, and whose lease has ended at an instant.

    Whoever has to renew its own lease first knows of none: it may be the one that was cut off, or the server was away.
    """
    if is_lease_due(db, passed):
        return set()
    ended = {machine for machine, until in leases(db).items() if until <= passed}
    return ended & _holders(db) if ended else set()


def _holders(db: Database) -> set[str]:
    """Return the other machines with a live session, a run that has begun, a process that waits for an answer, a check
    to run, or a change of which only some steps are committed.
    """
    machines = {namespace.partition("@")[2] for (namespace,) in db.sql(_HOLDERS).fetchall()}
    return machines - {"", db.machine}


def machine_name(db: Database, machine: str) -> str:
    """Return a machine as people read it: its host, or its whole id if several machines of the host are known."""
    host = _host_of(machine)
    known = {db.machine, *leases(db)} if machine else set()
    return machine if any(_host_of(other) == host for other in known - {machine}) else host


def _host_of(machine: str) -> str:
    return machine.rpartition("-")[0] or machine
