"""Tasks that need the human because a check has failed: who reported them, and how each check ended."""

from __future__ import annotations

from typing import Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Check, Task

MAX: Final = 1_000
"""How many tasks are returned at most."""


class FailedTask(msgspec.Struct, frozen=True, gc=False):
    """A task with failed checks: `checks` are the failed ones, `at` is when the last of them ended.

    `who` is the agent or shell that requested the checks last, by reporting the task done or by a request.
    """

    task: Task
    list_name: str
    who: str
    checks: tuple[Check, ...]
    at: int

    @property
    def uid(self) -> str:
        """Return the uid of the task."""
        return self.task.uid


def everything(db: Database) -> list[FailedTask]:
    """Return the tasks, the earliest failure first."""
    known = checks.definitions(db)
    found = []
    for uid in checks.failing(db, MAX):
        task = queries.task(db, uid)
        home = queries.list_by_id(db, task.list_id)
        failed = [check for check in checks.of_task(db, task, home, known) if check.state == "failed"]
        at = max((check.run.ended_at or 0 for check in failed if check.run is not None), default=task.updated_at)
        found.append(FailedTask(task, home.name, _who(db, task), tuple(failed), at))
    return found


def _who(db: Database, task: Task) -> str:
    row = db.sql(
        "SELECT actor FROM journal WHERE task = ? AND kind = 'check.requested' AND actor NOT IN (?, ?)"
        " ORDER BY seq DESC LIMIT 1",
        (task.uid, vocab.HUMAN, vocab.SYSTEM),
    ).fetchone()
    return str(row[0]) if row is not None else task.agent or task.updated_by
