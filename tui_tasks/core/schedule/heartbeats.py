"""Signs of life: which process has a run in hand. Kept out of the journal, like the processes themselves.

A row is made when a scheduler claims a run, and passes to the run's supervisor; only its holder may begin the run.
"""

from __future__ import annotations

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.schema import models
from tui_tasks.core.schema.models import HeartbeatRow as B
from tui_tasks.core.snapshots import Heartbeat, reader

_COLUMNS = tuple(models.columns(B).values())
_read = reader(Heartbeat, B)

_FIND = Statement(B.select(*_COLUMNS).where(B.run_uid == slot("run_uid")))
_ALL = Statement(B.select(*_COLUMNS).order_by(B.run_uid))
_PUT = Statement(B.insert({column: slot(column.name) for column in _COLUMNS}))
_BEAT = Statement(B.update({B.at: slot("at")}).where(B.run_uid == slot("run_uid")))
_DROP = Statement(B.delete().where(B.run_uid == slot("run_uid")))


def find(db: Database, run_uid: str) -> Heartbeat | None:
    """The process that has a run in hand."""
    row = db.one(_FIND, run_uid=run_uid)
    return _read(row) if row else None


def everyone(db: Database) -> list[Heartbeat]:
    """Every process that has a run in hand."""
    return [_read(row) for row in db.all(_ALL)]


def put(db: Database, heartbeat: Heartbeat) -> None:
    """Note that a process has taken a run in hand, within the transaction that decided so."""
    drop(db, heartbeat.run_uid)
    db.run(_PUT, {name: getattr(heartbeat, name) for name in heartbeat.__struct_fields__})


def renew(db: Database, run_uid: str, now: int) -> None:
    """Say again that the process which has the run in hand lives."""
    with db.transaction(write=True):
        db.run(_BEAT, {"run_uid": run_uid, "at": now})


def drop(db: Database, run_uid: str) -> None:
    """Forget the process of a run that has ended, within the transaction that recorded it."""
    db.run(_DROP, {"run_uid": run_uid})
