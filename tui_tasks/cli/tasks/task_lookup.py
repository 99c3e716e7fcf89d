"""Finding the tasks and lists that the words of a command name."""

from __future__ import annotations

from tui_tasks.channel.session import Session
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import number_of
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.text.safe import safe_line


def find_task(session: Session, reference: str) -> Task:
    """Return the task with a number (`1`, `#1`), a uid, or the beginning of one.

    Raises:
        NotFound: there is none.
        Conflict: several tasks match.
    """
    db = session.store.db
    if (number := number_of(reference)) is not None:
        task = task_queries.task_of_number(db, number)
        if task is None or task_queries.status(db, task.uid) is None:
            was = "it was deleted" if task is not None else "`tui-tasks ls` prints the numbers"
            raise NotFound("task", f"#{number}", f": {was}")
        return task
    found = task_queries.tasks_beginning(db, reference.lower(), 2)
    if not found:
        raise NotFound("task", reference)
    if len(found) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return found[0]


def titled(number: int, name: str) -> str:
    """Return a task as commands print it: `#12  Rotate keys`."""
    return f"#{number}  {safe_line(name)}"


def lists_in_scope(session: Session) -> list[TaskList]:
    """Return the list that is named, else those of the project; outside any, those of no project.

    Raises:
        NotFound: there is no list of that name.
    """
    named = session.identity.list
    if named is None:
        return task_queries.lists(session.store.db, session.identity.scope)
    found = task_queries.find_list(session.store.db, named)
    if found is None:
        raise NotFound("list", named)
    return [found]
