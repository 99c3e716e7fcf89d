"""The task that a question is about: the one that it names, else the one on which its agent was at work when it asked.

The journal says which that was. It stays that task, whatever its agent does later; about a question whose entries were
compacted away nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

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

# Each task that an agent touched near an entry, with the task's newest entry before that one. First comes what it
# touched last before, then what it touched after, then the task on which it is at work now.
_NEAR: Final = f"""
SELECT task, (SELECT max(seq) FROM journal WHERE task = near.task AND seq < ?2) FROM (
    SELECT task, ?2 - seq AS place FROM (
        SELECT task, seq FROM journal WHERE actor = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT {_LOOKED_AT}
    ) UNION ALL SELECT task, seq FROM (
        SELECT task, seq FROM journal WHERE actor = ?1 AND seq > ?2 ORDER BY seq LIMIT {_LOOKED_AT}
    ) UNION ALL SELECT ?3, {2**62}
) AS near WHERE task IS NOT NULL GROUP BY task ORDER BY min(place)
"""
_NEWEST_BEFORE: Final = "SELECT max(seq) FROM journal WHERE task = ? AND seq < ?"
_IS_NEW = (J.kind == "task.created") & journal.value_of(J.image, "status").is_null()


def _value(name: str) -> Any:
    """Return the expression for a value of a task after an entry; that of a new task has its values only once."""
    return fn.IIF(_IS_NEW, journal.value_of(J.new, name), journal.value_of(J.image, name))


_STATE = Statement(lambda: J.select(_value("status"), _value("agent")).where(J.seq == slot("seq")))
_NAME = Statement(lambda: J.select(_value("name")).where(J.seq == slot("seq")))


def asked_about(db: Database, asks: Iterable[Ask], at_work: Mapping[str, TaskLine]) -> dict[str, str]:
    """Return the uid of the task that each question is about, by the uid of the question; none if it is about none.

    `at_work`: as `activity.working` returns it.
    """
    states = _States(db)
    about = ((ask.uid, _task_of(db, ask, at_work.get(ask.agent), states)) for ask in asks)
    return {uid: task for uid, task in about if task is not None}


def task_of(db: Database, ask: Ask) -> str | None:
    """Return the uid of the task that a question is about; None if it is about none."""
    return _task_of(db, ask, None, _States(db))


def about_task(db: Database, asks: Iterable[Ask], task: str) -> list[Ask]:
    """Return those of some questions that are about a task."""
    states = _States(db)
    return [ask for ask in asks if _task_of(db, ask, None, states) == task]


def name_when_asked(db: Database, ask: Ask, task: str) -> str | None:
    """Return the name that a task had when a question about it was asked; None where that was compacted away."""
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    last = db.sql(_NEWEST_BEFORE, (task, seq)).fetchone()[0] if seq is not None else None
    row = db.one(_NAME, seq=last) if last is not None else None
    return row[0] if row is not None else None


class _States:
    """The status and the agent of tasks after an entry; each is read once for many questions."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._found: dict[int, tuple[str | None, str | None]] = {}

    def after(self, seq: int) -> tuple[str | None, str | None]:
        """Return status and agent."""
        if seq not in self._found:
            self._found[seq] = self._db.one(_STATE, seq=seq)
        return self._found[seq]


def _task_of(db: Database, ask: Ask, now: TaskLine | None, states: _States) -> str | None:
    """Return the uid of the task that a question is about; `now` is the task on which its agent is at work.

    An agent can be given a task by others, and ask before it writes to that: so what it does after its question is
    looked at as well.
    """
    if ask.task_uid is not None:
        return ask.task_uid
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    if seq is None:
        return None
    near = db.sql(_NEAR, (ask.agent, seq, now.uid if now is not None else None)).fetchall()
    return next((task for task, last in near if _was_at_work(db, ask.agent, task, seq, last, states)), None)


def _was_at_work(db: Database, agent: str, task: str, seq: int, last: int | None, states: _States) -> bool:
    """Return whether a task was in progress for an agent before an entry; `last` is the task's newest before that.

    Not if another agent has put it there: that could choose what this one seems to ask about.
    """
    status, who = states.after(last) if last is not None else (None, None)
    if status != "in_progress" or who not in (None, agent):
        return False
    set_by = journal.status_set_by(db, task, seq)
    return set_by in ((agent,) if who is None else (agent, HUMAN, SYSTEM))
