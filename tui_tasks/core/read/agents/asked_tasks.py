"""The task that a question is about: the one that it names, else the one on which its agent was at work when it asked.

The journal says which that was. It stays that task, whatever its agent does later; about a question whose entries were
compacted away nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.schema.tables import JournalRow
from tui_tasks.core.vocab import HUMAN, SYSTEM

# How many entries of an agent before a question, and how many after it, are searched for tasks on which it may have
# been at work.
_LOOKED_AT: Final = 60

J = JournalRow

_DONE_BEFORE = Statement(
    lambda: (
        J.select(J.task)
        .where((J.actor == slot("agent")) & (J.seq < slot("seq")))
        .order_by(J.seq.desc())
        .limit(_LOOKED_AT)
    )
)
_DONE_AFTER = Statement(
    lambda: J.select(J.task).where((J.actor == slot("agent")) & (J.seq > slot("seq"))).order_by(J.seq).limit(_LOOKED_AT)
)
_OF_STATE: Final = ("status", "agent", "name")
_IS_NEW = (J.kind == "task.created") & journal.value_of(J.image, "status").is_null()
_STATE = Statement(
    lambda: (
        # The entry of a new task has its values only once.
        J.select(
            *(fn.IIF(_IS_NEW, journal.value_of(J.new, name), journal.value_of(J.image, name)) for name in _OF_STATE)
        )
        .where((J.task == slot("task")) & (J.seq < slot("seq")))
        .order_by(J.seq.desc())
        .limit(1)
    )
)


def asked_about(db: Database, asks: Iterable[Ask], at_work: Mapping[str, TaskLine]) -> dict[str, str]:
    """Return the uid of the task that each question is about, by the uid of the question; none if it is about none.

    `at_work`: as `activity.working` returns it.
    """
    about = ((ask.uid, task_of(db, ask, at_work.get(ask.agent))) for ask in asks)
    return {uid: task for uid, task in about if task is not None}


def task_of(db: Database, ask: Ask, now: TaskLine | None = None) -> str | None:
    """Return the uid of the task that a question is about; `now` is the task on which its agent is at work.

    An agent can be given a task by others, and ask before it writes to that: so what it does after its question is
    looked at as well.
    """
    if ask.task_uid is not None:
        return ask.task_uid
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    if seq is None:
        return None
    near = [row[0] for looked_at in (_DONE_BEFORE, _DONE_AFTER) for row in db.all(looked_at, agent=ask.agent, seq=seq)]
    tasks = dict.fromkeys([*near, now.uid if now is not None else None])
    return next((task for task in tasks if task is not None and _was_at_work(db, ask.agent, task, seq)), None)


def name_when_asked(db: Database, ask: Ask, task: str) -> str | None:
    """Return the name that a task had when a question about it was asked; None where that was compacted away."""
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    row = db.one(_STATE, task=task, seq=seq) if seq is not None else None
    return row[2] if row is not None else None


def _was_at_work(db: Database, agent: str, task: str, seq: int) -> bool:
    """Return whether a task was in progress for an agent before an entry.

    Not if another agent has put it there: that could choose what this one seems to ask about.
    """
    row = db.one(_STATE, task=task, seq=seq)
    if row is None or row[0] != "in_progress" or row[1] not in (None, agent):
        return False
    set_by = journal.status_set(db, task, seq)
    return set_by is not None and set_by[0] in ((agent,) if row[1] is None else (agent, HUMAN, SYSTEM))
