"""How work ends: failed, merged, in conflict, discarded, or brought back (docs: protocol, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.commit.rebalancing import Reranks
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import ClaimTask
from tui_tasks.core.operations.work import (
    BeginMerge,
    ConflictWork,
    DiscardWork,
    FailWork,
    GiveUpMerge,
    MergeWork,
    RestoreWork,
)
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents.session_rules import end_session
from tui_tasks.core.rules.inverses import INVERSES, Places
from tui_tasks.core.rules.tasks.claim_rules import claim_task
from tui_tasks.core.rules.tasks.task_rules import change_task
from tui_tasks.core.rules.work_refusals import check_not_taken_over, check_state, in_state, require_human
from tui_tasks.core.rules.work_rules import LEASE, set_columns
from tui_tasks.core.schema import task_links
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(FailWork)
def fail_work(tx: Transaction, op: FailWork) -> Work:
    """Record the failure, and give the task back; where an earlier merge of the work stands, the work is merged."""
    require_human(tx)
    work = in_state(tx, op.uid, "starting", "working")
    if work.merged_at is not None:
        return _be_merged(tx, work, {"message": op.message})
    work = set_columns(tx, work, "work.failed", state="failed", message=op.message)
    session = session_queries.find(tx.db, work.agent)
    if session is not None and not session.pid:
        end_session(tx, EndSession(work.agent, "it was not started"))
        _unlink(tx, work)
    _hand_over(tx, work)
    _give_back(tx, work)
    return work


def _unlink(tx: Transaction, work: Work) -> None:
    """Remove the link of a task to the branch of a work that was never started."""
    task = task_queries.any_task(tx.db, work.task_uid)
    if task is not None and not task.deleted and work.makes_worktree:
        link = {"kind": task_links.BRANCH, "target": work.branch}
        change_task(tx, task, "task.updated", {"links": tuple(one for one in task.links if one != link)})


def _give_back(tx: Transaction, work: Work) -> None:
    """Set the task of an ended work pending, for whom it was before, unless another agent is at it, or its work was
    merged.
    """
    task = task_queries.any_task(tx.db, work.task_uid)
    if task is None or task.deleted or task.status in ("failed", "skipped", "cancelled"):
        return
    others = [other for other in work_queries.of_task(tx.db, task.uid) if other.uid != work.uid]
    if any(other.state in vocab.LIVE_WORK for other in others):
        return
    if task.status == "done" and any((other.state, other.agent) == ("merged", task.agent) for other in others):
        return
    changes: dict[str, Any] = {"status": "pending"}
    if task.agent == work.agent:
        changes["agent"] = _agent_before(tx, task)
    change_task(tx, task, "task.updated", changes)


def _agent_before(tx: Transaction, task: Task) -> str | None:
    """Return for whom a task was before its agent claimed it."""
    claim = task_records.last_of_task(tx.db, task.uid)
    return claim.was_agent if claim is not None and claim.agent == task.agent else None


def _hand_over(tx: Transaction, work: Work) -> None:
    """Give the task of a failed work to the next agent that is at it in a race, if there is one."""
    task = task_queries.any_task(tx.db, work.task_uid)
    live = [one for one in work_queries.of_task(tx.db, work.task_uid) if one.state in vocab.LIVE_WORK]
    heirs = [one for one in live if one.state != "merging" and work_queries.owner(tx.db, one) is None]
    if task is not None and heirs and (task.deleted, task.status, task.agent) == (False, "in_progress", work.agent):
        changes = {"status": "pending", "agent": _agent_before(tx, task)}
        _take_up(tx, change_task(tx, task, "task.updated", changes), heirs[0])


def _take_up(tx: Transaction, task: Task, work: Work) -> None:
    """Let the agent of a work have its pending task, with a claim if it can be claimed."""
    try:
        claim_task(tx, ClaimTask(work.agent, LEASE, task.uid))
    except Conflict:  # as where it waits for another task by now
        change_task(tx, task, "task.updated", {"status": "in_progress", "agent": work.agent})


def _be_merged(tx: Transaction, work: Work, changes: dict[str, Any], *, goes_on: bool = False) -> Work:
    """Record that a work is merged, with its changed columns; its task is done, or goes on."""
    state, status = ("working", "in_progress") if goes_on else ("merged", "done")
    work = set_columns(tx, work, "work.merged", state=state, **changes)
    task = task_queries.any_task(tx.db, work.task_uid)
    if task is not None and not task.deleted and (task.status, task.agent) != (status, work.agent):
        # The winner of a race has the task from here on. The human has decided it, whichever process records it.
        with tx.speaking_as(vocab.HUMAN):
            change_task(tx, task, "task.updated", {"status": status, "agent": work.agent})
    return work


@rule(BeginMerge)
def begin_merge(tx: Transaction, op: BeginMerge) -> Work:
    """Write the intent before git runs."""
    require_human(tx)
    work = in_state(tx, op.uid, "ready", "conflict", "working")
    return set_columns(tx, work, "work.updated", state="merging", intent=op.intent)


@rule(GiveUpMerge)
def give_up_merge(tx: Transaction, op: GiveUpMerge) -> Work:
    """Set the work ready for review again."""
    require_human(tx)
    work = in_state(tx, op.uid, "merging")
    return set_columns(tx, work, "work.updated", state="ready", intent=None, message=op.message)


@rule(MergeWork)
def merge_work(tx: Transaction, op: MergeWork) -> Work:
    """Record a merge; the task is done, or goes on."""
    require_human(tx)
    work = work_queries.find(tx.db, op.uid)
    # An agent that went on after a merge may end without another one.
    states = ("working",) if work.merged_at is not None and not op.goes_on else ()
    work = in_state(tx, op.uid, "merging", "ready", "conflict", *states)
    changes = {"merged_at": tx.now, "head": op.head, "kept": op.kept, "intent": op.intent, "message": op.message}
    return _be_merged(tx, work, changes, goes_on=op.goes_on)


@rule(ConflictWork)
def conflict_work(tx: Transaction, op: ConflictWork) -> Work:
    """Record why a merge fails."""
    require_human(tx)
    work = in_state(tx, op.uid, "merging", "ready", "conflict")
    # A line break in a name would begin a line of its own.
    files = ", ".join(file.replace("\n", "␤") for file in op.files)
    message = op.message or f"conflicts in {files}"
    return set_columns(tx, work, "work.conflict", state="conflict", message=message, intent=None)


@rule(DiscardWork)
def discard_work(tx: Transaction, op: DiscardWork) -> Work:
    """Record that the human does not want a work; the task is pending again.

    Raises:
        Conflict: it is being merged here, or is over.
    """
    require_human(tx)
    known = work_queries.find(tx.db, op.uid)
    if known.state == "merging" and known.machine == tx.db.machine:
        raise Conflict(f"the work of {known.agent} is being merged: wait for the end", state=known.state)
    session = session_queries.find(tx.db, known.agent)
    if session is None or session.state == session_queries.GONE:
        # Nothing is to be ended, so that work of a machine that never returns can be discarded.
        work = check_state(tx, known, *sorted(vocab.LIVE_WORK), "failed")
    else:
        work = in_state(tx, op.uid, *sorted(vocab.LIVE_WORK), "failed")
    message = op.message or work.message
    # What takes an earlier merge back stays.
    kept = {**(work.kept or {}), **(op.kept or {})} or None
    changes = {"head": op.head, "kept": kept, "message": message}
    work = set_columns(tx, work, "work.discarded", state="discarded", intent=None, **changes)
    _give_back(tx, work)
    return work


@rule(RestoreWork)
def restore_work(tx: Transaction, op: RestoreWork) -> Work:
    """Record that a work is back: for review, its task as it was before the merge or claimed by its agent; or failed,
    its task pending.
    """
    require_human(tx)
    known = work_queries.find(tx.db, op.uid)
    goes_on = known.state in vocab.LIVE_WORK and known.merged_at is not None
    work = in_state(tx, op.uid, "merged", "discarded", "failed", *(vocab.LIVE_WORK if goes_on else ()))
    task = task_queries.any_task(tx.db, work.task_uid)
    if task is None or task.deleted:
        raise NotFound("task", work.task_uid)
    if goes_on:
        return set_columns(tx, work, "work.restored", merged_at=None, kept=None, intent=None)
    for other in work_queries.of_task(tx.db, task.uid):
        if other.state in vocab.LIVE_WORK and not op.is_race:
            raise Conflict(f"{other.agent} is at work on {named(task)} now", id=task.uid)
    if not op.is_race:
        check_not_taken_over(tx.db, work)
    merged_at = work.merged_at if op.kept else None
    was_merged = work.state == "merged"
    state = "ready" if op.failure is None else "failed"
    message = op.failure or _message_before(tx, work)
    changes = {"state": state, "merged_at": merged_at, "kept": op.kept, "intent": None, "message": message}
    work = set_columns(tx, work, "work.restored", **changes)
    if was_merged and task.status == "done":
        _reopen(tx, task, work)
    elif task.status == "pending" and state == "ready":
        _take_up(tx, task, work)
        _start_as_before(tx, task, work)
    return work


def _start_as_before(tx: Transaction, task: Task, work: Work) -> None:
    """Let a task have begun when it had before its work was discarded."""
    discarded = work_queries.last_entry(tx.db, work, "work.discarded")
    later = journal.since(tx.db, discarded, _NEXT_ENTRIES, task.uid) if discarded is not None else []
    olds = (one.old or {} for one in later if one.entity == "task")
    began = next((old["started_at"] for old in olds if "started_at" in old), None)
    if began is not None:
        change_task(tx, task_queries.task(tx.db, task.uid), "task.updated", {"started_at": began})


def _message_before(tx: Transaction, work: Work) -> str | None:
    """Return what was said of a work before it was discarded, as that its agent failed; None: nothing that still holds.

    Conflicts show again when it is merged.
    """
    seq = work_queries.last_entry(tx.db, work, "work.discarded") if work.state == "discarded" else None
    old = (journal.entry(tx.db, seq).old or {}) if seq is not None else {}
    if old.get("state") not in ("working", "ready", "failed"):
        return None
    message: str | None = old.get("message", work.message)
    return message


_NEXT_ENTRIES: Final = 20
"""How many entries after a merge are searched for the one that set its task done."""


def _reopen(tx: Transaction, task: Task, work: Work) -> None:
    """Give a task the status, agent and claim that it had before its work was merged."""
    merged = work_queries.last_entry(tx.db, work, "work.merged")
    later = journal.since(tx.db, merged, _NEXT_ENTRIES, task.uid) if merged is not None else []
    done = next((one for one in later if one.entity == "task" and (one.new or {}).get("status") == "done"), None)
    if done is not None:
        INVERSES["task"](tx, done, Places({}, Reranks(tx.db, done.seq)))
