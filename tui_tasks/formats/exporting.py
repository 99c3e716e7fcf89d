"""What an export has to write, read at one moment."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.tasks import queries
from tui_tasks.formats.records import Rows


def rows(db: Database, handle: str | None, project: str | None, step: Callable[[], None] = lambda: None) -> Rows:
    """Return the tasks of the list that is named, else of all lists of a project, or of all; `step` is told of each.

    Jobs are of no list, and left out where one is named.

    Raises:
        NotFound: there is no such list.
    """
    with db.transaction(write=False):
        homes = queries.lists(db, project)
        if handle is not None:
            named = queries.find_list(db, handle)
            if named is None:
                raise NotFound("list", handle)
            homes = [named]
        found = Rows([(home, queries.tasks(db, home.id)) for home in homes])
        if handle is None:
            found.jobs = job_queries.jobs(db)
        for _, tasks in found.lists:
            for task in tasks:
                if log := queries.logs(db, task.uid):
                    found.logs[task.uid] = log
                step()
    return found
