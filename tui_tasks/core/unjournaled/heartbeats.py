"""Signs of life, outside the journal: of the processes that hold runs, the schedulers, and the machines of a server.

A scheduler makes the heartbeat of a run when it claims the run, and it passes to the run's supervisor; only its holder
may begin the run.

Each machine has a lease, so that others can end what belongs to one that never returns. A lease ends by the database's
own instant (`commit.database_clock`), as every lease does. While no machine at all is heard of, as when the server is
away, no lease runs.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from tui_tasks.core.commit import database_clock
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.schema.agent_tables import HeartbeatRow as B
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import MINUTE

_COLUMNS = tuple(columns(B).values())
_read = reader(Heartbeat, B)

_FIND = Statement(lambda: B.select(*_COLUMNS).where(B.run_uid == slot("run_uid")))
_BEATS = Statement(lambda: B.select(*_COLUMNS).order_by(B.run_uid))
_PUT = Statement(lambda: B.insert({column: slot(column.name) for column in _COLUMNS}))
_BEAT = Statement(lambda: B.update({B.at: slot("at")}).where(B.run_uid == slot("run_uid")))
_DROP = Statement(lambda: B.delete().where(B.run_uid == slot("run_uid")))


def heartbeat_of(db: Database, run_uid: str) -> Heartbeat | None:
    """Return the heartbeat of the process that holds a run, or None."""
    row = db.one(_FIND, run_uid=run_uid)
    return _read(row) if row else None


def heartbeats(db: Database) -> list[Heartbeat]:
    """Return the heartbeat of every process that holds a run."""
    return [_read(row) for row in db.all(_BEATS)]


def put_heartbeat(db: Database, heartbeat: Heartbeat) -> None:
    """Record that a process holds a run, within the transaction that decided so."""
    drop_heartbeat(db, heartbeat.run_uid)
    db.run(_PUT, {name: getattr(heartbeat, name) for name in heartbeat.__struct_fields__})


def renew_heartbeat(db: Database, run_uid: str, now: int) -> None:
    """Record that the process that holds the run is alive."""
    with db.transaction(write=True):
        db.run(_BEAT, {"run_uid": run_uid, "at": now})


def drop_heartbeat(db: Database, run_uid: str) -> None:
    """Delete the heartbeat of a run that has ended, within the transaction that recorded its end."""
    db.run(_DROP, {"run_uid": run_uid})


_SCHEDULER_KEY: Final = "scheduler:"
_SCHEDULERS: Final = "SELECT value FROM view WHERE key >= 'scheduler:' AND key < 'scheduler;' ORDER BY key"


class Scheduler(msgspec.Struct, frozen=True):
    """A process that hosts the scheduler.

    Attributes:
        boot, namespace, pid, born: the process, as in `runner.processes.ProcessIdentity`.
        path: the database; a copy of it has the record too, but not the scheduler.
        waits: why it starts nothing for now; empty where it starts what is due.
    """

    boot: str
    namespace: str
    pid: int
    born: str
    path: str
    waits: str = ""

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return f"{_SCHEDULER_KEY}{self.namespace}/{self.pid}/{self.born}"


def schedulers_of(db: Database) -> list[Scheduler]:
    """Return the schedulers that are recorded; one whose process was killed still is."""
    found = (msgspec.json.decode(value, type=Scheduler) for (value,) in db.sql(_SCHEDULERS).fetchall())
    return [one for one in found if one.path == real_path(db)]


def real_path(db: Database) -> str:
    """Return the path by which records name a database."""
    return os.path.realpath(db.path)


def put_scheduler(db: Database, one: Scheduler) -> None:
    """Record a scheduler, replacing its earlier record.

    Raises:
        StorageFailed: nothing was written.
    """
    local_values.put(db, one.key, msgspec.to_builtins(one))


def drop_schedulers(db: Database, *ended: Scheduler) -> None:
    """Delete the records of schedulers.

    Raises:
        StorageFailed: nothing was deleted.
    """
    with db.transaction(write=True):
        for one in ended:
            local_values.drop_within(db, one.key)


LEASE: Final = 10 * MINUTE
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


def is_lease_due(db: Database, database_now: int) -> bool:
    """Return whether this machine has to renew its lease at an instant."""
    until = database_clock.end_of(db, _LEASE_KEY + db.machine)
    return until is None or until - database_now <= LEASE - LEASE_RENEWED


def renew_lease(db: Database, database_now: int) -> None:
    """Renew the lease of this machine within the open write transaction.

    If no machine was heard of for long, the other leases end later by as much.
    """
    known = leases(db)
    silent = database_now - (max(known.values()) - LEASE) if known else 0
    if silent > 2 * LEASE_RENEWED:
        for machine, until in known.items():
            if until > database_now - silent:
                database_clock.put_end(db, _LEASE_KEY + machine, until + silent, database_now)
    begin_lease(db, db.machine, database_now)


def begin_lease(db: Database, machine: str, database_now: int) -> None:
    """Give a machine a whole lease within the open write transaction."""
    database_clock.put_end(db, _LEASE_KEY + machine, database_now + LEASE, database_now)


def end_lease(db: Database, machine: str) -> None:
    """Delete the lease of a machine within the open write transaction."""
    database_clock.drop_end(db, _LEASE_KEY + machine)


def renew_phone(db: Database, database_now: int) -> None:
    """Record within the open write transaction that this machine sends to a phone, for the length of a lease."""
    database_clock.put_end(db, _PHONE_KEY + db.machine, database_now + LEASE, database_now)


def is_phone_due(db: Database, database_now: int) -> bool:
    """Return whether this machine has to renew the record of its phone at an instant."""
    until = database_clock.end_of(db, _PHONE_KEY + db.machine)
    return until is None or until - database_now <= LEASE - LEASE_RENEWED


def has_phone(db: Database, machine: str, database_now: int) -> bool:
    """Return whether a machine sends to a phone at an instant."""
    until = database_clock.end_of(db, _PHONE_KEY + machine)
    return until is not None and until > database_now


def unknown_machines(db: Database) -> set[str]:
    """Return the machines that hold something, and have no lease, as they never renewed one."""
    return _holders(db) - leases(db).keys()


def lost_machines(db: Database, database_now: int) -> set[str]:
    """Return the machines that hold something, and whose lease has ended at an instant.

    Whoever has to renew its own lease first knows of none: it may be the one that was cut off, or the server was away.
    """
    if is_lease_due(db, database_now):
        return set()
    ended = {machine for machine, until in leases(db).items() if until <= database_now}
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
