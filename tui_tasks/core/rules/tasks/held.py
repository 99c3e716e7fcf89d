"""Held tasks: what agents file in a list under review, until the human accepts it (docs: protocol, section 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, TaskList

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

# Fields that take a task up, or say how it ended.
_TAKES_UP: Final = frozenset({"status", "agent", "claimed_by"})
# Fields that any agent may change: agents order and link the tasks of a list that they share.
_BESIDE: Final = frozenset({"rank", "node_ids"})


def holds_new(tx: Transaction, home: TaskList) -> bool:
    """Return whether a task that the speaker makes in a list is held."""
    return tx.actor not in vocab.RESERVED_AGENTS and (home.review or tx.review.holds(home))


def refuse_new(tx: Transaction, status: str) -> None:
    """Refuse a new held task that has a status other than pending, or that is one more than the speaker may have.

    Raises:
        Conflict: it has another status than pending, or the speaker has as many as it may.
    """
    if status != "pending":
        raise Conflict(
            f"what agents file in this list waits for the human, so it begins as pending, not {status}", held=True
        )
    _refuse_too_many(tx)


def _refuse_too_many(tx: Transaction) -> None:
    limit = tx.review.limit
    if queries.held_count(tx.db, tx.actor) >= limit:
        raise Conflict(
            f"{tx.actor} has {limit} tasks that wait for the human, which is the most: delete one, or wait until some "
            "are accepted or declined",
            held=True,
            limit=limit,
        )


def refuse_change(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse changes of a held or a declined task that are not the speaker's to make.

    Raises:
        Conflict: it would be taken up before it is accepted, or another than its maker would change its words; or an
            agent would take up what the human has declined.
    """
    by_human = tx.actor == vocab.HUMAN
    if changes.get("held"):
        # An undo of the human's, of having accepted or declined the task.
        if changes.get("status", task.status) != "pending" or task.claimed_by is not None:
            raise Conflict(f"task {task.uid} was taken up since", id=task.uid)
    elif task.held and not (by_human and "held" in changes):
        _refuse_while_held(tx, task, changes)
    elif task.decline_reason is not None and not by_human and not _TAKES_UP.isdisjoint(changes):
        raise Conflict(f"the human has declined task {task.uid}: file another", id=task.uid, declined=True)


def _refuse_while_held(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    if "held" in changes or not _TAKES_UP.isdisjoint(changes):
        raise waits_for_human(task)
    if tx.actor in (vocab.HUMAN, vocab.SYSTEM):
        return
    if not may_delete(tx, task) and not changes.keys() <= _BESIDE:
        raise Conflict(
            f"task {task.uid} waits for the human; until then it is {task.created_by}'s", held=True, id=task.uid
        )
    if "list_id" in changes:
        raise waits_for_human(task)
    if changes.get("deleted") is False:
        _refuse_too_many(tx)


def waits_for_human(task: Task) -> Conflict:
    """Return the refusal for whatever would take up a held task."""
    return Conflict(f"task {task.uid} waits for the human, who has not accepted it yet", held=True, id=task.uid)


def may_delete(tx: Transaction, task: Task) -> bool:
    """Return whether the speaker may delete a task, as far as review goes: only its maker and the human delete a held
    task.
    """
    return not task.held or tx.actor in (vocab.HUMAN, vocab.SYSTEM, task.created_by)
