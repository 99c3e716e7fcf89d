"""How a journal entry of each kind of row is inverted, by a new change of the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit.rank import between
from tui_tasks.core.commit.rebalancing import Reranks
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.jobs import DeleteJob
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules.job_rules import change_job, delete_job, restore_job, switch_on
from tui_tasks.core.rules.run_steps import disable, refuse_inside_run
from tui_tasks.core.rules.tasks.claim_rules import claim_ended_by, restore_claim
from tui_tasks.core.rules.tasks.list_rules import refuse_several_in_progress, refuse_taken_name
from tui_tasks.core.rules.tasks.record_rules import touched
from tui_tasks.core.rules.tasks.task_rules import change_task, writable
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.snapshots import Entry, Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_encode = msgspec.json.Encoder().encode

_DELETED_LAST = Statement(
    lambda: J.select(J.seq).where((J.task == slot("task")) & (J.kind == "task.deleted")).order_by(J.seq.desc()).limit(1)
)
# What a status brings with it: an undo restores these as well.
_WITH_STATUS = ("started_at", "finished_at", "status_by")
_TUPLES = vocab.SET_FIELDS | {"plan", "checks"}


class Places(NamedTuple):
    """The places of tasks that a change has moved.

    `moved` has each task with the seq of its first move; `ranks` says what has become of the ranks that its entries
    hold.
    """

    moved: dict[str, int]
    ranks: Reranks


def _expect(entry: Entry, row: Any) -> dict[str, Any]:
    """Return the old values to restore.

    Raises:
        Conflict: a field has been changed since the entry.
    """
    assert entry.old is not None
    assert entry.new is not None
    names = [name for name in entry.new if name not in vocab.BOOKKEEPING]
    for name in names:
        if _encode(getattr(row, name)) != _encode(entry.new[name]):
            what = named(row) if isinstance(row, Task) else f"{entry.entity} {row.name}"
            raise Conflict(f"{name} of {what} has been changed since", id=entry.uid)
    old = ((name, entry.old[name]) for name in names)
    return {name: tuple(value) if name in _TUPLES and isinstance(value, list) else value for name, value in old}


def _with_ranks_of_now(entry: Entry, task: Task, ranks: Reranks) -> Entry:
    """Return an entry of a task with its old and new rank as they are since lists were reranked."""
    old, new = entry.old, entry.new
    if old is None or new is None or "rank" not in new:
        return entry
    was_in, is_in = old.get("list_id", task.list_id), new.get("list_id", task.list_id)
    old = old | {"rank": ranks.now(was_in, old["rank"], entry.seq)}
    new = new | {"rank": ranks.now(is_in, new["rank"], entry.seq)}
    return msgspec.structs.replace(entry, old=old, new=new)


def _invert_task(tx: Transaction, entry: Entry, places: Places) -> None:
    task = task_queries.any_task(tx.db, entry.uid)
    assert task is not None
    _refuse_without_list(tx, task)
    if entry.old is None:
        if not task.deleted:
            change_task(tx, writable(tx, task.uid), "task.deleted", {"deleted": True})
        return
    entry = _with_ranks_of_now(entry, task, places.ranks)
    assert entry.old is not None
    changes = _expect(entry, task)
    if changes.get("deleted"):
        kind = "task.deleted"
        # If it is restored once more, it comes back to where it stands now.
        changes.pop("rank", None)
    elif "deleted" in changes:
        kind = "task.restored"
        changes |= _rank_of_restored(tx, entry, task, places)
    else:
        task = writable(tx, _not_deleted(task).uid)
        kind = _kind_of(entry, changes)
        if "rank" in changes:
            at = {"list_id": changes.get("list_id", task.list_id), "rank": changes["rank"]}
            changes |= _free_rank(tx, entry, at["list_id"], at["rank"], places.moved)
    if "status" in changes or "status_by" in entry.old:
        changes |= {name: entry.old.get(name, getattr(task, name)) for name in _WITH_STATUS}
    goes_on = changes.get("status", task.status) == "in_progress" and not changes.get("deleted", task.deleted)
    claim = claim_ended_by(tx, entry, task) if goes_on else None
    if claim is not None:
        changes |= {"claimed_by": claim.agent, "fenced": tuple(name for name in task.fenced if name != claim.agent)}
    task = change_task(tx, task, kind, changes)
    if claim is not None:
        restore_claim(tx, claim, task)


def _kind_of(entry: Entry, changes: dict[str, Any]) -> str:
    """Return the kind of the entry that undoes a change of a task; what is held again is neither accepted nor
    declined.
    """
    if "held" not in changes:
        return entry.kind
    if changes["held"]:
        return "task.updated"
    return "task.declined" if "status" in changes else "task.accepted"


def _refuse_without_list(tx: Transaction, task: Task) -> None:
    """Refuse where the task's list was deleted since: nothing of it changes until the list is restored."""
    home = tx.state_cache.list_by_id(task.list_id)
    if home.deleted:
        raise Conflict(f"the list of {named(task)} was deleted", id=home.uid)


def _not_deleted(task: Task) -> Task:
    if task.deleted:
        raise Conflict(f"{named(task)} has been deleted since", id=task.uid)
    return task


def _rank_of_restored(tx: Transaction, entry: Entry, task: Task, places: Places) -> dict[str, Any]:
    """Return the rank of a task that is restored, whose key must be free."""
    if task.key is not None and (other := task_queries.task_by_key(tx.db, task.list_id, task.key)):
        raise Conflict(f"{task.key!r} is another task by now", id=other.uid)
    # A deleted task keeps its rank.
    rank = places.ranks.now(task.list_id, task.rank, tx.db.one(_DELETED_LAST, task=task.uid)[0])
    return _free_rank(tx, entry, task.list_id, rank, places.moved)


def _free_rank(tx: Transaction, entry: Entry, list_id: int, rank: str, moved: dict[str, int]) -> dict[str, Any]:
    """Return the old rank, or one right behind the task that has it now and keeps it after this undo."""
    holders = task_queries.at_rank(tx.db, list_id, rank)
    if any(moved.get(uid, entry.seq) >= entry.seq for uid in holders):
        rank = between(rank, task_queries.rank_beside(tx.db, list_id, rank, after=True))
    return {"rank": rank}


def _invert_beside(tx: Transaction, entry: Entry, _: Places) -> None:
    """Invert a change of a row beside a task: a log entry, a saved state, a memory."""
    task = task_queries.any_task(tx.db, entry.task or "")
    assert task is not None
    _refuse_without_list(tx, task)
    if entry.entity != "memory":
        task = touched(tx, writable(tx, _not_deleted(task).uid))
    old, new = entry.old, entry.new
    back = {"deleted": True} if old is None else old
    was = {"deleted": False} if old is None else new
    if entry.entity == "memory":
        # Completing the task again has saved its memory already.
        now = task_records.any_memory_of(tx.db, task.uid)
        back = {name: value for name, value in back.items() if _encode(getattr(now, name)) != _encode(value)}
        was = {name: getattr(now, name) for name in back}
        if not back:
            return
    kind = "task.updated" if entry.entity == "log" else entry.kind
    tx.emit(kind, entry.entity, entry.uid, old=was, new=back, task=task)


def _invert_list(tx: Transaction, entry: Entry, _: Places) -> None:
    home = task_queries.any_list(tx.db, entry.uid)
    if entry.old is None:
        if home.kind == "plan" and home.total:
            raise Conflict(f"others have put tasks into plan {home.uid}", id=home.uid)
        if not home.total and not home.deleted:
            tx.emit("list.deleted", "list", home.uid, old={"deleted": False}, new={"deleted": True})
        return
    back = _expect(entry, home)
    if back.get("one_in_progress"):
        refuse_several_in_progress(tx, home)
    kind = entry.kind
    if back.get("deleted") is False:
        kind = "list.restored"
        refuse_taken_name(tx, home, home.name)
    elif home.deleted:
        raise Conflict(f"list {home.name} was deleted", id=home.uid)
    if "name" in back:
        refuse_taken_name(tx, home, back["name"])
    tx.emit(kind, "list", home.uid, old=entry.new, new=back)


def _invert_job(tx: Transaction, entry: Entry, _: Places) -> None:
    """Invert a change of a job. Undoing a deletion or a switch-off starts a job, so rule S1 holds."""
    refuse_inside_run(tx)
    job = job_queries.any_job(tx.db, entry.uid)
    assert job is not None
    changes = {"deleted": True} if entry.old is None else _expect(entry, job)
    if changes.get("deleted") is False:
        restore_job(tx, job)
    elif "deleted" in changes:
        if not job.deleted:
            delete_job(tx, DeleteJob(job.uid))
    elif job.deleted:
        raise Conflict(f"job {job.uid} was deleted", id=job.uid)
    elif "enabled" in changes:
        switch_on(tx, job) if changes["enabled"] else disable(tx, job, "the job was disabled before it began")
        if changes.get("held"):
            held = {name: changes[name] for name in ("held", "accepted") if name in changes}
            change_job(tx, job_queries.job(tx.db, job.uid), "job.updated", held)
    else:
        change_job(tx, job, "job.updated", changes)


INVERSES = {
    "task": _invert_task,
    "log": _invert_beside,
    "state": _invert_beside,
    "memory": _invert_beside,
    "list": _invert_list,
    "job": _invert_job,
}
