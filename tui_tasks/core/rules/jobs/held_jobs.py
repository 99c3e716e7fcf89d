"""Held jobs: what agents make where the human has `[review] jobs`, disabled until the human switches it on.

docs: protocol, section 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.read.jobs import job_queries

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

# What a job does, and when.
_WHAT: Final = frozenset({"system_prompt", "prompt", "schedule", "plan", "timezone", "dedicated_context", "settings"})


def holds_new(tx: Transaction) -> bool:
    """Whether a job that the speaker makes, or makes another, is held."""
    return tx.actor not in vocab.RESERVED_AGENTS and tx.review.jobs


def is_another(job: Job, changes: Mapping[str, Any]) -> bool:
    """Whether changes make a job do something else, or at other times."""
    return any(name in _WHAT and getattr(job, name) != value for name, value in changes.items())


def refuse_too_many(tx: Transaction) -> None:
    """Refuse a held job where the speaker has as many as it may.

    Raises:
        Conflict: it has.
    """
    limit = tx.review.limit
    if job_queries.held_count(tx.db, tx.actor) >= limit:
        told = f"{tx.actor} has {limit} jobs that wait for the human, which is the most: delete one, or wait"
        raise Conflict(told, held=True, limit=limit)


def refuse_start(tx: Transaction, job: Job) -> None:
    """Refuse that a held job starts, or may; the human accepts it by switching it on.

    Raises:
        Conflict: it is held, and somebody else asks.
    """
    if job.held and tx.actor != vocab.HUMAN:
        told = f"job {job.name!r} waits for the human, who has not accepted it yet"
        raise Conflict(told, held=True, uuid=job.uid, state=job.state)


def refuse_edit(tx: Transaction, job: Job) -> None:
    """Refuse that another agent than its maker changes a held job.

    Raises:
        Conflict: it would.
    """
    if job.held and tx.actor not in (vocab.HUMAN, vocab.SYSTEM, job.created_by):
        told = f"job {job.name!r} waits for the human; until then it is {job.created_by}'s"
        raise Conflict(told, held=True, uuid=job.uid, state=job.state)
