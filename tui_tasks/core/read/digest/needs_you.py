"""What needs the human now, since whenever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import instants, journal
from tui_tasks.core.read import asks, checks
from tui_tasks.core.read.agents import activity
from tui_tasks.core.read.digest.digest_line import DigestLine
from tui_tasks.core.read.tasks import held, queries

# How many tasks with a failed check are read at most.
_MAX_FAILING: Final = 100_000
# How many entries are searched for the one that a question or an agent's state comes from.
_NEAR: Final = 10_000


def needs_you(db: Database) -> Iterator[DigestLine]:
    """Yield a line for each question, held task, held job, task with a failed check, and stuck agent."""
    for ask in asks.open_asks(db):
        entries = _entry_of(db, "ask.opened", ask.uid, ask.opened_at)
        yield _line("ask", ask.uid, ask.question, ask.agent, "asks you", ask.opened_at, entries, ask.task_uid)
    for task in held.everything(db):
        entries = _entries_of_task(db, task.uid, "task.created")
        text = f"waits for you in {task.list_name}"
        yield _line("held", task.uid, task.name, task.maker, text, task.at, entries, task.uid)
    for job in held.jobs(db):
        entries = _entry_of(db, "job.created", job.uid, job.at)
        yield _line("job", job.uid, job.name, job.maker, "a job that waits for you", job.at, entries)
    for uid in checks.failing(db, _MAX_FAILING):
        yield _failed_check(db, uid)
    for stuck in activity.stuck_now(db):
        entries = _newest_stuck(db, stuck.uid)
        yield _line("stuck", stuck.uid, stuck.uid, stuck.uid, stuck.text or "is stuck", stuck.since or 0, entries)


def _line(
    kind: str, uid: str, name: str, who: str, text: str, at: int, entries: tuple[int, ...], task: str | None = None
) -> DigestLine:
    return DigestLine("needs_you", kind, uid, name, who, text, at, entries, task)


def _failed_check(db: Database, uid: str) -> DigestLine:
    """Return the line of a task of which a check has failed."""
    task = queries.task(db, uid)
    entries = _entries_of_task(db, uid, "check.finished")[-1:]
    at = journal.entry(db, entries[0]).at if entries else task.updated_at
    text = "was reported done, and a check of it has failed"
    if task.status != "done":
        text = "is kept from being done by a check that has failed"
    return _line("check", uid, task.name, task.agent or "", text, at, entries, uid)


def _entry_of(db: Database, kind: str, uid: str, at: int) -> tuple[int, ...]:
    """Return the seq of the entry of that kind about a row, written at an instant; empty if it was compacted away."""
    start = instants.seq_before(db, at)
    found = db.sql(
        "SELECT seq FROM journal WHERE seq > ? AND seq <= ? AND kind = ? AND uid = ? LIMIT 1",
        (start, start + _NEAR, kind, uid),
    ).fetchone()
    return (found[0],) if found else ()


def _entries_of_task(db: Database, uid: str, kind: str) -> tuple[int, ...]:
    """Return the seqs of the entries of a kind about a task, oldest first."""
    rows = db.sql("SELECT seq FROM journal WHERE task = ? AND kind = ? ORDER BY seq", (uid, kind)).fetchall()
    return tuple(seq for (seq,) in rows)


def _newest_stuck(db: Database, agent: str) -> tuple[int, ...]:
    """Return the seq of the newest entry that says that an agent is stuck; empty if it is not among the newest."""
    rows = db.sql(
        "SELECT seq FROM journal WHERE kind = 'agent.stuck' AND uid = ? AND seq > ?",
        (agent, max(journal.newest(db) - _NEAR, 0)),
    ).fetchall()
    return tuple(seq for (seq,) in rows[-1:])
