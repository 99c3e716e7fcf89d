"""iCalendar (RFC 5545), for export only: due tasks as to-dos, and the next runs of jobs as events.

Equal tasks and jobs give equal files at the same time, so that a calendar that subscribes to one sees only changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from typing import Final

from icalendar import Calendar, Event, Todo

from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.schedule import fire_times
from tui_tasks.core.schema.due_dates import is_day
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import HIGH, MEDIUM, URGENT
from tui_tasks.formats.file_records import ExportData, plain, plain_name, since_epoch, utc
from tui_tasks.text.times import DAY, SECOND

_AHEAD: Final = 30 * DAY
_MAX_RUNS: Final = 50
_STATUS: Final = {
    "pending": "NEEDS-ACTION",
    "in_progress": "IN-PROCESS",
    "done": "COMPLETED",
    "failed": "CANCELLED",
    "skipped": "CANCELLED",
    "cancelled": "CANCELLED",
}
_PRIORITY: Final = {URGENT: 1, HIGH: 3, MEDIUM: 5}
_LOWEST: Final = 9


def write(rows: ExportData, now: datetime) -> Iterator[str]:
    """Write the tasks with a due date, then the runs of jobs in the next 30 days."""
    calendar = Calendar()
    calendar.add("prodid", "-//tui-tasks//EN")
    calendar.add("version", "2.0")
    for home, tasks in rows.lists:
        for task in tasks:
            if task.due is not None:
                calendar.add_component(_todo(task, task.due, home))
    at = since_epoch(now)
    for job in rows.jobs:
        if job.enabled:
            for run in fire_times.due_between(job, at, at + _AHEAD, _MAX_RUNS):
                calendar.add_component(_event(job, run))
    yield calendar.to_ical().decode()


def _todo(task: Task, at: str, home: TaskList) -> Todo:
    todo = Todo()
    todo.add("uid", task.uid)
    todo.add("summary", plain_name(task.name))
    if task.description:
        todo.add("description", plain(task.description))
    todo.add("due", date.fromisoformat(at) if is_day(at) else datetime.fromisoformat(at))
    todo.add("status", _STATUS[task.status])
    todo.add("priority", _PRIORITY.get(task.priority, _LOWEST))
    todo.add("categories", [plain_name(each) for each in (home.name, *task.tags)])
    for uid in sorted(task.depends_on):
        todo.add("related-to", uid, parameters={"RELTYPE": "DEPENDS-ON"})
    if task.status == "done" and task.finished_at is not None:
        todo.add("completed", _whole_second(task.finished_at))
    todo.add("created", _whole_second(task.created_at))
    todo.add("dtstamp", _whole_second(task.updated_at))
    return todo


def _event(job: Job, at: int) -> Event:
    event = Event()
    event.add("uid", f"{job.uid}-{at // SECOND}")
    event.add("summary", plain_name(job.name))
    event.add("dtstart", _whole_second(at))
    event.add("dtstamp", _whole_second(job.created_at))
    event.add("transp", "TRANSPARENT")
    return event


def _whole_second(at: int) -> datetime:
    return utc(at // SECOND * SECOND)


def count_losses(rows: ExportData) -> Counter[str]:
    """Count the tasks without a due date, and what a to-do has no property for."""
    losses: Counter[str] = Counter()
    for _, tasks in rows.lists:
        for task in tasks:
            if task.due is None:
                losses["the whole task: it has no due date"] += 1
                continue
            for name in ("key", "domain", "result", "metadata", "agent", "intent", "node_ids", "estimate", "links"):
                if getattr(task, name) not in (None, ()):
                    losses[f"{name}: no place for it"] += 1
            if rows.logs.get(task.uid, []):
                losses["log: no place for it"] += 1
    return losses
