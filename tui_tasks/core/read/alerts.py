"""What a person who looks elsewhere is to be told: questions, failures, jobs that are overdue. Reads, bounded."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, fn
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.read import checks
from tui_tasks.core.schema.models import JobRow, JournalRow, RunRow, TaskRow

MOST: Final = 1_000
"""More than so many of one stretch are not counted."""
STRETCH: Final = 20_000
"""Of a longer stretch of the journal only its newest so many entries are looked at."""
KINDS: Final = frozenset({"ask.opened", "task.created", "task.updated", "run.finished", "check.finished"})
"""The kinds of journal entry that may be one."""

J = JournalRow
_IN: Any = J.kind.in_(sorted(KINDS))
_FAILED: Any = fn.json_extract(J.new, "$.status") == "failed"
_CHECK_FAILED: Any = (J.kind == "check.finished") & (fn.json_extract(J.new, "$.state") == "failed")
_ERROR: Any = fn.json_extract(J.new, "$.outcome") == "error"


class Alert(msgspec.Struct, frozen=True, gc=False):
    """A reason to look. `kind`: ask, task, run, check or overdue; `who`: an agent; `text`: its question or a name."""

    kind: str
    who: str
    text: str


_ALERTS = Statement(
    J.select(
        J.kind,
        J.actor,
        fn.COALESCE(fn.json_extract(J.new, "$.question"), JobRow.name, TaskRow.name, ""),
        J.task,
        fn.json_extract(J.new, "$.name"),
    )
    .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task))
    .join(RunRow, JOIN.LEFT_OUTER, on=((J.kind == "run.finished") & (RunRow.uid == J.uid)))
    .join(JobRow, JOIN.LEFT_OUTER, on=(JobRow.uid == RunRow.job_uid))
    .where(
        (J.seq > slot("since"))
        & (J.seq <= slot("upto"))
        & (J.actor != vocab.HUMAN)
        & _IN
        & ((J.kind == "ask.opened") | _FAILED | _ERROR | _CHECK_FAILED)
    )
    .order_by(J.seq)
    .limit(slot("limit"))
)
_DUE: Any = (JobRow.deleted == SQL("0")) & (JobRow.enabled == SQL("1")) & (JobRow.next_run > slot("after"))
_OVERDUE = Statement(
    JobRow.select(JobRow.name).where(_DUE & (JobRow.next_run <= slot("upto"))).order_by(JobRow.next_run).limit(MOST)
)
_NEXT = Statement(JobRow.select(fn.MIN(JobRow.next_run)).where(_DUE))
_WORDS: Final = {"ask.opened": "ask", "run.finished": "run"}


def between(db: Database, since: int, upto: int) -> list[Alert]:
    """What the journal's entries `since < seq <= upto` have for the human, oldest first; none of the human's own."""
    rows = db.all(_ALERTS, since=max(since, upto - STRETCH), upto=upto, limit=MOST)
    # A check of a task that is not done yet, or that the human lets be done all the same, needs nobody.
    failing = set(checks.failing(db, MOST)) if any(row[0] == "check.finished" for row in rows) else set()
    return [
        Alert("check", actor, f"{name} of {text}")
        if kind == "check.finished"
        else Alert(_WORDS.get(kind, "task"), actor, text)
        for kind, actor, text, task, name in rows
        if kind != "check.finished" or task in failing
    ]


def overdue(db: Database, after: int, upto: int) -> list[Alert]:
    """The jobs that were to run at an instant `after < instant <= upto`, and were not begun."""
    return [Alert("overdue", vocab.SYSTEM, name) for (name,) in db.all(_OVERDUE, after=after, upto=upto)]


def next_due(db: Database, after: int) -> int | None:
    """When the next job runs after an instant, None where none does."""
    found: int | None = db.one(_NEXT, after=after)[0]
    return found
