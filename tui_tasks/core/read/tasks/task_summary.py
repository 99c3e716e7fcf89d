"""Tasks in brief, as an agent reads them most: a quarter of the work that whole rows are, of which most is decoding."""

from __future__ import annotations

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.tasks.queries import IN_LIVE_LIST, LIVE
from tui_tasks.core.schema.models import TaskRow


class TaskSummary(msgspec.Struct, frozen=True, gc=False):
    """What an agent is shown of a task in a list."""

    uid: str
    name: str
    description: str
    status: str


_COLUMNS = (TaskRow.uid, TaskRow.name, TaskRow.description, TaskRow.status)
_ONE = Statement(TaskRow.select(*_COLUMNS).where(LIVE & (TaskRow.uid == slot("uid")) & IN_LIVE_LIST))
_OF_LIST = Statement(TaskRow.select(*_COLUMNS).where(LIVE & (TaskRow.list_id == slot("list"))).order_by(TaskRow.rank))


def one(db: Database, uid: str) -> TaskSummary:
    """The task with that uid.

    Raises:
        NotFound: there is none, or it was deleted, be it with its list.
    """
    row = db.one(_ONE, uid=uid)
    if row is None:
        raise NotFound("task", uid)
    return TaskSummary(*row)


def of_list(db: Database, list_id: int) -> list[TaskSummary]:
    """The tasks of a list, in order."""
    return [TaskSummary(*row) for row in db.all(_OF_LIST, list=list_id)]
