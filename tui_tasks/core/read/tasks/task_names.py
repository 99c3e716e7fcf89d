"""The names of tasks for people and agents, and explanations of an id that no task has.

section 2).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import model_of
from tui_tasks.core.snapshots import Task

_MAX_CHARS: Final = 60
# Digits alone are a number up to 7 of them, and the beginning of a uid from 8.
_NUMBER: Final = r"#([0-9]{1,18})|([0-9]{1,7})"


def named(task: Task) -> str:
    """Return a task's name as in `task #3 "Build the parser"`."""
    name = " ".join(task.name[: 2 * _MAX_CHARS].split())
    name = f"{name[: _MAX_CHARS - 1]}…" if len(name) > _MAX_CHARS else name
    return f'task #{task.number} "{name}"'


def number_of(reference: str) -> int | None:
    """Return the number that a reference names a task by (`#12` or `12`); None if it is no number."""
    found = re.fullmatch(_NUMBER, reference, re.ASCII)
    return int(found[1] or found[2]) if found else None


_UID_LENGTH: Final = 36
# Neighbours differ within their first characters, so an equal beginning of this length is hardly ever chance.
_SURE_PREFIX: Final = 6
_HEX: Final = "0123456789abcdef"
_KINDS: Final = (
    ("job", "job"),
    ("run", "run of a job"),
    ("ask", "question"),
    ("claim", "claim"),
    ("memory", "memory"),
    ("list", "plan or list"),
)


def explain(db: Database, uid: str) -> str:
    """Return a hint about the id, to follow `no task ID`; empty if there is none."""
    if len(uid) == _UID_LENGTH:
        for table, kind in _KINDS:
            if db.one(_by_uid(table), uid=uid) is not None:
                return f": that is the id of a {kind}"
        latest = journal.latest(db, 1, uid)
        if latest and latest[-1].kind == "task.deleted":
            return f": {latest[-1].actor} deleted it; the human can bring it back"
    near = _near(db, uid.lower())
    return f"; did you mean {near}?" if near is not None else ""


@cache
def _by_uid(table: str) -> Statement:
    model: Any = model_of(table)
    return Statement(model.select(model.uid).where(model.uid == slot("uid")))


def _near(db: Database, uid: str) -> str | None:
    """Return the one task whose uid differs in one character, which may be missing or twice; None if there is none."""
    if not _UID_LENGTH - 1 <= len(uid) <= _UID_LENGTH + 1:
        return None
    found = {task.uid for task in task_queries.tasks_beginning(db, uid[:_SURE_PREFIX], 20) if _is_near(task.uid, uid)}
    if len(uid) == _UID_LENGTH:
        for at in range(_SURE_PREFIX):
            for digit in _HEX:
                changed = uid[:at] + digit + uid[at + 1 :]
                found.update(task.uid for task in task_queries.tasks_beginning(db, changed, 1))
    return found.pop() if len(found) == 1 else None


def _is_near(one: str, other: str) -> bool:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    longer = len(other) - len(one)
    return one[at + (longer <= 0) :] == other[at + (longer >= 0) :]
