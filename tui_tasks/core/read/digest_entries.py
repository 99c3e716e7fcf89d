"""The journal entries that a digest is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database

# A server's journal may have entries that are no JSON.
_NEW: Final = "iif(json_valid(journal.new), journal.new, NULL)"
# Quotes within a text are escaped in JSON, so `instr` rules out nearly all entries cheaply. What a person or an agent
# says of a failure is in the entry that follows.
# An undo restores who has set the status.
_STATUSES: Final = f"""
SELECT journal.seq, journal.at,
    iif(journal.undoes IS NULL, journal.actor, coalesce(json_extract({_NEW}, '$.status_by'), task.status_by)),
    journal.uid, json_extract({_NEW}, '$.status') AS become,
    iif(instr(journal.new, '"status":"failed"'), coalesce(
        (SELECT json_extract(iif(json_valid(said.new), said.new, NULL), '$.message') FROM journal AS said
            WHERE said.seq = journal.seq + 1 AND said.change = journal.change AND said.task = journal.task
            AND said.kind = 'task.logged'),
        json_extract({_NEW}, '$.result')), NULL),
    task.name, task.status, task.deleted, task.list_id, task.checks, journal.change, journal.undoes
FROM journal JOIN task ON task.uid = journal.uid
WHERE journal.seq > ? AND journal.at >= ? AND journal.entity = 'task'
    AND (instr(journal.new, '"status":"done"') OR instr(journal.new, '"status":"failed"'))
    AND json_extract({_NEW}, '$.status') IN ('done', 'failed')
ORDER BY journal.seq
"""
_AGENTS: Final = f"actor NOT IN ({', '.join(repr(name) for name in sorted(vocab.RESERVED_AGENTS))})"
# New tasks of agents, and the rarer events beside statuses: one scan of the journal finds both. Most new tasks have a
# line of another kind, so they are not looked up here.
_EVENTS: Final = f"""
SELECT journal.seq, journal.at, journal.actor, journal.kind, journal.entity, journal.uid, journal.task, journal.old,
    iif(journal.kind = 'task.created', NULL, journal.new), task.name, task.agent
FROM journal LEFT JOIN task ON task.uid = iif(journal.kind = 'task.created', NULL, journal.task)
WHERE journal.seq > ? AND journal.at >= ? AND (
    (journal.kind = 'task.created' AND journal.{_AGENTS})
    OR journal.kind IN ('check.finished', 'check.stale', 'tool.failed', 'claim.lapsed', 'agent.refused', 'job.created',
        'terminal.used', 'work.failed')
    OR journal.entity = 'session'
    OR (journal.kind = 'ask.answered' AND instr(journal.new, '"rule":"'))
    OR (journal.entity = 'run' AND journal.kind != 'job.pruned'
        AND json_extract({_NEW}, '$.outcome') IN ('error', 'interrupted'))
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
    change: int
    undoes: int | None


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
        return journal.values_of(self.new)


def statuses(db: Database, after: int, since: int) -> list[StatusEntry]:
    """Return the entries after a seq, since an instant, that set a task done or failed, oldest first."""
    return [StatusEntry(*journal.as_text(row)) for row in db.sql(_STATUSES, (after, since))]


class FiledEntry(NamedTuple):
    """An entry of an agent's new task."""

    seq: int
    at: int
    actor: str
    task: str


def events(db: Database, after: int, since: int) -> tuple[list[EventEntry], dict[str, Any]]:
    """Return the entries after a seq, since an instant, that are about something else and may be worth a line, oldest
    first; apart from them, for `filed_entries`, the rows of agents' new tasks by the uids of these.
    """
    found, created = [], {}
    for row in db.sql(_EVENTS, (after, since)):
        if row[3] == "task.created":
            created[row[5]] = row
        else:
            found.append(EventEntry(*journal.as_text(row)))
    return found, created


def filed_entries(created: Mapping[str, Any], named: Collection[str]) -> list[FiledEntry]:
    """Return the entries of new tasks, but for those that other lines name."""
    rows = (journal.as_text(row) for uid, row in created.items() if uid not in named)
    return [FiledEntry(row[0], row[1], row[2], row[5]) for row in rows]
