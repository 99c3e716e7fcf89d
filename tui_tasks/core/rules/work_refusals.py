"""Refusals of work: who may change it, in which states and on which machine, and what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Forbidden
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def require_human(tx: Transaction) -> None:
    """Refuse an agent.

    Raises:
        Forbidden: the speaker is neither the human nor a process that carries out what the human began.
    """
    if tx.actor not in (vocab.HUMAN, vocab.SYSTEM):
        raise Forbidden("only the human starts, comments, merges and discards work")


def in_state(tx: Transaction, uid: str, *states: str) -> Work:
    """Return a work of this machine that is in one of these states.

    Raises:
        Conflict: it is in another, or another machine's.
    """
    work = work_queries.find(tx.db, uid)
    check_here(tx.db, work)
    return check_state(tx, work, *states)


def check_state(tx: Transaction, work: Work, *states: str) -> Work:
    """Refuse a work that is in none of these states; return it."""
    if work.state not in states:
        task = task_queries.any_task(tx.db, work.task_uid)
        name = named(task) if task is not None else "this task"
        raise Conflict(f"the work on {name} is {work.state}", state=work.state, id=work.task_uid)
    return work


def check_open(db: Database, task: Task) -> None:
    """Refuse to start an agent on a task that must be reopened first.

    Raises:
        Conflict: it is done.
    """
    if work_queries.must_reopen(db, task):
        raise Conflict(
            f"#{task.number} is done: reopen it first, `tui-tasks status {task.number} pending`", id=task.uid
        )


def check_here(db: Database, work: Work) -> None:
    """Refuse what only the machine with the worktree of a work can do.

    Raises:
        Conflict: it is another machine.
    """
    if (elsewhere := work_queries.is_elsewhere(db, work)) is not None:
        raise Conflict(elsewhere, id=work.task_uid, machine=work.machine, branch=work.branch)


def check_not_over(db: Database, work: Work, *states: str) -> None:
    """Refuse work that has ended in one of these states since it was read; say what to do.

    Raises:
        Conflict: it has.
    """
    work = work_queries.find(db, work.uid)
    if work.state in states:
        refuse_state(db, work)


def refuse_state(db: Database, work: Work) -> NoReturn:
    """Say that the state of a work forbids it, and what to do.

    Raises:
        Conflict: always.
    """
    task = task_queries.any_task(db, work.task_uid)
    number = task.number if task is not None else 0
    restore = f"`tui-tasks work restore {work_queries.reference(db, work, number)}`"
    then = {
        "merged": f"; {restore} undoes it",
        "discarded": f": {restore} brings it back for review",
        "failed": f": start an agent again, or {restore} if there is something to review",
        "working": ": wait until its turn is over, or merge and let the agent continue (--go-on)",
    }.get(work.state, "")
    is_so = "has failed" if work.state == "failed" else f"is {work.state}"
    what = f"#{number} is merged already" if work.state == "merged" else f"the work on #{number} {is_so}"
    raise Conflict(f"{what}{then}", state=work.state)


def refuse_undo(db: Database, work: Work) -> NoReturn:
    """Say that neither a merge nor a discard of a work stands, and what to do about the work.

    Raises:
        Conflict: always.
    """
    task = task_queries.any_task(db, work.task_uid)
    named = work_queries.reference(db, work, task.number) if task is not None else "TASK"
    then = {
        **dict.fromkeys(("ready", "conflict"), f"; `tui-tasks work review {named}` shows it, then merge or discard it"),
        **dict.fromkeys(("starting", "working"), f"; `tui-tasks work show {named}` shows how far it is"),
    }.get(work.state, "")
    raise Conflict(f"the work is {work.state}: nothing to undo{then}", state=work.state)


def check_not_taken_over(db: Database, work: Work) -> None:
    """Refuse to bring discarded or merged work back where another agent has taken its task up since, or has done it.

    Raises:
        Conflict: who has, and what to do.
    """
    task = task_queries.any_task(db, work.task_uid)
    if work.state not in ("discarded", "merged") or task is None or task.status not in ("in_progress", "done"):
        return
    # Whose name stands in the task's field says nothing of who did it: any agent may write one there.
    who = task.claimed_by or task.status_by
    if who is not None and who not in (work.agent, *vocab.RESERVED_AGENTS):
        did = "has claimed" if task.status == "in_progress" else "has done"
        what = f"{who} {did} #{task.number} since"
        raise Conflict(f"{what}: set it pending first, then bring the work of {work.agent} back", id=task.uid)
