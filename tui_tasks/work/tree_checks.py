"""The checks of a task on exactly one tree: what is proven of it, whichever folder it was proven in."""

from __future__ import annotations

from tui_tasks.core.read import check_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Check, Work
from tui_tasks.core.store import Store


def states(store: Store, work: Work, tree: str) -> tuple[Check, ...]:
    """Return the checks of the task of a work, with the state of each on a tree."""
    db = store.db
    task = task_queries.task(db, work.task_uid)
    home = task_queries.list_by_id(db, task.list_id)
    found = check_queries.of_task(db, task, home, check_queries.definitions(db))
    return tuple(Check(one.name, "unproven", None, one.gate, one.uid) for one in found)
