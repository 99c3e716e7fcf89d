"""The journal entries that a digest is made of, and the lines that it consists of."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import journal

# Quotes within a text are escaped in JSON, so `instr` rules out nearly all entries cheaply. What a person or an agent
# says of a failure is in the entry that follows.
_STATUSES: Final = """
SELECT journal.seq, journal.at, journal.actor, journal.uid, json_extract(journal.new, '$.status') AS become,
    iif(instr(journal.new, '"status":"failed"'), coalesce(
        (SELECT json_extract(said.new, '$.message') FROM journal AS said WHERE said.seq = journal.seq + 1
            AND said.change = journal.change AND said.task = journal.task AND said.kind = 'task.logged'),
        json_extract(journal.new, '$.result')), NULL),
    task.name, task.status, task.deleted, task.list_id, task.checks
FROM journal JOIN task ON task.uid = journal.uid
WHERE journal.seq > ? AND journal.entity = 'task'
    AND (instr(journal.new, '"status":"done"') OR instr(journal.new, '"status":"failed"'))
    AND json_extract(journal.new, '$.status') IN ('done', 'failed')
ORDER BY journal.seq
"""
# The rarer events, beside statuses and new tasks.
_EVENTS: Final = """
SELECT journal.seq, journal.at, journal.actor, journal.kind, journal.entity, journal.uid, journal.task, journal.old,
    journal.new, task.name, task.agent
FROM journal LEFT JOIN task ON task.uid = journal.task
WHERE journal.seq > ? AND (
    journal.kind IN ('check.finished', 'check.stale', 'tool.failed', 'claim.lapsed', 'agent.refused', 'job.created',
        'terminal.used')
    OR journal.entity = 'session'
    OR (journal.kind = 'ask.answered' AND instr(journal.new, '"rule":"'))
    OR (journal.entity = 'run' AND journal.kind != 'job.pruned'
        AND json_extract(journal.new, '$.outcome') IN ('error', 'interrupted'))
)
ORDER BY journal.seq
"""


class StatusEntry(NamedTuple):
    """An entry that sets a task done or failed, and the task as it is now."""

    seq: int
    at: int
    actor: str
    uid: str
    become: str
    reason: Any
    name: str
    status: str
    deleted: int
    list_id: int
    checks: str | None


class EventEntry(NamedTuple):
    """An entry of another kind, with the name and the agent of its task."""

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    old: str | None
    new: str | None
    name: str | None
    agent: str | None

    @property
    def values(self) -> dict[str, Any]:
        """Return the values that it set."""
        found: dict[str, Any] = msgspec.json.decode(self.new) if self.new else {}
        return found


def statuses(db: Database, after: int) -> list[StatusEntry]:
    """Return the entries after a seq that set a task done or failed, oldest first."""
    return [StatusEntry(*journal.as_text(row)) for row in db.sql(_STATUSES, (after,))]


def events(db: Database, after: int) -> list[EventEntry]:
    """Return the entries after a seq that are about something else and may be worth a line, oldest first."""
    return [EventEntry(*journal.as_text(row)) for row in db.sql(_EVENTS, (after,))]


PARTS: Final = ("needs_you", "in_your_name", "failed", "not_proven", "proven", "filed", "spent")
"""The parts of a digest, in their order."""


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line: what it is about, who did it, what happened, and the journal entries behind it, oldest first.

    `kind` says what `uid` is of: ask, task, held, left, stuck, run (a job's), check, claim, tool, session, refusal,
    unchecked (all tasks without checks), job, terminal, rule or spent. `at` is when it began to need the human,
    otherwise when it happened last. `task` is the uid of the task that it is about, `number` its number. `entries` is
    empty where they were compacted away.
    """

    part: str
    kind: str
    uid: str
    name: str
    who: str
    text: str
    at: int
    entries: tuple[int, ...] = ()
    task: str | None = None
    count: int = 1
    number: int | None = None

    @property
    def title(self) -> str:
        """Return its name, with the number of the task that it is about before it."""
        return self.name if self.number is None else f"#{self.number} {self.name}"

    @property
    def key(self) -> str:
        """Return what identifies the line within a digest."""
        return f"{self.part}/{self.kind}/{self.who if self.kind == 'filed' else ''}/{self.uid}"
