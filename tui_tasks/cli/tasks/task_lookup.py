"""Finding the tasks and lists that the words of a command name."""

from __future__ import annotations

from typing import Final

from tui_tasks.channel.session import Session
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, TaskList

SHORT = 8
# Digits of this length may be the beginning of a uid; fewer are a number (docs: protocol, section 2).
_SHORTEST_PREFIX: Final = 6


def find_task(session: Session, reference: str) -> Task:
    """Return the task with a number (`1`, `#1`), a uid, or the beginning of one.

    Raises:
        NotFound: there is none.
        Conflict: several tasks match.
    """
    number = reference.removeprefix("#")
    is_number = number.isascii() and number.isdigit()
    if is_number and (reference != number or len(number) < _SHORTEST_PREFIX):
        return _task_of_number(session, int(number))
    found = queries.tasks_beginning(session.store.db, reference, 2)
    if not found:
        if is_number:
            return _task_of_number(session, int(number))
        raise NotFound("task", reference)
    if len(found) > 1:
        raise Conflict(f"several tasks begin with {reference}: write more of the uid")
    return found[0]


def _task_of_number(session: Session, number: int) -> Task:
    """Return the task that `ls` prints with this number."""
    db = session.store.db
    found = [
        (home, uid) for home in lists_in_scope(session) if (uid := uid_of_number(session, home, number)) is not None
    ]
    if not found:
        raise NotFound("task", f"#{number}; `tui-tasks ls` prints their numbers")
    if len(found) > 1:
        each = "; ".join(f"{home.name}: {uid[:SHORT]} {queries.task(db, uid).name[:40]}" for home, uid in found[:5])
        raise Conflict(f"several lists have a #{number}: name one with --list, or write the uid ({each})")
    return queries.task(db, found[0][1])


def uid_of_number(session: Session, home: TaskList, number: int) -> str | None:
    """Return the uid of a list's task by number."""
    from tui_tasks.core.read.pages import pages  # a short command without a number does not need it

    return pages.uid_of_number(session.store.db, home, number)


def lists_in_scope(session: Session) -> list[TaskList]:
    """Return the list that is named, else those of the project.

    Raises:
        NotFound: there is no list of that name.
    """
    named = session.identity.list
    if named is None:
        return queries.lists(session.store.db, session.identity.project)
    found = queries.find_list(session.store.db, named)
    if found is None:
        raise NotFound("list", named)
    return [found]
