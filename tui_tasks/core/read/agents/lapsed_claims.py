"""Tasks that agents had claimed, and left: the leases ended, and nothing was heard of the agents since.

Claims are found by the entries that say that they lapsed, of which there are few, whatever their agents wrote.
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

LOOKED_AT: Final = 2_000
"""How many of the system's newest entries are looked at; it writes those on lapsed claims."""
_LAPSED: Final = f"""
SELECT claim.agent, claim.uid, newest.at FROM (
    SELECT at, kind, uid FROM journal WHERE actor = '{vocab.SYSTEM}' ORDER BY seq DESC LIMIT {LOOKED_AT}
) AS newest JOIN claim ON claim.uid = newest.uid
WHERE newest.kind = 'claim.lapsed' AND newest.at >= ?1 AND claim.state = 'lapsed'
"""


class LapsedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that lapsed at an instant, in microseconds, as is its lease; `task` is as it is now.

    `is_open`: nobody has taken, closed or deleted the task since, and the human has not seen that it lapsed.
    """

    task: TaskLine
    at: int
    is_open: bool
    lease: int = 0


def by_agent(db: Database, since: int) -> dict[str, list[tuple[str, int]]]:
    """Return the claims that lapsed after an instant, by agent: the uid of each and when it lapsed, newest first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for agent, uid, at in db.sql(_LAPSED, (since,)).fetchall():
        found.setdefault(agent, []).append((uid, at))
    return found


def lapsed(db: Database, claims: Iterable[tuple[str, int]], heard_at: int, seen_at: int) -> tuple[LapsedClaim, ...]:
    """Return those claims of an agent that lapsed without a word from it afterwards, the open ones first.

    Args:
        db: the database.
        claims: those of the agent, as `by_agent` returns them.
        heard_at: when the agent was last heard.
        seen_at: when the human said last that all was seen.
    """
    found = []
    for uid, at in claims:
        claim = task_records.find(db, uid) if heard_at < at else None
        if claim is not None and (task := list_pages.line(db, claim.task_uid)) is not None:
            found.append(LapsedClaim(task, at, at > seen_at and _is_free(db, claim, task), claim.lease))
    return tuple(sorted(found, key=lambda one: not one.is_open))


def _is_free(db: Database, claim: Claim, task: TaskLine) -> bool:
    """Return whether a task is as the end of its claim has left it."""
    last = task_records.last_of_task(db, task.uid)
    is_last = last is not None and last.uid == claim.uid
    return is_last and task.status == "pending" and not task.deleted and task.agent == claim.was_agent
