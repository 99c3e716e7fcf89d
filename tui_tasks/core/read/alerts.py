"""What a person who looks elsewhere is alerted to: questions, failures, overdue jobs. The reads are bounded."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, fn, slot
from tui_tasks.core.read import checks
from tui_tasks.core.schema.tables.jobs import JobRow, RunRow
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import TaskRow

MAX: Final = 1_000
"""How many alerts of one stretch are counted at most."""
STRETCH: Final = 20_000
"""How many entries of a stretch of the journal are read, the newest ones."""
KINDS: Final = frozenset({"ask.opened", "task.created", "task.updated", "run.finished", "check.finished"})
"""The kinds of journal entry that may be an alert."""

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
    JobRow.select(JobRow.name).where(_DUE & (JobRow.next_run <= slot("upto"))).order_by(JobRow.next_run).limit(MAX)
)
_NEXT = Statement(JobRow.select(fn.MIN(JobRow.next_run)).where(_DUE))
_WORDS: Final = {"ask.opened": "ask", "run.finished": "run"}


def between(db: Database, since: int, upto: int) -> list[Alert]:
    """Return the alerts of the entries `since < seq <= upto`, oldest first, without the human's own entries."""
    rows = db.all(_ALERTS, since=max(since, upto - STRETCH), upto=upto, limit=MAX)
    # A failed check needs nobody if its task is not done yet, or if the human has waived it.
    failing = set(checks.failing(db, MAX)) if any(row[0] == "check.finished" for row in rows) else set()
    return [
        Alert("check", actor, f"{name} of {text}")
        if kind == "check.finished"
        else Alert(_WORDS.get(kind, "task"), actor, text)
        for kind, actor, text, task, name in rows
        if kind != "check.finished" or task in failing
    ]


def overdue(db: Database, after: int, upto: int) -> list[Alert]:
    """Return the jobs that were due at an instant `after < instant <= upto` and were not started."""
    return [Alert("overdue", vocab.SYSTEM, name) for (name,) in db.all(_OVERDUE, after=after, upto=upto)]


def next_due(db: Database, after: int) -> int | None:
    """Return the instant at which the next job is due after an instant; None if none is."""
    found: int | None = db.one(_NEXT, after=after)[0]
    return found
