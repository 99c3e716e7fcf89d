"""Tasks that agents had claimed, and left: the leases ended, and nothing was heard of the agents since.

Of an agent's claims, those are found whose tasks are among its newest entries in the journal, so the cost is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.snapshots import Claim

# How many of an agent's newest entries are looked at, and how many of the newest claims of each of their tasks.
_LOOKED_AT: Final = 60
_CLAIMS_OF_TASK: Final = 20
_CLAIMS: Final = f"""
SELECT uid FROM claim WHERE agent = ?1 AND state IN ('active', 'lapsed') AND id IN (
    SELECT (
        SELECT id FROM (
            SELECT id, agent FROM claim WHERE task_uid = touched.task ORDER BY id DESC LIMIT {_CLAIMS_OF_TASK}
        ) WHERE agent = ?1 LIMIT 1
    )
    FROM (
        SELECT DISTINCT task FROM (
            SELECT task FROM journal WHERE actor = ?1 ORDER BY seq DESC LIMIT {_LOOKED_AT}
        ) WHERE task IS NOT NULL
    ) AS touched
)
ORDER BY id DESC
"""


class LapsedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that lapsed at an instant, in microseconds; `task` is as it is now.

    `is_open`: nobody has taken, closed or deleted the task since, and the human has not seen that it lapsed.
    """

    task: TaskLine
    at: int
    is_open: bool


def claims_of(db: Database, agent: str) -> tuple[str, ...]:
    """Return the uids of an agent's newest claims that are active or have lapsed, newest first."""
    return tuple(uid for (uid,) in db.sql(_CLAIMS, (agent,)).fetchall())


def lapsed(db: Database, claims: Iterable[str], heard_at: int, seen_at: int, since: int) -> tuple[LapsedClaim, ...]:
    """Return those claims of an agent that have lapsed without a word from it afterwards, the open ones first.

    Args:
        db: the database.
        claims: as `claims_of` returns them.
        heard_at: when the agent was last heard.
        seen_at: when the human said last that all was seen.
        since: claims that lapsed before are left out.
    """
    found = []
    for uid in claims:
        claim = task_records.find(db, uid)
        if claim is None or claim.state != "lapsed" or (task := list_pages.line(db, claim.task_uid)) is None:
            continue
        # Changes of others may hide when it lapsed; the lease ended no later.
        at = task.updated_at if task.updated_by == vocab.SYSTEM else claim.expires_at
        if heard_at < at >= since:
            found.append(LapsedClaim(task, at, at > seen_at and _is_free(db, claim, task)))
    return tuple(sorted(found, key=lambda one: not one.is_open))


def _is_free(db: Database, claim: Claim, task: TaskLine) -> bool:
    """Return whether a task is as the end of its claim has left it."""
    last = task_records.last_of_task(db, task.uid)
    is_last = last is not None and last.uid == claim.uid
    return is_last and task.status == "pending" and not task.deleted and task.agent == claim.was_agent
