"""Held tasks: what agents file in a list under review, until the human accepts or declines it, or joins it to another
task.

The human accepts one version of a task. A pending task that differs from what was accepted is held again, whoever or
whatever has changed it: an edit, an undo, an import, the end of a claim. While it is in progress, only the agent that
works on it changes it, and no other agent gets it with these changes. No agent moves it out of review.

docs: protocol, section 11.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations import AtVersion
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, JoinTask, LogTask, SetListReview
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.recorded_settings import looks_of
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction
    from tui_tasks.core.engine.database import Database

# Fields that take a task up, or say how it ended.
_TAKES_UP: Final = frozenset({"status", "agent", "claimed_by"})
# What the human sees of a held task, and accepts. Who takes it up, where it stands and what comes of it is not in it.
ACCEPTED: Final = (
    *("name", "description", "priority", "tags", "domain", "metadata"),
    *("depends_on", "due", "estimate"),
)
# Fields that decide who works on a task under review.
_HANDS_OVER: Final = frozenset({"status", "agent", "claimed_by", "list_id", "deleted"})
# Fields that any agent may change: agents order and link the tasks of a list that they share.
_BESIDE: Final = frozenset({"rank", "node_ids"})


def holds_new(tx: Transaction, home: TaskList) -> bool:
    """Return whether a task that the speaker makes in a list is held."""
    return _is_reviewed(tx, home) and tx.files_for_review


def _is_reviewed(tx: Transaction, home: TaskList) -> bool:
    """Return whether a list is under review, or a person could take its name for that of a list that is."""
    if home.review or tx.review.holds(home):
        return True
    reviewed = tx.state_cache.reviewed_lists
    return bool(reviewed) and not reviewed.isdisjoint(looks_of(home.name))


def reviewed_lists(db: Database) -> frozenset[str]:
    """Return the forms (`looks_of`) of the names of the lists that the human has put under review on the screen.

    A plan is put under review by itself: others may have the same title.
    """
    rows = db.sql("SELECT name FROM list WHERE review AND NOT deleted AND kind = 'list'").fetchall()
    return frozenset(form for (name,) in rows for form in looks_of(name))


def refuse_new(tx: Transaction, status: str) -> None:
    """Refuse a new held task that has a status other than pending, or that is one more than the speaker may have.

    Raises:
        Conflict: it has another status than pending, or the speaker has as many as it may.
    """
    if status != "pending":
        raise Conflict(
            f"new tasks of agents in this list wait for the human, and begin as pending, not {status}", held=True
        )
    _refuse_too_many(tx)


def _refuse_too_many(tx: Transaction) -> None:
    limit = tx.review.limit
    if task_queries.held_count(tx.db, tx.actor) >= limit:
        raise Conflict(
            f"{tx.actor} has {limit} held tasks, the limit: delete one, or wait until the human accepts or declines "
            "some",
            held=True,
            limit=limit,
        )


def digest(task: Task, changes: Mapping[str, Any]) -> str:
    """Return a digest of what the human accepts of a task with these changes."""
    seen = [changes[name] if name in changes else getattr(task, name) for name in ACCEPTED]
    return hashlib.sha256(msgspec.json.encode(seen, order="deterministic")).hexdigest()


def is_as_accepted(task: Task, changes: Mapping[str, Any]) -> bool:
    """Return whether a task with these changes is the version that the human accepted."""
    return task.accepted is not None and digest(task, changes) == task.accepted


def follow_acceptance(tx: Transaction, task: Task, new: dict[str, Any]) -> None:
    """Add to the new values of a task whether it is held by them, and what the human accepts by them.

    Raises:
        Conflict: the human's redo would accept what has changed since.
    """
    by_human = tx.actor == vocab.HUMAN
    if by_human and task.held and new.get("held") is False and "decline_reason" not in new:
        _refuse_unseen(task, new)
    if task.accepted is None or (by_human and "accepted" in new):
        return
    for name in ("accepted", "held"):
        new.pop(name, None)
    was_accepted = is_as_accepted(task, {})
    if by_human and was_accepted and not new.keys().isdisjoint(ACCEPTED):
        # The human's own words need no acceptance.
        new["accepted"] = digest(task, new)
        return
    is_held = not is_as_accepted(task, new) and (task.held or _is_to_be_held(tx, task, new))
    if is_held != task.held:
        new["held"] = is_held


def _refuse_unseen(task: Task, new: Mapping[str, Any]) -> None:
    if new.get("accepted", task.accepted) != digest(task, new):
        raise Conflict(f"task #{task.number} has changed since you accepted it: look at it again", id=task.uid)


def _is_to_be_held(tx: Transaction, task: Task, new: Mapping[str, Any]) -> bool:
    """Return whether a task whose new values are not those that were accepted could be taken up in a list under
    review.
    """
    if new.get("status", task.status) != "pending" or new.get("deleted", task.deleted):
        return False
    return _is_reviewed(tx, tx.state_cache.list_by_id(new.get("list_id", task.list_id)))


def refuse_change(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse changes of a held, a declined or an accepted task that are not the speaker's to make.

    Raises:
        Conflict: it would be taken up before it is accepted, or another than its maker would change its words; or an
            agent would take up what the human has declined; or an agent would work on what the human has not accepted.
    """
    by_human = tx.actor == vocab.HUMAN
    if by_human and changes.get("held") and (task.accepted is None or "accepted" in changes):
        # An undo of the human's, of having accepted or declined the task.
        if changes.get("status", task.status) != "pending" or task.claimed_by is not None:
            raise Conflict(f"task #{task.number} has been started since", id=task.uid)
    elif task.held and not (by_human and "held" in changes):
        _refuse_while_held(tx, task, changes)
    elif task.decline_reason is not None and not by_human and not _TAKES_UP.isdisjoint(changes):
        raise Conflict(f"the human has declined task #{task.number}: file another", id=task.uid, declined=True)
    elif task.accepted is not None and not changes.keys().isdisjoint({*ACCEPTED, *_HANDS_OVER}):
        _refuse_leaving(tx, task, changes)
        _refuse_unaccepted_work(tx, task, changes)


def _refuse_leaving(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse to move an accepted task out of review, where its words could be changed unseen."""
    if "list_id" not in changes or not tx.files_for_review:
        return
    home, target = (tx.state_cache.list_by_id(at) for at in (task.list_id, changes["list_id"]))
    if _is_reviewed(tx, home) and not _is_reviewed(tx, target):
        raise Conflict(
            f"the human accepted task #{task.number} in {home.name}, which is under review: "
            "only the human moves it out",
            held=True,
            id=task.uid,
        )


def _refuse_unaccepted_work(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse to give an agent work in progress that is not what was accepted, unless it made the changes itself."""
    after = msgspec.structs.replace(task, **changes)
    if after.status != "in_progress" or after.deleted or is_as_accepted(task, changes) or not tx.files_for_review:
        return
    if not _is_reviewed(tx, tx.state_cache.list_by_id(after.list_id)):
        return
    if not _HANDS_OVER.isdisjoint(changes) and (task.status != "in_progress" or after.who != task.who):
        raise Conflict(
            f"task #{task.number} is not as the human accepted it: set it pending, and wait until it is accepted again",
            held=True,
            id=task.uid,
        )
    if tx.actor != task.who:
        raise Conflict(
            f"{task.who} works on task #{task.number} as the human accepted it: only {task.who} may change it now",
            held=True,
            id=task.uid,
        )


def _refuse_while_held(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    if is_as_accepted(task, changes) and changes.keys() <= {*ACCEPTED, "held"}:
        # It is held because it was changed, and this undoes the change.
        return
    if changes.get("held") is False or not _TAKES_UP.isdisjoint(changes):
        raise waits_for_human(task)
    if tx.actor in (vocab.HUMAN, vocab.SYSTEM):
        return
    if not may_delete(tx, task) and not changes.keys() <= _BESIDE:
        raise Conflict(
            f"task #{task.number} waits for the human; until then it is {task.created_by}'s", held=True, id=task.uid
        )
    if "list_id" in changes:
        raise waits_for_human(task)
    if changes.get("deleted") is False:
        _refuse_too_many(tx)


def waits_for_human(task: Task) -> Conflict:
    """Return the refusal for starting a held task."""
    return Conflict(f"task #{task.number} waits for the human, who has not accepted it yet", held=True, id=task.uid)


def may_delete(tx: Transaction, task: Task) -> bool:
    """Return whether the speaker may delete a task, as far as review goes: only its maker and the human delete a held
    task.
    """
    return not task.held or tx.actor in (vocab.HUMAN, vocab.SYSTEM, task.created_by)


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
    from tui_tasks.core.rules.tasks import task_rules  # it is built upon this module

    task = _held(tx, op.uid)
    task_rules.at_version(tx, AtVersion(op.uid, op.version))
    if "status" in op.changes:
        raise InvalidArgument("status", "a task is accepted as pending")
    task_rules.refuse_bad_edit(tx, task, op.changes)
    accepted = digest(task, op.changes)
    return task_rules.change_task(tx, task, "task.accepted", {**op.changes, "held": False, "accepted": accepted})


@rule(DeclineTask)
def decline_task(tx: Transaction, op: DeclineTask) -> Task:
    """Decline a held task: it stays in its list, cancelled, with the reason for the agents to read."""
    refuse_too_long({"message": op.reason})
    return _decline(tx, _held(tx, op.uid), op.reason)


def _decline(tx: Transaction, task: Task, reason: str) -> Task:
    from tui_tasks.core.rules.tasks.task_rules import change_task  # it is built upon this module

    changes: dict[str, Any] = {"held": False, "accepted": None, "status": "cancelled", "decline_reason": reason}
    return change_task(tx, task, "task.declined", changes)


@rule(JoinTask)
def join_task(tx: Transaction, op: JoinTask) -> Task:
    """Join a held task to another one: its dependents wait for the other, whose log says what was joined."""
    from tui_tasks.core.read import overview
    from tui_tasks.core.rules.tasks import record_rules, task_rules  # they are built upon this module

    task, other = _held(tx, op.uid), task_queries.task(tx.db, op.into)
    task_rules.at_version(tx, AtVersion(op.uid, op.version))
    if task.uid == other.uid:
        raise InvalidArgument("into", "a task can't be joined to itself", id=op.into)
    words = "\n\n".join(text for text in (task.name, task.description) if text)
    record_rules.log_task(tx, LogTask(other.uid, f"{task.created_by} has filed the same:\n{words}"[: vocab.MAX_TEXT]))
    for uid in sorted(overview.waiting_on(tx.db, [task.uid])):
        waiting = task_queries.any_task(tx.db, uid)
        if waiting is not None and not waiting.deleted and waiting.uid != other.uid:
            joined = dict.fromkeys(other.uid if on == task.uid else on for on in waiting.depends_on)
            task_rules.change_task(tx, waiting, "task.updated", {"depends_on": tuple(joined)})
    _decline(tx, task, f"joined to {other.uid}: {other.name}"[: vocab.MAX_TEXT])
    return task_queries.task(tx.db, other.uid)
