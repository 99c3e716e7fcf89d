"""When a job is due: the one place that distinguishes schedule and plan. Instants are microseconds, UTC."""

from __future__ import annotations

from bisect import bisect_right

from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.schedule.cron import Cron
from tui_tasks.core.schedule.fire_times import fires_between, next_fire


def cron_of(job: Job) -> Cron | None:
    """Return the cron of a scheduled job; None for other jobs."""
    return None if job.schedule is None else Cron(**job.schedule)


def next_due(job: Job, after: int) -> int | None:
    """Return the first instant strictly after `after` at which the job is due; None if there is none."""
    cron = cron_of(job)
    if cron is not None:
        return next_fire(cron, job.timezone, after)
    plan = job.plan or ()
    at = bisect_right(plan, after)
    return plan[at] if at < len(plan) else None


def due_between(job: Job, after: int, until: int, limit: int) -> list[int]:
    """Return the first `limit` instants `after < instant <= until` at which the job is due."""
    cron = cron_of(job)
    if cron is not None:
        return fires_between(cron, job.timezone, after, until, limit)
    plan = job.plan or ()
    return list(plan[bisect_right(plan, after) : bisect_right(plan, until)][:limit])
