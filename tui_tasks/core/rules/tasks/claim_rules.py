"""Claims: one agent's hold on a task, for the length of a lease (docs: protocol, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.commit import database_clock
from tui_tasks.core.errors import Conflict, NotFound, StaleClaim
from tui_tasks.core.operations.tasks import ClaimNext, ClaimTask, ExtendClaim, LapseClaims, ReleaseClaim
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_records
from tui_tasks.core.read.tasks.task_names import named, waits_for
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks.task_rules import change_task
from tui_tasks.core.snapshots import Claim, Entry, Task
from tui_tasks.core.vocab import CLOSED

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(ClaimNext)
def claim_next(tx: Transaction, op: ClaimNext) -> tuple[Task, Claim] | None:
    """Claim the next ready task for the speaker, in one step however many agents ask at once. A list in which the
    speaker may have no more in progress gives none.
    """
    list_id = None if op.list_uid is None else task_queries.list_by_uid(tx.db, op.list_uid).id
    task = _next_task(tx, op, list_id)
    return None if task is None else _take(tx, task, op.agent, op.lease)


@rule(ClaimTask)
def claim_task(tx: Transaction, op: ClaimTask) -> tuple[Task, Claim]:
    """Claim the task of that uid for the speaker.

    Raises:
        NotFound: there is no such task.
        Conflict: it is claimed, not pending, held or blocked, or the speaker may have no more in progress in its list.
    """
    task = task_queries.task(tx.db, op.uid)
    name = named(task)
    if task.claimed_by is not None:
        whose = "you have" if task.claimed_by == op.agent else f"{task.claimed_by} has"
        raise Conflict(f"{whose} claimed {name} already", claimed_by=task.claimed_by, state=task.status, id=task.uid)
    if task.status != "pending":
        raise Conflict(f"{name} is {task.status}; only a pending task can be claimed", state=task.status, id=task.uid)
    if task.held:
        raise Conflict(f"{name} is held until the human accepts it", held=True, id=task.uid)
    if waiting_on := ready_tasks.waiting_on(tx.db, task):
        raise Conflict(waits_for(task, waiting_on), waiting_on=[on.uid for on in waiting_on], id=task.uid)
    return _take(tx, task, op.agent, op.lease)


def _take(tx: Transaction, task: Task, agent: str, lease: int) -> tuple[Task, Claim]:
    claim = Claim(
        id=tx.state_cache.next_id("claim"),
        uid=tx.new_uid(),
        task_uid=task.uid,
        agent=agent,
        was_agent=task.agent,
        lease=lease,
        expires_at=tx.now + lease,
        state="active",
    )
    changes = {
        "status": "in_progress",
        "agent": agent,
        "claimed_by": agent,
        "fenced": tuple(name for name in task.fenced if name != agent),
    }
    task = change_task(tx, task, "task.updated", changes)
    database_clock.put_end(tx.db, claim.uid, tx.database_now + lease, tx.database_now)
    tx.emit("claim.taken", "claim", claim.uid, new=asdict(claim), task=task)
    return task, claim


def _next_task(tx: Transaction, op: ClaimNext, list_id: int | None) -> Task | None:
    """Return the next ready task. What was assigned to an agent program by its name is for each of its sessions."""
    tasks = [ready_tasks.next_task(tx.db, list_id, op.agent, project=op.project, claimer=op.agent)]
    if (session := session_queries.find(tx.db, op.agent)) is not None:
        tasks.append(
            ready_tasks.next_task(tx.db, list_id, session.program, project=op.project, alone=True, claimer=op.agent)
        )
    return min((task for task in tasks if task is not None), key=lambda task: (task.priority, task.id), default=None)


def is_over(tx: Transaction, claim: Claim) -> bool:
    """Return whether a claim's lease has ended, by the database's own clock: setting a wall clock ends none."""
    until = database_clock.lapses_at(tx.db, claim.uid)
    return until is not None and until <= tx.database_now


def _standing(tx: Transaction, agent: str, uid: str) -> Claim:
    claim = task_records.find(tx.db, uid)
    if claim is None or claim.agent != agent:
        raise NotFound("claim", uid)
    if claim.state != "active" or is_over(tx, claim):
        how = "ended" if claim.state in ("released", "finished") else "lapsed"
        task = task_queries.any_task(tx.db, claim.task_uid)
        of = f" on {named(task)}" if task is not None else ""
        raise StaleClaim(f"your claim{of} has {how}: claim it again", id=uid)
    return claim


@rule(ExtendClaim)
def extend_claim(tx: Transaction, op: ExtendClaim) -> Claim:
    """Restart the lease."""
    claim = _standing(tx, op.agent, op.claim)
    return _extend(tx, claim, task_queries.task(tx.db, claim.task_uid))


def _extend(tx: Transaction, claim: Claim, task: Task | None) -> Claim:
    extended = msgspec.structs.replace(claim, expires_at=tx.now + claim.lease)
    database_clock.put_end(tx.db, claim.uid, tx.database_now + claim.lease, tx.database_now)
    tx.emit(
        "claim.extended",
        "claim",
        claim.uid,
        old={"expires_at": claim.expires_at},
        new={"expires_at": extended.expires_at},
        task=task,
    )
    return extended


def extend_all(tx: Transaction, agent: str) -> None:
    """Start the leases of an agent's claims anew, as a question of the agent has ended (docs: protocol, section 7)."""
    for claim in task_records.active_of(tx.db, agent):
        _extend(tx, claim, task_queries.any_task(tx.db, claim.task_uid))


@rule(ReleaseClaim)
def release_claim(tx: Transaction, op: ReleaseClaim) -> Task:
    """Give the task back as pending, to the agent to whom it belonged before."""
    claim = _standing(tx, op.agent, op.claim)
    return _give_back(tx, claim, task_queries.task(tx.db, claim.task_uid), "released")


@rule(LapseClaims)
def lapse_claims(tx: Transaction, op: LapseClaims) -> int:
    """End the leases that are over: their tasks go back to pending, and the old holders' writes are refused."""
    lapsed = database_clock.lapsed(tx.db, tx.database_now)
    for uid in lapsed:
        claim = task_records.find(tx.db, uid)
        assert claim is not None
        # The lease also ends where the task's list was deleted.
        task = task_queries.any_task(tx.db, claim.task_uid)
        assert task is not None
        _give_back(tx, claim, task, "lapsed")
    return len(lapsed)


def claim_ended_by(tx: Transaction, entry: Entry, task: Task) -> Claim | None:
    """Return the claim that an entry about a task has ended; None where the task was claimed again since."""
    holder = (entry.old or {}).get("claimed_by")
    if holder is None or task.claimed_by is not None:
        return None
    claim = task_records.last_of_task(tx.db, task.uid)
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


def end_claim(tx: Transaction, task: Task) -> None:
    """End the claim of a task that is finished, given back or deleted (docs: protocol, section 7)."""
    claim = task_records.of_task(tx.db, task.uid)
    if claim is not None:
        state = "finished" if task.status in CLOSED else "released"
        tx.emit(f"claim.{state}", "claim", claim.uid, old={"state": claim.state}, new={"state": state}, task=task)
