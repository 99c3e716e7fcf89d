"""Entries about checks that change several rows at once: what the human waives, and the deletion of old runs."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.schema.tables.checks import CheckRunRow, TaskCheckRow
from tui_tasks.core.schema.tables.jobs import RunLogRow

_WAIVE = Statement(
    TaskCheckRow.update({TaskCheckRow.waived: 1}).where(
        (TaskCheckRow.task_uid == slot("task")) & (TaskCheckRow.check_uid == slot("check"))
    )
)
_OLD: Any = (
    (CheckRunRow.check_uid == slot("check"))
    & (CheckRunRow.id < slot("below"))
    & CheckRunRow.state.not_in([SQL("'waiting'"), SQL("'running'")])
)
_DROP_LOGS = Statement(RunLogRow.delete().where(RunLogRow.run_uid << CheckRunRow.select(CheckRunRow.uid).where(_OLD)))
_DROP_RUNS = Statement(
    CheckRunRow.delete().where(_OLD & CheckRunRow.uid.not_in(TaskCheckRow.select(TaskCheckRow.run_uid)))
)


def apply_many(db: Database, entity: str, uid: str, new: dict[str, Any]) -> bool:
    """Write an entry that stands for several rows; return whether it is such an entry.

    `waives`: the uids of checks of the task `uid`. `below`: delete the ended runs of the check `uid` with a smaller id
    that count for no task, and the full output of all of them.
    """
    if entity == "task_check" and "waives" in new:
        for check in new["waives"]:
            db.run(_WAIVE, {"task": uid, "check": check})
        return True
    if entity == "check_run" and "below" in new:
        values = {"check": uid, "below": new["below"]}
        db.run(_DROP_LOGS, values)
        db.run(_DROP_RUNS, values)
        return True
    return False
