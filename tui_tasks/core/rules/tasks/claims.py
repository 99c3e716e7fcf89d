"""Claims: one agent's hold on a task, for the length of a lease (docs: protocol, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.commit import elapsed
from tui_tasks.core.errors import NotFound, StaleClaim
from tui_tasks.core.operations.claims import ClaimNext, ExtendClaim, LapseClaims, ReleaseClaim
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.read.tasks import claims, queries, ready
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks.tasks import change_task
from tui_tasks.core.snapshots import Claim, Entry, Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(ClaimNext)
def claim_next(tx: Transaction, op: ClaimNext) -> tuple[Task, Claim] | None:
    """Claim the next ready task for the speaker, in one step however many agents ask at once. A list whose one task is
    in progress gives none.
    """
    list_id = None if op.list_uid is None else queries.list_by_uid(tx.db, op.list_uid).id
    task = _next_task(tx, op, list_id)
    if task is None:
        return None
    claim = Claim(
        id=tx.state_cache.next_id("claim"),
        uid=tx.new_uid(),
        task_uid=task.uid,
        agent=op.agent,
        was_agent=task.agent,
        lease=op.lease,
        expires_at=tx.now + op.lease,
        state="active",
    )
    changes = {
        "status": "in_progress",
        "agent": op.agent,
        "claimed_by": op.agent,
        "fenced": tuple(name for name in task.fenced if name != op.agent),
    }
    task = change_task(tx, task, "task.updated", changes)
    elapsed.put(tx.db, claim.uid, tx.elapsed_time + op.lease, tx.elapsed_time)
    tx.emit("claim.taken", "claim", claim.uid, new=asdict(claim), task=task)
    return task, claim


def _next_task(tx: Transaction, op: ClaimNext, list_id: int | None) -> Task | None:
    """Return the next ready task. What was assigned to an agent program by its name is for each of its sessions."""
    found = [ready.next_task(tx.db, list_id, op.agent, project=op.project, claimable=True)]
    if (session := sessions.find(tx.db, op.agent)) is not None:
        found.append(ready.next_task(tx.db, list_id, session.program, project=op.project, alone=True, claimable=True))
    return min((task for task in found if task is not None), key=lambda task: (task.priority, task.id), default=None)


def is_over(tx: Transaction, claim: Claim) -> bool:
    """Return whether a claim's lease has ended, by the database's own instant (`core.commit.elapsed`): setting a clock
    ends none.
    """
    until = elapsed.until(tx.db, claim.uid)
    return (claim.expires_at if until is None else until) <= tx.elapsed_time


def _standing(tx: Transaction, agent: str, uid: str) -> Claim:
    claim = claims.find(tx.db, uid)
    if claim is None or claim.agent != agent:
        raise NotFound("claim", uid)
    if claim.state != "active" or is_over(tx, claim):
        how = "ended" if claim.state in ("released", "finished") else "lapsed"
        task = queries.any_task(tx.db, claim.task_uid)
        of = f" on {named(tx.db, task)}" if task is not None else ""
        raise StaleClaim(f"your claim{of} has {how}: claim it again", id=uid)
    return claim


@rule(ExtendClaim)
def extend_claim(tx: Transaction, op: ExtendClaim) -> Claim:
    """Start the lease anew from now."""
    claim = _standing(tx, op.agent, op.claim)
    extended = msgspec.structs.replace(claim, expires_at=tx.now + claim.lease)
    elapsed.put(tx.db, claim.uid, tx.elapsed_time + claim.lease, tx.elapsed_time)
    tx.emit(
        "claim.extended",
        "claim",
        claim.uid,
        old={"expires_at": claim.expires_at},
        new={"expires_at": extended.expires_at},
        task=queries.task(tx.db, claim.task_uid),
    )
    return extended


@rule(ReleaseClaim)
def release_claim(tx: Transaction, op: ReleaseClaim) -> Task:
    """Give the task back as pending, to the agent to whom it belonged before."""
    claim = _standing(tx, op.agent, op.claim)
    return _give_back(tx, claim, queries.task(tx.db, claim.task_uid), "released")


@rule(LapseClaims)
def lapse_claims(tx: Transaction, op: LapseClaims) -> int:
    """End the leases that are over: their tasks go back to pending, and the old holders' writes are refused."""
    lapsed = elapsed.lapsed(tx.db, tx.elapsed_time)
    for uid in lapsed:
        claim = claims.find(tx.db, uid)
        assert claim is not None
        # The lease also ends where the task's list was deleted.
        task = queries.any_task(tx.db, claim.task_uid)
        assert task is not None
        _give_back(tx, claim, task, "lapsed")
    return len(lapsed)


def claim_ended_by(tx: Transaction, entry: Entry, task: Task) -> Claim | None:
    """Return the claim that an entry about a task has ended; None where the task was claimed again since."""
    holder = (entry.old or {}).get("claimed_by")
    if holder is None or task.claimed_by is not None:
        return None
    claim = claims.last_of_task(tx.db, task.uid)
    return claim if claim is not None and claim.agent == holder and claim.state in ("released", "finished") else None


def restore_claim(tx: Transaction, claim: Claim, task: Task) -> None:
    """Restore a claim for what is left of its lease, on a task that its holder has again.

    Where nothing is left, the claim lapses as any other does.
    """
    tx.emit("claim.restored", "claim", claim.uid, old={"state": claim.state}, new={"state": "active"}, task=task)


def _give_back(tx: Transaction, claim: Claim, task: Task, state: str) -> Task:
    changes: dict[str, Any] = {"status": "pending", "claimed_by": None}
    if task.agent == claim.agent:
        changes["agent"] = claim.was_agent
    if state == "lapsed":
        changes["fenced"] = (*task.fenced, claim.agent)
    task = change_task(tx, task, "task.updated", changes)
    tx.emit(f"claim.{state}", "claim", claim.uid, old={"state": claim.state}, new={"state": state}, task=task)
    return task
