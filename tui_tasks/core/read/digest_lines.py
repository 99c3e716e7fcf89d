"""What a digest is made of: the journal entries that it reads, its lines, and the parts and groups of these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database

PARTS: Final = ("needs_you", "in_your_name", "failed", "not_proven", "proven", "filed", "spent")
"""The parts of a digest, in their order."""
FAILED: Final = "failed"
CLAIM_LAPSED: Final = "claim_lapsed"
OK_AGAIN: Final = "ok_again"
DISMISSED: Final = "dismissed"
LATER: Final = "later"
"""What a question that is put off is counted as: it comes after all else that needs the human."""
STATES: Final = (
    *(FAILED, "interrupted", CLAIM_LAPSED, "check_failed", "refused", "tool_error"),
    *("open_again", "dropped", DISMISSED, "gone", OK_AGAIN),
)
"""What a line of the part `failed` is now, the worst first; only what is `FAILED` counts (see `vocab`)."""
GROUPS: Final = (
    *(PARTS[:2] + tuple(state for state in STATES if state != "refused")),
    *("not_proven", "done", "proven", "filed", "spent", "refused"),
)
"""The groups in which people find the lines, in their order."""
_COUNTED_AS: Final = {
    "ask": "question",
    "held": "proposed",
    "job": "proposed",
    "check": "failed",
    "left": "gone",
    "work": "to review",
    "stuck": "stuck",
}
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


class Recovery(msgspec.Struct, frozen=True, gc=False):
    """What failed and is ok again: `what` happened, why, how often, and since when it is ok."""

    what: str
    reason: str
    times: int
    since: int


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line: what it is about, who did it, what happened, and the journal entries behind it, oldest first.

    `kind` says what `uid` is of: ask, task, held, left, stuck, run (a job's), check, claim, tool, session,
    refusal, unchecked (all tasks without checks), merged (a task whose work is), job, terminal, rule or spent.
    `at` is when it began to need the human, otherwise when it happened last. `task` is the uid of the task that it is
    about, `number` its number. `entries` is empty where they were compacted away. `state`: what a failure is
    now, of `STATES`. `is_gone`: it is about a lapsed claim of an agent that is gone. `done_at`: when the task that has
    failed, or whose claim has lapsed, was done; None where it is not. `is_later`: the human has put the question off.
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
    state: str = ""
    recovery: Recovery | None = None
    is_gone: bool = False
    done_at: int | None = None
    is_later: bool = False

    @property
    def counted_as(self) -> str:
        """Return the word under which every screen counts it; empty where it needs nobody."""
        if self.part == "failed" and self.state == FAILED:
            return "failed"
        if self.is_later:
            return LATER
        if self.is_gone:
            return _COUNTED_AS["left"]
        return _COUNTED_AS[self.kind] if self.part == "needs_you" else ""

    @property
    def things(self) -> int:
        """Return how many things it is about: a line of several tasks is about all of them."""
        return self.count if self.kind in ("filed", "unchecked") else 1

    @property
    def is_over(self) -> bool:
        """Whether it failed, and has succeeded since."""
        return self.state == OK_AGAIN

    @property
    def is_done(self) -> bool:
        """Whether it is about a failure with a task that is done since."""
        return self.is_over and self.done_at is not None

    @property
    def state_since(self) -> int:
        """Since when it is what its words call it: where it failed, and is done or ok again, since then."""
        if self.is_done and self.done_at is not None:
            return self.done_at
        return self.at if self.recovery is None else self.recovery.since

    @property
    def group(self) -> str:
        """Return under which words people find it: those of its part, or of what a failure is now. A task that is done
        counts as done, whatever went wrong before.
        """
        return "done" if self.kind in ("unchecked", "merged") or self.is_done else self.state or self.part

    def words(self, time_of: Callable[[int], str]) -> str:
        """Return what is said of it, for people: `failed at 19:15 (no answer), ok since 19:30`."""
        one = self.recovery
        if one is None:
            return self.text
        often = f" {one.times:,} times, last" if one.times > 1 else ""
        reason = f" ({one.reason})" if one.reason else ""
        return f"{one.what}{often} at {time_of(self.at)}{reason}, ok since {time_of(one.since)}"

    @property
    def title(self) -> str:
        """Return its name, with the number of the task that it is about before it."""
        return self.name if self.number is None else f"#{self.number} {self.name}"

    @property
    def key(self) -> str:
        """Return what identifies the line within a digest."""
        return f"{self.part}/{self.kind}/{self.who if self.kind == 'filed' else ''}/{self.uid}"

    @property
    def subject(self) -> str:
        """Return what it is about, of which there is one line: a task or a job by its uid, else its own key."""
        if self.kind in ("run", "job"):
            return self.uid
        return self.task if self.task is not None and self.kind != "ask" else self.key


def merged(lines: Iterable[DigestLine]) -> list[DigestLine]:
    """Return the lines with one for each subject: the first one, with the entries of the others and what they say; the
    line of a failed check says it already.
    """
    by_subject: dict[str, DigestLine] = {}
    for line in lines:
        first = by_subject.get(line.subject)
        if first is None:
            by_subject[line.subject] = line
            continue
        is_more = first.kind != "check" and line.text not in first.text
        by_subject[line.subject] = replace(
            first,
            text=f"{first.text}; {line.text}" if is_more else first.text,
            state=min(filter(None, (first.state, line.state)), key=STATES.index) if first.state else "",
            recovery=None if is_more or not line.is_over else first.recovery,
            at=max(first.at, line.at) if first.part == line.part else first.at,
            count=first.count + line.count if first.part == line.part else first.count,
            entries=tuple(sorted({*first.entries, *line.entries})),
        )
    return list(by_subject.values())
