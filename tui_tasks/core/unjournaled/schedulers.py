"""Which processes host the scheduler of a database, and why one of them starts nothing for now. Outside the journal."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.unjournaled import local_values

_KEY: Final = "scheduler:"
_ALL: Final = "SELECT value FROM view WHERE key >= 'scheduler:' AND key < 'scheduler;' ORDER BY key"


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
        return f"{_KEY}{self.namespace}/{self.pid}/{self.born}"


def recorded(db: Database) -> list[Scheduler]:
    """Return the schedulers that are recorded; one whose process was killed still is."""
    found = (msgspec.json.decode(value, type=Scheduler) for (value,) in db.sql(_ALL).fetchall())
    return [one for one in found if one.path == real_path(db)]


def real_path(db: Database) -> str:
    """Return the path by which records name a database."""
    return os.path.realpath(db.path)


def put(db: Database, one: Scheduler) -> None:
    """Record a scheduler, replacing its earlier record.

    Raises:
        StorageFailed: nothing was written.
    """
    local_values.put(db, one.key, msgspec.to_builtins(one))


def drop(db: Database, *ended: Scheduler) -> None:
    """Delete the records of schedulers.

    Raises:
        StorageFailed: nothing was deleted.
    """
    with db.transaction(write=True):
        for one in ended:
            local_values.drop_within(db, one.key)
