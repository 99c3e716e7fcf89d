"""What counts as failed, wherever failures are counted or shown.

- A task: its status is failed.
- A run: it ended in an error. One that was interrupted has not failed.
- A job: no run has succeeded since the last one that failed.
- An agent: its turn failed. Once its session has ended, it counts until the human has seen it, or for an hour.

Nothing else counts: no lapsed claim, refused request, failed tool or failed check. Instants are microseconds, UTC.
"""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.engine.orm import SQL
from tui_tasks.core.schema.job_tables import JobRow, RunRow

_AGENT_COUNTS: Final = 3_600_000_000

FAILED_OUTCOME: Final = "error"
RUN_FAILED: Any = RunRow.outcome == SQL(f"'{FAILED_OUTCOME}'")
"""`run_failed` as a condition on the table."""
JOB_FAILED: Any = (JobRow.failures > SQL("0")) | (JobRow.last_outcome == SQL(f"'{FAILED_OUTCOME}'"))
"""`job_failed` as a condition on the table."""


def task_failed(status: str | None) -> bool:
    """Return whether a task has failed, by its status now."""
    return status == "failed"


def run_failed(outcome: str | None) -> bool:
    """Return whether a run has failed, by its outcome."""
    return outcome == FAILED_OUTCOME


def job_failed(failures: int, last_outcome: str | None) -> bool:
    """Return whether a job has failed, by its own counter and how its last run ended."""
    return failures > 0 or run_failed(last_outcome)


def agent_failed(state: str, ended_at: int | None, seen_at: int, now: int) -> bool:
    """Return whether an agent has failed, by its state, when its session ended, and when the human said that all was
    seen.
    """
    return state == "failed" and (ended_at is None or (ended_at > seen_at and now - ended_at <= _AGENT_COUNTS))
