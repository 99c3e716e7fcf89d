"""Works as people and programs read them: what git last counted, what stands in the way of a merge, why one has failed.

What git counts of a work is kept beside the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_names import display_name
from tui_tasks.core.agent_snapshots import KEPT_COUNTS, WORK_COUNTS, Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.work_queries import LIVE
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text import times
from tui_tasks.text.times import MINUTE

CONFLICTS: Final = "conflicts with "
"""How the text begins that says in which files a work does not merge."""
NOT_AGAIN: Final = "not started again: "
"""How the text begins that says why the program of ready work could not go on; what the human wrote to it waits."""
ITS_AGENT: Final = "its agent "
"""How the text begins that says how the program of ready work has ended, where that was no success."""
START_TAKES: Final = MINUTE
"""Microseconds in which a program that has ended is started again."""
_READING_TAKES: Final = 5_000_000
"""Microseconds in which its launcher reads its changes."""
READING: Final = "reading its changes"
STARTING: Final = "starting again"
# A work that failed beside one that goes on leaves the task in progress. What its agent made of the task before it
# failed is its own word; afterwards, anybody may speak by its name. A task that is failed counts itself.
_FAILED: Final = f"""\
WITH ended AS MATERIALIZED (
    SELECT work.id, work.uid, work.agent, work.task_uid, work.message, work.started_at,
        CASE WHEN task.deleted THEN 'deleted' WHEN task.status = 'pending' OR task.status = 'in_progress'
            AND EXISTS (SELECT 1 FROM work AS other WHERE other.task_uid = work.task_uid AND other.state IN ({LIVE}))
            THEN '' ELSE task.status END AS become,
        CASE WHEN task.deleted THEN (
            SELECT coalesce(json_extract(iif(json_valid(new), new, NULL), '$.status_by'), actor) FROM journal
            WHERE task = work.task_uid AND kind = 'task.deleted' ORDER BY seq DESC LIMIT 1
        ) ELSE task.status_by END AS by,
        CASE WHEN task.deleted THEN task.updated_at ELSE coalesce(task.finished_at, task.updated_at) END AS changed
    FROM work JOIN task ON task.uid = work.task_uid WHERE work.state = 'failed'
), failed AS MATERIALIZED (
    SELECT id, agent, task_uid, coalesce(message, '') AS why, coalesce((SELECT at FROM journal
        WHERE task = ended.task_uid AND uid = ended.uid AND kind IN ('work.failed', 'work.restored')
        ORDER BY kind, seq DESC LIMIT 1),
        started_at) AS at, become, by, changed
    FROM ended WHERE become = '' OR by IS NOT '{HUMAN}'
)
SELECT agent, task_uid, why, at, become, by FROM failed
WHERE (become = '' OR by IS NOT agent OR changed > at) AND become <> 'failed'
AND NOT EXISTS (SELECT 1 FROM work AS newer WHERE newer.task_uid = failed.task_uid
    AND (newer.id > failed.id AND newer.started_at >= failed.at OR newer.merged_at >= failed.at))
ORDER BY id"""
_BECOME: Final = {"deleted": "task deleted", "in_progress": "claimed"}
_BETWEEN: Final = """
SELECT work.agent, session.ended_at, (
    SELECT max(at) FROM journal WHERE task = work.task_uid AND uid = work.uid AND kind = 'work.commented'
) FROM work JOIN session ON session.uid = work.agent WHERE work.state = 'working' AND session.state = 'gone'
"""


class WorkCounts(msgspec.Struct, frozen=True, gc=False):
    """What git counted of a work, at an instant. None: unknown.

    `near` is read by the two properties: one column holds what is near for its agent, or the conflicts.
    """

    head: str | None
    ahead: int | None
    behind: int | None
    files: int | None
    insertions: int | None
    deletions: int | None
    dirty: bool | None
    near: str | None
    at: int

    @property
    def limit(self) -> str | None:
        """The limit that its agent is near to, or what its program asks first."""
        return None if self.conflicts is not None else self.near

    @property
    def conflicts(self) -> str | None:
        """In which files it does not merge."""
        return self.near if self.near is not None and self.near.startswith(CONFLICTS) else None


def counts(db: Database, uid: str) -> WorkCounts | None:
    """Return what git last counted of a work; None if it never has."""
    return _counts_where(db, "uid = ?", (uid,)).get(uid)


def _counts_where(db: Database, condition: str, values: Sequence[Any] = ()) -> dict[str, WorkCounts]:
    """Return what git last counted of some works, by their uids."""
    rows = db.sql(f"SELECT uid, {', '.join(KEPT_COUNTS)}, at FROM work_count WHERE {condition}", tuple(values))
    return {uid: _to_counts(row) for uid, *row in rows.fetchall()}


def _to_counts(row: Sequence[Any]) -> WorkCounts:
    named = dict(zip((*KEPT_COUNTS, "at"), row, strict=True))
    return WorkCounts(**named | {"dirty": None if named["dirty"] is None else bool(named["dirty"])})


def counts_json(db: Database, uid: str) -> dict[str, Any]:
    """Return `counts` by name; empty if git never has counted."""
    counted = counts(db, uid)
    return {} if counted is None else {name: getattr(counted, name) for name in (*WORK_COUNTS, "dirty")}


def counts_text(db: Database, uid: str) -> str:
    """Return what git last counted of a work, for people: `3 files +41 -7, more not committed`; empty without it."""
    return _counts_text(counts(db, uid))


def _counts_text(counted: WorkCounts | None) -> str:
    if counted is None or counted.files is None:
        return ""
    if not counted.files and counted.dirty:
        return "nothing committed yet"
    lines = f"{times.count(counted.files, 'file')} +{counted.insertions or 0:,} -{counted.deletions or 0:,}"
    return f"{lines}, more not committed" if counted.dirty else lines


def obstacle(db: Database, work: Work) -> str:
    """Return what stands in the way of a work that waits for review, for people: why it was not merged, or that it
    conflicts with its base branch; empty if nothing is known to.
    """
    return _obstacle(work, counts(db, work.uid))


def _obstacle(work: Work, counted: WorkCounts | None) -> str:
    if work.message and work.state == "ready" and not work.message.startswith((NOT_AGAIN, ITS_AGENT)):
        return f"not merged: {work.message}"  # then; what was in the way may be gone by now
    return work.message or (counted.conflicts if counted is not None else None) or ""


def review_texts(db: Database, works: Iterable[Work]) -> list[str]:
    """Return, for people, of each work that waits for review what stands in its way, else what git counted of it."""
    counted = _counts_where(db, "uid IN (SELECT uid FROM work WHERE state IN ('ready', 'conflict'))")
    return [_obstacle(work, counted.get(work.uid)) or _counts_text(counted.get(work.uid)) for work in works]


class FailedWork(msgspec.Struct, frozen=True, gc=False):
    """A work that failed at an instant, in microseconds, and that the human has not dealt with: they have not started
    the task again, nor set its status, nor deleted it; the task has not failed itself. `become`: what another agent has
    made of the task, `by` whom.
    """

    agent: str
    task: str
    why: str
    at: int
    become: str = ""
    by: str | None = None

    @property
    def text(self) -> str:
        """Return why it failed, and what another agent has done with the task since, for people."""
        why = self.why or f"{display_name(self.agent)} failed"
        if not self.become:
            return why
        return f"{why}; {_BECOME.get(self.become, self.become)} by {display_name(self.by or '')}"


def agents_text(works: Sequence[Work]) -> str:
    """Return `2 works: bob, carol`, or `1 work to review: bob; carol works`."""
    is_ready = [work.state in ("ready", "conflict") for work in works]
    ready, others = (
        ", ".join(display_name(work.agent) for work, is_so in zip(works, is_ready, strict=True) if is_so is wanted)
        for wanted in (True, False)
    )
    if not ready:
        return f"{len(works)} works: {others}"
    number = sum(is_ready)
    text = f"{number} work{'s' * (number > 1)} to review: {ready}"
    return f"{text}; {others} work{'s' * (len(works) - number == 1)}" if others else text


def failed(db: Database) -> list[FailedWork]:
    """Return the works that failed and that the human has not dealt with, oldest first. Beside a failed agent, another
    may be at work on the task.
    """
    return [FailedWork(*row) for row in db.sql(_FAILED).fetchall()]


def near_limits(db: Database) -> dict[str, str]:
    """Return the limits that agents at work are near to, as `WorkCounts` has them, by the agents' names."""
    rows = db.sql(
        f"SELECT agent, near FROM work JOIN work_count USING (uid) WHERE near NOT LIKE '{CONFLICTS}%'"
        f" AND state IN ({LIVE})"
    )
    return dict(rows.fetchall())


def merges(db: Database, task_uid: str) -> list[tuple[str, int]]:
    """Return each merge of the works on a task that stands, in words, and its instant."""
    texts = []
    for work in work_queries.of_task(db, task_uid):
        if work_queries.stands(work, "work.merged") and work.merged_at is not None:
            commit = f" as {work.merge_commit[:10]}" if work.merge_commit else ""
            base = f" into {work.base}" if work.base else ""
            # Only the human merges.
            is_empty = work.message and work.merge_commit is None
            did = f"accepted by you: {work.message}" if is_empty else f"merged{base}{commit} by you"
            texts.append((f"work of {display_name(work.agent)} {did}", work.merged_at))
    return texts


def between(db: Database, now: int) -> dict[str, str]:
    """Return the agents at work whose program has just ended, each with what happens to its work meanwhile."""
    found = {}
    for agent, ended_at, commented_at in db.sql(_BETWEEN).fetchall():
        ended, commented = ended_at or 0, commented_at or 0
        if commented > ended and now - commented < START_TAKES:
            found[agent] = STARTING
        elif commented <= ended and now - ended < _READING_TAKES:
            found[agent] = READING
    return found


def json_of_task(db: Database, task_uid: str) -> list[dict[str, Any]]:
    """Return the works of a task in the form in which the channel shows them, oldest first."""
    return [work.to_json(counts_json(db, work.uid)) for work in work_queries.of_task(db, task_uid)]


def json_of_tasks(db: Database, uids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return `json_of_task` for several tasks, by their uids; tasks without work are left out."""
    wanted = frozenset(uids)
    works: dict[str, list[dict[str, Any]]] = {}
    for work in work_queries.everything(db):
        if work.task_uid in wanted:
            works.setdefault(work.task_uid, []).append(work.to_json(counts_json(db, work.uid)))
    return works
