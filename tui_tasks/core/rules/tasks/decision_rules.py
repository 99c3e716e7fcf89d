"""What the human decides about held tasks: accept, decline, join to another (docs: protocol, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations import AtVersion
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, JoinTask, LogTask, SetListReview
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks import held_rules
from tui_tasks.core.rules.tasks.record_rules import log_task
from tui_tasks.core.rules.tasks.task_rules import at_version, change_task, refuse_bad_edit
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def _refuse_agents(tx: Transaction, what: str) -> None:
    if tx.actor != vocab.HUMAN:
        raise Forbidden(f"only the human can {what}")


def _held(tx: Transaction, uid: str) -> Task:
    """Return a held task.

    Raises:
        Forbidden: another than the human asks.
        Conflict: it waits for nobody, as it was accepted or declined already.
    """
    _refuse_agents(tx, "accept or decline a held task")
    task = task_queries.task(tx.db, uid)
    if not task.held:
        raise Conflict(f"task #{task.number} does not wait for you any more", held=False, id=uid)
    return task


@rule(SetListReview)
def set_list_review(tx: Transaction, op: SetListReview) -> TaskList:
    """Switch review of a list. Tasks that are in it stay as they are: held ones are accepted or declined one by one."""
    _refuse_agents(tx, "put a list under review")
    home = task_queries.list_by_uid(tx.db, op.uid)
    if home.review != op.review:
        tx.emit("list.updated", "list", op.uid, old={"review": home.review}, new={"review": op.review})
    return task_queries.list_by_uid(tx.db, op.uid)


@rule(AcceptTask)
def accept_task(tx: Transaction, op: AcceptTask) -> Task:
    """Accept a held task with the human's changes: from now on it is a task like any other."""
    task = _held(tx, op.uid)
    at_version(tx, AtVersion(op.uid, op.version))
    if "status" in op.changes:
        raise InvalidArgument("status", "a task is accepted as pending")
    refuse_bad_edit(tx, task, op.changes)
    accepted = held_rules.digest(task, op.changes)
    return change_task(tx, task, "task.accepted", {**op.changes, "held": False, "accepted": accepted})


@rule(DeclineTask)
def decline_task(tx: Transaction, op: DeclineTask) -> Task:
    """Decline a held task: it stays in its list, cancelled, with the reason for the agents to read."""
    refuse_too_long({"message": op.reason})
    return _decline(tx, _held(tx, op.uid), op.reason)


def _decline(tx: Transaction, task: Task, reason: str) -> Task:
    changes: dict[str, Any] = {"held": False, "accepted": None, "status": "cancelled", "decline_reason": reason}
    return change_task(tx, task, "task.declined", changes)


@rule(JoinTask)
def join_task(tx: Transaction, op: JoinTask) -> Task:
    """Join a held task to another one: its dependents wait for the other, whose log says what was joined."""
    task, other = _held(tx, op.uid), task_queries.task(tx.db, op.into)
    at_version(tx, AtVersion(op.uid, op.version))
    if task.uid == other.uid:
        raise InvalidArgument("into", "a task can't be joined to itself", id=op.into)
    words = "\n\n".join(text for text in (task.name, task.description) if text)
    log_task(tx, LogTask(other.uid, f"{task.created_by} has filed the same:\n{words}"[: vocab.MAX_TEXT]))
    for uid in sorted(overview.waiting_on(tx.db, [task.uid])):
        waiting = task_queries.any_task(tx.db, uid)
        if waiting is not None and not waiting.deleted and waiting.uid != other.uid:
            joined = dict.fromkeys(other.uid if on == task.uid else on for on in waiting.depends_on)
            change_task(tx, waiting, "task.updated", {"depends_on": tuple(joined)})
    _decline(tx, task, f"joined to {other.uid}: {other.name}"[: vocab.MAX_TEXT])
    return task_queries.task(tx.db, other.uid)
