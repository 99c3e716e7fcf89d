"""Which processes hold runs, and which host the scheduler of a database and why one of them starts nothing for now.
Outside the journal.

A scheduler makes the heartbeat of a run when it claims the run, and it passes to the run's supervisor; only its
holder may begin the run.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.schema.agent_tables import HeartbeatRow as B
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader
from tui_tasks.core.unjournaled import local_values

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
