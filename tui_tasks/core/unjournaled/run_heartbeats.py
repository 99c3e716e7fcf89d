"""The heartbeat of the process that holds a run, outside the journal.

A scheduler makes the heartbeat when it claims a run, and it passes to the run's supervisor; only its holder may begin
the run.
"""

from __future__ import annotations

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.schema.agent_tables import HeartbeatRow as B
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader

_COLUMNS = tuple(columns(B).values())
_read = reader(Heartbeat, B)

_FIND = Statement(lambda: B.select(*_COLUMNS).where(B.run_uid == slot("run_uid")))
_ALL = Statement(lambda: B.select(*_COLUMNS).order_by(B.run_uid))
_PUT = Statement(lambda: B.insert({column: slot(column.name) for column in _COLUMNS}))
_BEAT = Statement(lambda: B.update({B.at: slot("at")}).where(B.run_uid == slot("run_uid")))
_DROP = Statement(lambda: B.delete().where(B.run_uid == slot("run_uid")))


def heartbeat_of(db: Database, run_uid: str) -> Heartbeat | None:
    """Return the heartbeat of the process that holds a run, or None."""
    row = db.one(_FIND, run_uid=run_uid)
    return _read(row) if row else None


def heartbeats(db: Database) -> list[Heartbeat]:
    """Return the heartbeat of every process that holds a run."""
    return [_read(row) for row in db.all(_ALL)]


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
