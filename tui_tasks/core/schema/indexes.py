"""The indexes beyond those that the models' fields declare; partial ones keep deleted rows out and hot paths short."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.engine.orm import SQL
from tui_tasks.core.schema.models import WAITS, AskRow, ClaimRow, JobRow, JournalRow, ListRow, LogRow, RunRow, TaskRow


def _live(model: Any) -> Any:
    return model.deleted == SQL("0")


def indexes() -> list[Any]:
    """Every index, in the order of making."""
    return [*_of_tasks(), *_of_others()]


def _of_tasks() -> list[Any]:
    task, pending = TaskRow, (TaskRow.status == SQL("'pending'"))
    ready = _live(task) & pending & (task.waiting_on == SQL("0"))
    return [
        task.index(task.list_id, task.rank, where=_live(task), name="task_place"),
        task.index(task.list_id, task.status, task.rank, where=_live(task), name="task_column"),
        task.index(task.list_id, task.key, unique=True, where=_live(task) & task.key.is_null(False), name="task_key"),
        task.index(task.priority, task.id, where=ready, name="task_ready"),
        # What is ready in a list stands together, as does each status: a page of them is read from their beginnings.
        task.index(task.list_id, task.status, WAITS, task.priority, task.id, where=_live(task), name="task_urgency"),
        # "at most one task in_progress", held by the database as well as by the code (docs: protocol, section 5).
        task.index(
            task.list_id,
            unique=True,
            where=_live(task) & (task.solo == SQL("1")) & (task.status == SQL("'in_progress'")),
            name="task_solo",
        ),
    ]


def _of_others() -> list[Any]:
    return [
        ListRow.index(
            ListRow.name,
            unique=True,
            where=_live(ListRow) & (ListRow.kind == SQL("'list'")),
            name="list_name",
        ),
        LogRow.index(LogRow.task_uid, LogRow.id, name="log_of_task"),
        ClaimRow.index(ClaimRow.expires_at, where=ClaimRow.state == SQL("'active'"), name="claim_lease"),
        AskRow.index(AskRow.opened_at, where=AskRow.state == SQL("'open'"), name="ask_open"),
        JobRow.index(JobRow.name_key, unique=True, where=_live(JobRow), name="job_name"),
        JobRow.index(JobRow.next_run, where=_live(JobRow) & JobRow.next_run.is_null(False), name="job_due"),
        # Each nominal time is decided once, whoever hosts the scheduler.
        RunRow.index(
            RunRow.job_uid,
            RunRow.scheduled_for,
            RunRow.attempt,
            unique=True,
            where=RunRow.scheduled_for.is_null(False),
            name="run_nominal",
        ),
        RunRow.index(RunRow.job_uid, RunRow.id, name="run_of_job"),
        RunRow.index(RunRow.state, RunRow.job_uid, where=RunRow.state != SQL("'final'"), name="run_open"),
        RunRow.index(RunRow.retry_of, where=RunRow.retry_of.is_null(False), name="run_retry"),
        JournalRow.index(JournalRow.task, JournalRow.seq, where=JournalRow.task.is_null(False), name="journal_task"),
        JournalRow.index(JournalRow.actor, JournalRow.seq, name="journal_actor"),
        JournalRow.index(JournalRow.undoes, where=JournalRow.undoes.is_null(False), name="journal_undoes"),
    ]
