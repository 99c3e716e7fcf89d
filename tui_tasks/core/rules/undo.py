"""Undo and redo: an undo is a new change, the inverse of the old one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit.rebalancing import Reranks
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.operations.changes import Redo, TakeBack, Undo
from tui_tasks.core.operations.jobs import DeleteJob
from tui_tasks.core.rank import between
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.tasks import queries, records
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules.jobs.jobs import change_job, delete_job, restore_job, switch_on
from tui_tasks.core.rules.jobs.run_steps import disable, refuse_inside_run
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks.claims import claim_ended_by, restore_claim
from tui_tasks.core.rules.tasks.lists import refuse_taken_name
from tui_tasks.core.rules.tasks.tasks import change_task, refuse_second_in_progress, touched, writable
from tui_tasks.core.schema.tables.journal import JournalRow as J
from tui_tasks.core.snapshots import Entry, Task

if TYPE_CHECKING:
    from tui_tasks.core.store import Transaction

_encode = msgspec.json.Encoder().encode

_BY_ACTOR = Statement(
    J.select(J.seq, J.change, J.kind, J.undoes)
    .where((J.actor == slot("actor")) & (J.seq < slot("below")))
    .order_by(J.seq.desc())
    .limit(slot("limit"))
)
_PAGE = 100
# The number of entries that one step takes back.
_SOON_DONE: Final = 500
_UNDONE_BY = Statement(J.select(J.change).where(J.undoes == slot("change")).distinct())
_TASK_LATER = Statement(
    J.select(J.actor, J.change, J.undoes, J.entity, J.uid, J.new).where(
        (J.task == slot("task")) & (J.seq > slot("seq"))
    )
)


_JOB_LATER = Statement(
    J.select(J.actor, J.change, J.undoes, J.entity, J.uid, J.new).where(
        (J.entity == "job") & (J.uid == slot("uid")) & (J.seq > slot("seq"))
    )
)


_DELETED_LAST = Statement(
    J.select(J.seq)
    .where((J.task == slot("task")) & (J.kind == "task.deleted"))
    .order_by(J.seq.desc())
    .limit(slot("limit"))
)


def stands(db: Database, change: int) -> bool:
    """Return whether a change has not been taken back."""
    return not any(stands(db, by) for (by,) in db.all(_UNDONE_BY, change=change))


@rule(Undo)
def undo(tx: Transaction, op: Undo) -> tuple[int, int]:
    """Take back one change of the speaker (docs: protocol, section 7, `control:undo`)."""
    change = op.change
    if change is None:
        change = _newest_standing(tx, op.within)
    elif not stands(tx.db, change):
        raise Conflict(f"change {change} has been taken back already", seq=change)
    return _take_back(tx, change)


def _own_entries(tx: Transaction) -> Iterator[Any]:
    """Yield change, kind and what it undoes of the speaker's entries, newest first; the one wanted is seldom far."""
    below = tx.seq + 1
    while page := tx.db.all(_BY_ACTOR, actor=tx.actor, below=below, limit=_PAGE):
        for below, *entry in page:  # noqa: B007 - the next page begins below the last of this one
            yield entry
        tx.pause()


def _newest_standing(tx: Transaction, within: str | None) -> int:
    # The current batch, which asks for the undo, does not count.
    seen: set[int | None] = {tx.current}
    for change, kind, undoes in _own_entries(tx):
        if undoes is None and kind in vocab.UNDOABLE and change not in seen:
            seen.add(change)
            if stands(tx.db, change) and (within is None or _is_within(tx.db, change, within)):
                return int(change)
    raise Conflict(f"{tx.actor} has no change to undo")


def _is_within(db: Database, change: int, list_uid: str) -> bool:
    """Return whether a whole change is about one list and its tasks."""
    for part in (part for parts in journal.of_change(db, change) for part in parts):
        task = queries.any_task(db, part.task) if part.task is not None else None
        of_list = queries.list_by_id(db, task.list_id).uid if task is not None else part.uid
        if of_list != list_uid:
            return False
    return True


@rule(TakeBack)
def take_back(tx: Transaction, op: TakeBack) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Take back the changes that still stand. One whose tasks others have changed since is left, and reported."""
    taken, kept = 0, []
    for change in op.changes:
        before = tx.entries
        try:
            if not stands(tx.db, change):
                raise Conflict("it has been taken back already")
            parts = _parts_of(tx, change)
            for seq in parts.seqs:
                _refuse_if_touched(tx, journal.entry(tx.db, seq), change)
            _invert(tx, change, parts)
        except (Conflict, NotFound) as refused:
            if tx.entries != before:
                raise
            tx.undoes = None
            kept.append((change, refused.message))
        else:
            taken += 1
    return taken, tuple(kept)


@rule(Redo)
def redo(tx: Transaction, op: Redo) -> tuple[int, int]:
    """Take back the newest undo that stands, unless something was changed after it."""
    for change, kind, undoes in _own_entries(tx):
        if undoes is None:
            if kind in vocab.UNDOABLE:
                break
        elif stands(tx.db, change) and journal.undoes(tx.db, undoes) is None:
            return _take_back(tx, change)
    raise Conflict(f"{tx.actor} has no undo to take back")


class _Places(NamedTuple):
    """The places of tasks that a change has moved.

    `moved` has each task with the seq of its first move; `ranks` says what has become of the ranks that its entries
    hold.
    """

    moved: dict[str, int]
    ranks: Reranks


class _Parts(NamedTuple):
    """The entries of a change that an undo inverts, and the places of the tasks that it has moved."""

    seqs: list[int]
    kinds: frozenset[str]
    last: int
    places: _Places


def _take_back(tx: Transaction, change: int) -> tuple[int, int]:
    parts = _parts_of(tx, change)
    if tx.in_steps and len(parts.seqs) > _SOON_DONE:
        # Refuse before the first step is committed, which others would see.
        for seq in parts.seqs:
            _refuse_if_touched(tx, journal.entry(tx.db, seq), change)
            tx.pause()
    _invert(tx, change, parts)
    return parts.last, change


def _parts_of(tx: Transaction, change: int) -> _Parts:
    """Return what an undo of a change inverts.

    Raises:
        Conflict: the change was compacted away.
        NotFound: there is nothing of it to invert.
    """
    base = compaction.base(tx.db)
    if base is not None and change <= base.last:
        # A part of the change may still be in the journal.
        raise Conflict(f"change {change} was compacted away: it can't be taken back any more", seq=change)
    # Of a long change, only the positions of its entries are held in memory.
    seqs: list[int] = []
    kinds: set[str] = set()
    last = change
    places = _Places({}, Reranks(tx.db, change))
    for page in journal.of_change(tx.db, change):
        for part in page:
            last = part.seq
            if part.kind in vocab.UNDOABLE:
                seqs.append(part.seq)
                kinds.add(part.kind)
            if part.has_rank:
                places.moved.setdefault(part.uid, part.seq)
        tx.pause()
    if not seqs:
        raise NotFound("change", str(change))
    return _Parts(seqs, frozenset(kinds), last, places)


def _invert(tx: Transaction, change: int, parts: _Parts) -> None:
    # From the beginning, so that a cleared list is seen to come back in its order.
    backwards = parts.kinds != {"task.deleted"}
    before, tx.undoes = tx.entries, change
    for seq in reversed(parts.seqs) if backwards else parts.seqs:
        entry = journal.entry(tx.db, seq)
        _refuse_if_touched(tx, entry, change)
        _INVERSES[entry.entity](tx, entry, parts.places)
        tx.pause()
    tx.undoes = None
    if tx.entries == before:
        raise Conflict(f"what change {change} made is used by others since", seq=parts.last)


def _refuse_if_touched(tx: Transaction, entry: Entry, change: int) -> None:
    """Refuse where somebody has changed the same fields since (docs: protocol, section 7)."""
    if entry.new is None or (entry.task is None and entry.entity != "job"):
        return
    made_or_gone = entry.old is None or "deleted" in entry.new
    fields = entry.new.keys() - vocab.BOOKKEEPING
    for actor, later, undoes, entity, uid, new in _later(tx.db, entry):
        if actor in (tx.actor, vocab.SYSTEM) or later == change or undoes is not None or not stands(tx.db, later):
            continue
        if entity == "claim":
            # Extending a claim changes nothing of the task; claiming and releasing have entries of the task's own.
            continue
        same_row = entity == entry.entity and uid == entry.uid
        overlap = same_row and new is not None and fields & msgspec.json.decode(new).keys()
        if overlap or (made_or_gone and entry.entity in ("task", "job")):
            raise Conflict(f"{actor} has changed {_what(tx, entry)} since", id=entry.task or entry.uid, seq=later)


def _what(tx: Transaction, entry: Entry) -> str:
    task = queries.any_task(tx.db, entry.task) if entry.task is not None else None
    return named(tx.db, task) if task is not None else "the same"


def _later(db: Database, entry: Entry) -> list[Any]:
    """Return the later entries about the task or job of an entry."""
    if entry.entity == "job":
        return db.all(_JOB_LATER, uid=entry.uid, seq=entry.seq)
    return db.all(_TASK_LATER, task=entry.task, seq=entry.seq)


def _expect(entry: Entry, row: Any) -> dict[str, Any]:
    """Return the old values to restore, of the fields that still have the new ones."""
    assert entry.old is not None
    assert entry.new is not None
    names = [name for name in entry.new if name not in vocab.BOOKKEEPING]
    for name in names:
        if _encode(getattr(row, name)) != _encode(entry.new[name]):
            raise Conflict(f"{name} of {entry.uid} has been changed since", id=entry.uid)
    return {name: _frozen(entry.old[name]) if name in _TUPLES else entry.old[name] for name in names}


_TUPLES = frozenset({"tags", "depends_on", "node_ids", "plan", "checks", "links"})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _with_ranks_of_now(entry: Entry, task: Task, ranks: Reranks) -> Entry:
    """Return an entry of a task with its old and new rank as they are since lists were reranked."""
    old, new = entry.old, entry.new
    if old is None or new is None or "rank" not in new:
        return entry
    was_in, is_in = old.get("list_id", task.list_id), new.get("list_id", task.list_id)
    old = old | {"rank": ranks.now(was_in, old["rank"], entry.seq)}
    new = new | {"rank": ranks.now(is_in, new["rank"], entry.seq)}
    return msgspec.structs.replace(entry, old=old, new=new)


def _invert_task(tx: Transaction, entry: Entry, places: _Places) -> None:
    task = queries.any_task(tx.db, entry.uid)
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
        changes |= _room(tx, entry, task, places)
    else:
        task = writable(tx, _there(task).uid)
        kind = _kind_of(entry, changes)
        if "rank" in changes:
            at = {"list_id": changes.get("list_id", task.list_id), "rank": changes["rank"]}
            changes |= _free_rank(tx, entry, at["list_id"], at["rank"], places.moved)
    if "status" in changes:
        changes |= {name: entry.old.get(name, getattr(task, name)) for name in ("started_at", "finished_at")}
    if changes.get("status") == "in_progress":
        refuse_second_in_progress(tx, tx.state_cache.list_by_id(task.list_id), but=task.uid)
    goes_on = changes.get("status", task.status) == "in_progress" and not changes.get("deleted", task.deleted)
    claim = claim_ended_by(tx, entry, task) if goes_on else None
    if claim is not None:
        changes |= {"claimed_by": claim.agent, "fenced": tuple(name for name in task.fenced if name != claim.agent)}
    task = change_task(tx, task, kind, changes)
    if claim is not None:
        restore_claim(tx, claim, task)


def _kind_of(entry: Entry, changes: dict[str, Any]) -> str:
    """Return the kind of the entry that takes back a change of a task; what is held again is neither accepted nor
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
        raise Conflict(f"the list of {named(tx.db, task)} was deleted", id=home.uid)


def _there(task: Task) -> Task:
    if task.deleted:
        raise Conflict(f'task "{task.name[:60]}" has been deleted since', id=task.uid)
    return task


def _room(tx: Transaction, entry: Entry, task: Task, places: _Places) -> dict[str, Any]:
    """Return what a restored task needs: its place, its key, its turn."""
    if task.status == "in_progress":
        refuse_second_in_progress(tx, tx.state_cache.list_by_id(task.list_id))
    if task.key is not None and (other := queries.task_by_key(tx.db, task.list_id, task.key)):
        raise Conflict(f"{task.key!r} is another task by now", id=other.uid)
    # A deleted task keeps its rank.
    rank = places.ranks.now(task.list_id, task.rank, tx.db.one(_DELETED_LAST, task=task.uid, limit=1)[0])
    return _free_rank(tx, entry, task.list_id, rank, places.moved)


def _free_rank(tx: Transaction, entry: Entry, list_id: int, rank: str, moved: dict[str, int]) -> dict[str, Any]:
    """Return the old rank, or one right behind the task that has it now and keeps it after this undo."""
    holders = queries.at_rank(tx.db, list_id, rank)
    if any(moved.get(uid, entry.seq) >= entry.seq for uid in holders):
        rank = between(rank, queries.rank_beside(tx.db, list_id, rank, after=True))
    return {"rank": rank}


def _invert_beside(tx: Transaction, entry: Entry, _: _Places) -> None:
    """Invert a change of a row beside a task: a log entry, a saved state, a memory."""
    task = queries.any_task(tx.db, entry.task or "")
    assert task is not None
    _refuse_without_list(tx, task)
    if entry.entity != "memory":
        task = touched(tx, writable(tx, _there(task).uid))
    old, new = entry.old, entry.new
    back = {"deleted": True} if old is None else old
    was = {"deleted": False} if old is None else new
    if entry.entity == "memory":
        # Completing the task again has saved its memory already.
        now = records.any_memory_of(tx.db, task.uid)
        back = {name: value for name, value in back.items() if _encode(getattr(now, name)) != _encode(value)}
        was = {name: getattr(now, name) for name in back}
        if not back:
            return
    kind = "task.updated" if entry.entity == "log" else entry.kind
    tx.emit(kind, entry.entity, entry.uid, old=was, new=back, task=task)


def _invert_list(tx: Transaction, entry: Entry, _: _Places) -> None:
    home = queries.any_list(tx.db, entry.uid)
    if entry.old is None:
        if home.kind == "plan" and home.total:
            raise Conflict(f"others have put tasks into plan {home.uid}", id=home.uid)
        if not home.total and not home.deleted:
            tx.emit("list.deleted", "list", home.uid, old={"deleted": False}, new={"deleted": True})
        return
    back = _expect(entry, home)
    if back.get("one_in_progress") and home.in_progress > 1:
        raise Conflict(f"{home.in_progress} tasks of {home.name} are in progress", in_progress=home.in_progress)
    kind = entry.kind
    if back.get("deleted") is False:
        kind = "list.restored"
        refuse_taken_name(tx, home, home.name)
    elif home.deleted:
        raise Conflict(f"list {home.name} was deleted", id=home.uid)
    if "name" in back:
        refuse_taken_name(tx, home, back["name"])
    tx.emit(kind, "list", home.uid, old=entry.new, new=back)


def _invert_job(tx: Transaction, entry: Entry, _: _Places) -> None:
    """Invert a change of a job. Taking back a deletion or a switch-off starts a job, so rule S1 holds."""
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
            change_job(tx, job_queries.job(tx.db, job.uid), "job.updated", {"held": True})
    else:
        change_job(tx, job, "job.updated", changes)


_INVERSES = {
    "task": _invert_task,
    "log": _invert_beside,
    "state": _invert_beside,
    "memory": _invert_beside,
    "list": _invert_list,
    "job": _invert_job,
}
