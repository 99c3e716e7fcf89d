"""Why no task is ready, so that an agent that looks for work knows what to do instead."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import RELEASING

# How many pending tasks of a list are looked at, and how many lists.
_MOST_LOOKED_AT: Final = 100
_MOST_LISTS: Final = 20
_IS: Final = {"pending": "is pending", "in_progress": "is in progress", "failed": "has failed"}


def why_none(
    db: Database,
    list_id: int | None,
    agent: str | None,
    *,
    project: str | None = None,
    claimable: bool = True,
    is_confined: bool = False,
) -> str:
    """Return why an agent that has found no task to take up in a list, or in any list of a project, found none.

    `claimable`: it looked for a task to set in progress, not for the next one. `is_confined`: tasks of other lists are
    not named.
    """
    if list_id is not None:
        return _why(db, queries.list_by_id(db, list_id), agent, claimable=claimable, is_confined=is_confined)
    there = [home for home in queries.lists(db, project) if not home.archived]
    homes = [home for home in there if home.pending]
    if not homes:
        return "nothing is pending in any list" + _going(sum(home.in_progress for home in there))
    reasons = [_why(db, home, agent, claimable=claimable) for home in homes[:_MOST_LISTS]]
    more = len(homes) - 1
    return reasons[0] + (f"; nor is there anything in {more} other list{'s' * (more > 1)}" if more else "")


def _why(db: Database, home: TaskList, agent: str | None, *, claimable: bool, is_confined: bool = False) -> str:
    if claimable and not home.takes_more and (first := queries.in_progress(db, home.id)) is not None:
        who = first.claimed_by or first.agent or first.updated_by
        return f"{named(db, first)} of {home.name} is in progress already, by {who}, and the list takes one at a time"
    if not home.pending:
        return f"nothing is pending in {home.name}{_going(home.in_progress)}"
    tasks = queries.tasks_of_status(db, home.id, "pending", _MOST_LOOKED_AT)
    waiting = [(task, on) for task in tasks if (on := _waits_for(db, task)) is not None]
    failed = [pair for pair in waiting if pair[1].status == "failed"]
    for task, on in failed or waiting:
        what = named(db, on) if on.list_id == home.id or not is_confined else "a task of another list"
        return f"{named(db, task)} of {home.name} waits for {what}, which {_IS[on.status]}"
    for task in tasks:
        if task.held:
            return f"{named(db, task)} of {home.name} is held until the human accepts it"
        if agent is not None and task.agent not in (None, agent):
            return f"{named(db, task)} of {home.name} is assigned to {task.agent}"
    return f"what is pending in {home.name} is not ready"


def _going(count: int) -> str:
    return f"; {count:,} {'task is' if count == 1 else 'tasks are'} in progress" if count else ""


def _waits_for(db: Database, task: Task) -> Task | None:
    """Return the task that blocks another, a failed one first; None if none does."""
    found = [queries.any_task(db, uid) for uid in task.depends_on] if task.blocked else []
    holding = [on for on in found if on is not None and not on.deleted and on.status not in RELEASING]
    return next((on for on in holding if on.status == "failed"), holding[0] if holding else None)
