"""The effects of writing runs beyond one row: many at once, the job's derived columns, waivers, old runs."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID, uuid5

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.job_tables import CheckRunRow, JobRow, RunLogRow, RunRow, TaskCheckRow
from tui_tasks.core.schema.tables import columns

_COLUMNS = columns(RunRow)
_INSERT = Statement(lambda: RunRow.insert({field: slot(name) for name, field in _COLUMNS.items()}))
_JOB_OF = Statement(lambda: RunRow.select(RunRow.job_uid).where(RunRow.uid == slot("uid")))
_SET_LAST_RUN = Statement(lambda: JobRow.update({JobRow.last_run: slot("at")}).where(JobRow.uid == slot("job")))
_SET_LAST_OUTCOME = Statement(
    lambda: JobRow.update({JobRow.last_outcome: slot("outcome"), JobRow.last_result: slot("result")}).where(
        JobRow.uid == slot("job")
    )
)
_OLD: Any = (RunRow.job_uid == slot("job")) & (RunRow.id < slot("below")) & (RunRow.state == SQL("'final'"))
_DROP_LOGS = Statement(lambda: RunLogRow.delete().where(RunLogRow.run_uid << RunRow.select(RunRow.uid).where(_OLD)))
_DROP_RUNS = Statement(lambda: RunRow.delete().where(_OLD))
_DROP_DECIDED = Statement(
    lambda: RunRow.delete().where(
        (RunRow.job_uid == slot("job")) & (RunRow.scheduled_for > slot("after")) & (RunRow.decision != SQL("'ran'"))
    )
)
_DROP_RUN = Statement(lambda: RunRow.delete().where(RunRow.uid == slot("uid")))


@cache
def _count_active() -> Statement:
    # Both conditions are on the state, so that SQLite uses the index of open runs.
    states: Any = (RunRow.state != SQL("'final'")) & RunRow.state.in_([SQL("'waiting'"), SQL("'running'")])
    active = RunRow.select(fn.COUNT(RunRow.id)).where((RunRow.job_uid == JobRow.uid) & states)
    return Statement(lambda: JobRow.update({JobRow.active: active}).where(JobRow.uid == slot("job")))


def nominal_uid(job_uid: str, scheduled_for: int) -> str:
    """Return the uid of the first run for a nominal time, which is the same whichever scheduler decides it."""
    return str(uuid5(UUID(job_uid), str(scheduled_for)))


def apply_many(db: Database, job_uid: str, new: dict[str, Any]) -> bool:
    """Write an entry that stands for many runs of a job; return whether it is such an entry.

    `times`: insert these nominal times as decided and not run. `below`: delete the ended runs with a smaller id.
    `after`: delete the decisions about later times that did not run, and the runs `unbegun`, so that they are decided
    again.
    """
    if "times" in new:
        blank = {name: field.default for name, field in _COLUMNS.items()}
        blank |= {"job_uid": job_uid, "state": "final", "requested_by": vocab.SYSTEM}
        blank |= {name: new[name] for name in ("trigger", "decision", "reason")}
        for at, scheduled_for in enumerate(new["times"]):
            row = {"id": new["first_id"] + at, "uid": nominal_uid(job_uid, scheduled_for)}
            db.run(_INSERT, blank | row | {"scheduled_for": scheduled_for})
        return True
    if "below" in new:
        values = {"job": job_uid, "below": new["below"]}
        db.run(_DROP_LOGS, values)
        db.run(_DROP_RUNS, values)
        return True
    if "after" in new:
        db.run(_DROP_DECIDED, {"job": job_uid, "after": new["after"]})
        for uid in new["unbegun"]:
            db.run(_DROP_RUN, {"uid": uid})
        db.run(_count_active(), {"job": job_uid})
        return True
    return False


def follow(db: Database, uid: str, new: dict[str, Any]) -> None:
    """Update the columns of a job that derive from its runs, after a run's row was written."""
    job_uid = new["job_uid"] if "job_uid" in new else db.one(_JOB_OF, uid=uid)[0]
    if new.get("started_at") is not None:
        db.run(_SET_LAST_RUN, {"job": job_uid, "at": new["started_at"]})
    if new.get("outcome") is not None:
        db.run(_SET_LAST_OUTCOME, {"job": job_uid, "outcome": new["outcome"], "result": new.get("result")})
    if "state" in new:
        db.run(_count_active(), {"job": job_uid})


_WAIVE = Statement(
    lambda: TaskCheckRow.update({TaskCheckRow.waived: 1}).where(
        (TaskCheckRow.task_uid == slot("task")) & (TaskCheckRow.check_uid == slot("check"))
    )
)
_OLD_CHECK_RUNS: Any = (
    (CheckRunRow.check_uid == slot("check"))
    & (CheckRunRow.id < slot("below"))
    & CheckRunRow.state.not_in([SQL("'waiting'"), SQL("'running'")])
)
_DROP_CHECK_LOGS = Statement(
    lambda: RunLogRow.delete().where(RunLogRow.run_uid << CheckRunRow.select(CheckRunRow.uid).where(_OLD_CHECK_RUNS))
)
_DROP_CHECK_RUNS = Statement(
    lambda: CheckRunRow.delete().where(
        _OLD_CHECK_RUNS & CheckRunRow.uid.not_in(TaskCheckRow.select(TaskCheckRow.run_uid))
    )
)


def apply_many_checks(db: Database, entity: str, uid: str, new: dict[str, Any]) -> bool:
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
        db.run(_DROP_CHECK_LOGS, values)
        db.run(_DROP_CHECK_RUNS, values)
        return True
    return False
