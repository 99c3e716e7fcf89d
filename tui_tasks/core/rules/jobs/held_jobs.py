"""Held jobs: what agents make where the human has `[review] jobs`, disabled until the human switches it on.

The human accepts one version of a job. Whoever or whatever makes it another, an undo too, has it held again.

docs: protocol, section 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.read import job_queries

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def holds_new(tx: Transaction) -> bool:
    """Whether a job that the speaker makes, or makes another, is held."""
    return tx.review.jobs and tx.files_for_review


def is_held_by(tx: Transaction, job: Job, new: Mapping[str, Any]) -> bool:
    """Return whether these new values of a job have it held."""
    return bool({"held": False, **_acceptance(tx, job, new)}["held"]) and not job.held


def follow_acceptance(tx: Transaction, job: Job, new: dict[str, Any]) -> None:
    """Set in the new values of a job whether it is held by them, and what the human accepts by them.

    Raises:
        Conflict: a held job would be enabled, or the human's redo would accept what has changed since.
    """
    if tx.actor == vocab.HUMAN and job.held and new.get("held") is False:
        if new.get("accepted", job.accepted) != job.digest(new):
            raise Conflict(f"job {job.name!r} has changed since you accepted it: look at it again", uuid=job.uid)
    elif tx.actor != vocab.HUMAN:
        for name in ("accepted", "held"):
            new.pop(name, None)
    new |= _acceptance(tx, job, new)
    if new.get("enabled", job.enabled) and new.get("held", job.held):
        raise _waits_for_human(job)


def _acceptance(tx: Transaction, job: Job, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `held` and `accepted` that follow from other new values of a job."""
    accepted = job.accepted
    if tx.actor == vocab.HUMAN:
        # The human's own words need no acceptance.
        follows = "held" not in new and accepted is not None and job.version == accepted
        return {"accepted": job.digest(new)} if follows else {}
    if accepted is None and not job.held and holds_new(tx):
        # What runs unheld is what the human lets run.
        accepted = job.version
    if accepted is None:
        return {}
    is_held = job.digest(new) != accepted and (job.held or tx.review.jobs)
    return {"held": is_held, "accepted": accepted} if is_held != job.held else {}


def refuse_too_many(tx: Transaction) -> None:
    """Refuse a held job where the speaker has as many as it may.

    Raises:
        Conflict: it has.
    """
    limit = tx.review.limit
    if job_queries.held_count(tx.db, tx.actor) >= limit:
        reason = f"{tx.actor} has {limit} jobs that wait for the human, and no more may: delete one, or wait"
        raise Conflict(reason, held=True, limit=limit)


def refuse_start(tx: Transaction, job: Job) -> None:
    """Refuse that a held job starts, or may; the human accepts it by switching it on.

    Raises:
        Conflict: it is held, and somebody else asks.
    """
    if job.held and tx.actor != vocab.HUMAN:
        raise _waits_for_human(job)


def _waits_for_human(job: Job) -> Conflict:
    reason = f"job {job.name!r} waits for the human, who has not accepted it yet"
    return Conflict(reason, held=True, uuid=job.uid, state=job.state)


def refuse_edit(tx: Transaction, job: Job) -> None:
    """Refuse that another agent than its maker changes a held job.

    Raises:
        Conflict: it would.
    """
    if job.held and tx.actor not in (vocab.HUMAN, vocab.SYSTEM, job.created_by):
        reason = f"job {job.name!r} waits for the human; until then it is {job.created_by}'s"
        raise Conflict(reason, held=True, uuid=job.uid, state=job.state)
