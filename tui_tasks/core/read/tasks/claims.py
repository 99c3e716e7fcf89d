"""Claims: who holds a task, and who held it last."""

from __future__ import annotations

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.schema.tables.columns import columns
from tui_tasks.core.schema.tables.tasks import ClaimRow
from tui_tasks.core.snapshots import Claim, reader

_COLUMNS = tuple(columns(ClaimRow).values())
_read = reader(Claim, ClaimRow)
_BY_UID = Statement(ClaimRow.select(*_COLUMNS).where(ClaimRow.uid == slot("uid")))
_OF_TASK = Statement(
    ClaimRow.select(*_COLUMNS).where((ClaimRow.task_uid == slot("task")) & (ClaimRow.state == SQL("'active'")))
)
_LAST_OF_TASK = Statement(
    ClaimRow.select(*_COLUMNS).where(ClaimRow.task_uid == slot("task")).order_by(ClaimRow.id.desc()).limit(1)
)


def find(db: Database, uid: str) -> Claim | None:
    """Return the claim with that id, or None."""
    row = db.one(_BY_UID, uid=uid)
    return _read(row) if row else None


def of_task(db: Database, task_uid: str) -> Claim | None:
    """Return the claim that holds a task now, or None."""
    row = db.one(_OF_TASK, task=task_uid)
    return _read(row) if row else None


def last_of_task(db: Database, task_uid: str) -> Claim | None:
    """Return the newest claim on a task, active or not; None without one."""
    row = db.one(_LAST_OF_TASK, task=task_uid)
    return _read(row) if row else None
