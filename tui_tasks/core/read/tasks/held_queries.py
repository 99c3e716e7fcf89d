"""Held tasks for screens: who filed what, since when, and which tasks wait for them (docs: protocol, section 11)."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read.tasks.task_queries import HELD
from tui_tasks.core.schema.job_tables import JobRow
from tui_tasks.core.schema.tables import EdgeRow, JournalRow, ListRow, TaskRow


class HeldTask(msgspec.Struct, frozen=True, gc=False):
    """A task, or a job, that waits for the human to accept it.

    `version` names what it is now, and is named to accept it. `waiting` is how many tasks depend on it.
    """

    id: int
    uid: str
    name: str
    list_id: int
    list_name: str
    maker: str
    at: int
    version: int | str
    waiting: int
    is_job: bool = False

    @property
    def kind(self) -> str:
        """Return `task` or `job`."""
        return "job" if self.is_job else "task"


# The maker's name, which is never empty, makes SQLite use the index `task_held`, also in a database of the past, where
# other indexes were made after it.
_HELD: Any = HELD & (TaskRow.created_by > SQL("''"))
_WAITING: Any = EdgeRow.select(fn.COUNT(EdgeRow.task_uid)).where(EdgeRow.on_uid == TaskRow.uid)


def _held_tasks() -> Any:
    return (
        TaskRow.select(
            TaskRow.id,
            TaskRow.uid,
            TaskRow.name,
            TaskRow.list_id,
            ListRow.name,
            TaskRow.created_by,
            TaskRow.created_at,
            TaskRow.version,
            _WAITING,
        )
        .join(ListRow, on=(ListRow.id == TaskRow.list_id))
        .where(_HELD)
        # By the id itself, SQLite would go through all tasks to have them in order.
        .order_by(TaskRow.id + SQL("0"))
    )


_ALL = Statement(_held_tasks)
_FIRST = Statement(lambda: _held_tasks().limit(slot("limit")))
_COUNT = Statement(lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(_HELD))
_COUNT_JOBS = Statement(
    lambda: JobRow.select(fn.COUNT(JobRow.id)).where((JobRow.deleted == SQL("0")) & (JobRow.held == SQL("1")))
)
_WHY = Statement(
    lambda: (
        JournalRow.select(JournalRow.why)
        .where((JournalRow.task == slot("task")) & (JournalRow.kind == "task.created"))
        .limit(1)
    )
)
_WHY_JOB = Statement(
    lambda: (
        JournalRow.select(JournalRow.why)
        .where(
            (JournalRow.actor == slot("actor")) & (JournalRow.kind == "job.created") & (JournalRow.uid == slot("job"))
        )
        .limit(1)
    )
)


def everything(db: Database) -> list[HeldTask]:
    """Return the held tasks, oldest first."""
    return [HeldTask(*row) for row in db.all(_ALL)]


def first(db: Database, limit: int, total: int) -> list[HeldTask]:
    """Return the oldest held tasks, at most `limit`, and where these are not all `total`, the held jobs."""
    tasks = [HeldTask(*row) for row in db.all(_FIRST, limit=limit)] if total else []
    return tasks if len(tasks) in (limit, total) else tasks + jobs(db)


def jobs(db: Database) -> list[HeldTask]:
    """Return the held jobs, oldest first; they are in no list and depend on nothing."""
    # Imported here, as the first screen counts held jobs without what schedules need.
    from tui_tasks.core.read import job_queries

    return [
        HeldTask(job.id, job.uid, job.name, 0, "a job", job.created_by, job.created_at, job.version, 0, is_job=True)
        for job in job_queries.held(db)
    ]


def count(db: Database) -> int:
    """Return how many tasks and jobs are held."""
    tasks: int = db.one(_COUNT)[0]
    jobs: int = db.one(_COUNT_JOBS)[0]
    return tasks + jobs


def why(db: Database, uid: str) -> str:
    """Return the reasoning of the request that filed a task; empty if it gave none, or was compacted away."""
    return _reasons(db.one(_WHY, task=uid))


def why_job(db: Database, row: HeldTask) -> str:
    """Return the reasoning of the request that made a job, as `why` does."""
    return _reasons(db.one(_WHY_JOB, actor=row.maker, job=row.uid))


def _reasons(row: Any) -> str:
    reasons = journal.values_of(row[0]) if row else {}
    return "\n".join(text for reason in reasons.values() if (text := _as_text(reason)))


def _as_text(reason: Any) -> str:
    if isinstance(reason, str):
        return reason.strip()
    if isinstance(reason, list):
        return "\n".join(text for each in reason if (text := _as_text(each)))
    return msgspec.json.encode(reason).decode()
