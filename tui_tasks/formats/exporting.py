"""Reads what an export writes, in one read transaction."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.tasks import queries, records
from tui_tasks.formats.records import ExportData


def rows(db: Database, handle: str | None, project: str | None, step: Callable[[], None] = lambda: None) -> ExportData:
    """Return the tasks of the named list, else of all lists of a project, else of all; `step` is called for each task.

    Jobs belong to no list: they are left out if one is named.

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
        found = ExportData([(home, queries.tasks(db, home.id)) for home in homes])
        if handle is None:
            found.jobs = job_queries.jobs(db)
        for _, tasks in found.lists:
            for task in tasks:
                if log := records.logs(db, task.uid):
                    found.logs[task.uid] = log
                step()
    return found
