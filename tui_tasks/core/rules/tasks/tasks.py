"""Tasks: making, changing, placing, deleting, and what is kept beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, StaleClaim
from tui_tasks.core.operations.changes import AtVersion
from tui_tasks.core.operations.lists import ClearList
from tui_tasks.core.operations.tasks import (
    AddTask,
    DeleteTask,
    EditTask,
    LinkNodes,
    LogTask,
    MoveTask,
    SaveState,
    SwapTasks,
)
from tui_tasks.core.rank import MOST_CHARS, between
from tui_tasks.core.read.tasks import claims, queries, records
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules.agents.mirrored_tasks import tell_agent
from tui_tasks.core.rules.limits import refuse_too_long
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks import held
from tui_tasks.core.snapshots import LogEntry, Memory, SavedState, Task, TaskList, full_task

if TYPE_CHECKING:
    from tui_tasks.core.store import Transaction

_replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode
_NOTHING_GIVEN: Final[Mapping[str, Any]] = {}


def as_columns(row: msgspec.Struct) -> dict[str, Any]:
    """Return every field of a snapshot, by name."""
    return msgspec.structs.asdict(row)


def writable(tx: Transaction, uid: str) -> Task:
    """Return the task if the speaker may write to it (docs: protocol, section 7, `control:claim`).

    Raises:
        NotFound: there is no such task.
        Conflict: another agent has claimed it.
        StaleClaim: the speaker's own claim on it has lapsed, or was ended by the human.
    """
    task = queries.task(tx.db, uid)
    _refuse_claimed(tx, task)
    return task


def _refuse_claimed(tx: Transaction, task: Task) -> None:
    if tx.actor in (vocab.HUMAN, vocab.SYSTEM):
        return
    uid = task.uid
    if tx.actor in task.fenced:
        raise StaleClaim(f"your claim on {named(tx.db, task)} has lapsed or was ended: claim it again", id=uid)
    if task.claimed_by is not None and task.claimed_by != tx.actor:
        raise Conflict(f"{task.claimed_by} has claimed {named(tx.db, task)}", claimed_by=task.claimed_by, id=uid)


@rule(AtVersion)
def at_version(tx: Transaction, op: AtVersion) -> Task:
    """Refuse to go on unless the task is at that version (docs: protocol, section 2, `if_version`)."""
    task = queries.task(tx.db, op.uid)
    if task.version != op.version:
        raise Conflict(
            f"{named(tx.db, task)} is at version {task.version}, not {op.version}",
            version=task.version,
            task=_full(tx, task),
        )
    return task


def _full(tx: Transaction, task: Task) -> dict[str, Any]:
    home = tx.state_cache.list_by_id(task.list_id)
    return full_task(task, home.handle, [check.told() for check in tx.state_cache.checks_of(task, home)])


def refuse_second_in_progress(tx: Transaction, home: TaskList, but: str | None = None) -> None:
    """Refuse a second task in progress in a list with that rule (docs: protocol, section 5)."""
    if home.one_in_progress and (first := queries.in_progress(tx.db, home.id)) and first.uid != but:
        who = first.claimed_by or first.agent or first.updated_by
        raise Conflict(
            f"{named(tx.db, first)} of {home.name} is in progress already ({who}), and the list takes one at a time: "
            "set that one done, failed, skipped or pending first",
            in_progress=first.uid,
        )


@rule(AddTask)
def add_task(tx: Transaction, op: AddTask) -> Task:
    """Add a task at its place."""
    home, rank = _new_place(tx, op.list_uid, op.before, op.after)
    return make_task(tx, op, home, rank)


def make_task(
    tx: Transaction, op: AddTask, home: TaskList, rank: str, given: Mapping[str, Any] = _NOTHING_GIVEN
) -> Task:
    """Make a task at a place. `given` are fields that no operation of an agent sets: its uid, its instants."""
    refuse_too_long({"name": op.name, "description": op.description})
    is_held = held.holds_new(tx, home)
    if is_held:
        held.refuse_new(tx, op.status)
    if op.status == "in_progress":
        refuse_second_in_progress(tx, home)
    if home.archived:
        # A new task brings an archived list back, so that the task is seen.
        tx.emit("list.updated", "list", home.uid, old={"archived": True}, new={"archived": False})
    _refuse_same_key(tx, home.id, op.key)
    waiting_on = _held_up(tx, op.depends_on) if op.depends_on else 0
    task = _new_task(tx, op, home, rank, waiting_on + is_held, is_held=is_held)
    if given:
        task = _replace(task, **given)
    if task.status == "done":
        from tui_tasks.core.rules.jobs import check_steps  # for what is reported done alone

        check_steps.refuse_unproven(tx, task, home, is_new=True)
    tx.first_touch(task.uid)
    tx.emit("task.created", "task", task.uid, new=as_columns(task), task=task)
    if task.status == "done":
        check_steps.begin(tx, task, home)
    _remember(tx, task)
    return _with_short_rank(tx, task)


def _with_short_rank(tx: Transaction, task: Task) -> Task:
    """Return a task that has been given its place, after giving it and its neighbours new ranks if its own is long."""
    if len(task.rank) <= MOST_CHARS:
        return task
    from tui_tasks.core.commit import rebalancing

    return rebalancing.rebalanced(tx, task)


def _held_up(tx: Transaction, depends_on: Iterable[str]) -> int:
    """Return how many of these dependencies hold a new task up."""
    statuses = {on: queries.status(tx.db, on) for on in depends_on}
    for on, status in statuses.items():
        if status is None:
            told = f"no task {on}: it takes the id of a task of this call, or of one that is there"
            raise InvalidArgument("depends_on", told, id=on)
    return _holding(statuses.values())


def _new_task(tx: Transaction, op: AddTask, home: TaskList, rank: str, waiting_on: int, *, is_held: bool) -> Task:
    return Task(
        id=tx.state_cache.next_id("task"),
        uid=tx.new_uid(),
        list_id=home.id,
        rank=rank,
        key=op.key,
        name=op.name,
        description=op.description,
        status=op.status,
        priority=op.priority,
        tags=op.tags,
        domain=op.domain,
        result=op.result,
        metadata=op.metadata,
        agent=op.agent,
        intent=op.intent,
        depends_on=tuple(dict.fromkeys(op.depends_on)),
        node_ids=(),
        version=1,
        created_at=tx.now,
        created_by=tx.actor,
        updated_at=tx.now,
        updated_by=tx.actor,
        started_at=tx.now if op.status == "in_progress" else None,
        finished_at=tx.now if op.status in vocab.CLOSED else None,
        deleted=False,
        solo=home.one_in_progress,
        waiting_on=waiting_on,
        claimed_by=None,
        fenced=(),
        held=is_held,
        **op.fields,
    )


def _refuse_same_key(tx: Transaction, list_id: int, key: str | None) -> None:
    """Refuse a caller's own id that another task of the list has (docs: protocol, section 6, `todo`)."""
    if key is not None and (same := queries.task_by_key(tx.db, list_id, key)):
        raise Conflict(f"{key!r} is {named(tx.db, same)} of this list already", id=same.uid)


def _holding(statuses: Iterable[str | None]) -> int:
    """Return how many dependencies with these statuses hold a task up; a deleted one does not."""
    return sum(status is not None and status not in vocab.RELEASING for status in statuses)


def _new_place(tx: Transaction, list_uid: str, before: str | None, after: str | None) -> tuple[TaskList, str]:
    beside = before or after
    if beside is None:
        home = tx.state_cache.list_by_uid(list_uid)
        return home, between(tx.state_cache.last_rank(home.id), None)
    other = queries.task(tx.db, beside)
    neighbour = queries.rank_beside(tx.db, other.list_id, other.rank, after=before is None)
    rank = between(neighbour, other.rank) if before else between(other.rank, neighbour)
    return tx.state_cache.list_by_id(other.list_id), rank


def change_task(tx: Transaction, task: Task, kind: str, changes: dict[str, Any]) -> Task:
    """Set fields of a task, with the bookkeeping that goes with them. Fields that are equal already are left out."""
    new = {name: value for name, value in changes.items() if not _same(name, getattr(task, name), value)}
    if not new:
        return task
    held.refuse_change(tx, task, new)
    if "status" in new and task.decline_reason is not None:
        new.setdefault("decline_reason", None)
    if tx.first_touch(task.uid):
        new["version"] = task.version + 1
    new |= {"updated_at": tx.now, "updated_by": tx.actor}
    if "status" in new:
        # An undo sets the old instants itself.
        new |= {name: changes.get(name, at) for name, at in _instants(task, new["status"], tx.now).items()}
    if "depends_on" in new:
        refuse_cycle(tx, task.uid, new["depends_on"])
    if "list_id" in new:
        _refuse_same_key(tx, new["list_id"], task.key)
    was_claimed = task.claimed_by is not None and "claimed_by" not in new
    ends = new.get("status", "in_progress") != "in_progress" or new.get("deleted", False)
    if was_claimed and ends:
        new["claimed_by"] = None
        if tx.actor != task.claimed_by:
            # The holder of the claim has not heard of the change yet.
            new["fenced"] = (*task.fenced, task.claimed_by)
    changed = _replace(task, **new)
    home = tx.state_cache.list_by_id(changed.list_id)
    is_reported = changed.status == "done" and ("status" in new or "list_id" in new)
    if is_reported and not changed.deleted:
        from tui_tasks.core.rules.jobs import check_steps

        check_steps.refuse_unproven(tx, changed, home)
    if "depends_on" in new:
        statuses = [queries.status(tx.db, on) for on in dict.fromkeys(new["depends_on"])]
        changed = _replace(changed, waiting_on=_holding(statuses) + changed.held)
    elif "held" in new:
        changed = _replace(changed, waiting_on=task.waiting_on - task.held + changed.held)
    tx.emit(kind, "task", task.uid, old={name: getattr(task, name) for name in new}, new=new, task=changed)
    if is_reported and not changed.deleted:
        check_steps.begin(tx, changed, home)
    if was_claimed and ends:
        _end_claim(tx, changed)
    if "status" in new or "result" in new:
        _remember(tx, changed)
    return changed if changed.deleted or "rank" not in new else _with_short_rank(tx, changed)


def _same(name: str, old: Any, new: Any) -> bool:
    # True equals 1 in Python, but not in JSON.
    return bool(old == new) and (name not in ("result", "metadata", "content") or _encode(old) == _encode(new))


def _instants(task: Task, status: str, now: int) -> dict[str, Any]:
    if status == "in_progress":
        return {"started_at": now, "finished_at": None}
    if status in vocab.CLOSED:
        return {"finished_at": now}
    return {"started_at": None, "finished_at": None}


def _end_claim(tx: Transaction, task: Task) -> None:
    """End the claim of a task that is finished, given back or deleted (docs: protocol, section 7)."""
    claim = claims.of_task(tx.db, task.uid)
    if claim is not None:
        state = "finished" if task.status in vocab.CLOSED else "released"
        tx.emit(f"claim.{state}", "claim", claim.uid, old={"state": claim.state}, new={"state": state}, task=task)


@rule(EditTask)
def edit_task(tx: Transaction, op: EditTask) -> Task:
    """Set fields of a task."""
    task = writable(tx, op.uid)
    if "checks" in op.changes and tx.actor != vocab.HUMAN:
        raise Forbidden("a task's checks are given and taken by the human alone")
    refuse_bad_edit(tx, task, op.changes)
    if op.changes.get("status") == "in_progress" and task.status != "in_progress":
        refuse_second_in_progress(tx, tx.state_cache.list_by_id(task.list_id))
    changed = change_task(tx, task, "task.updated", op.changes)
    tell_agent(tx, task, op.changes)
    return changed


def refuse_bad_edit(tx: Transaction, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse texts that are too long, and dependencies that do not exist.

    Raises:
        InvalidArgument: a text is too long.
        NotFound: there is no such task.
    """
    # A text that it has already may be older than the limits, and stays.
    refuse_too_long({name: value for name, value in changes.items() if value != getattr(task, name)})
    for on in changes.get("depends_on", ()):
        if on not in task.depends_on:
            queries.task(tx.db, on)


def refuse_cycle(tx: Transaction, uid: str, depends_on: tuple[str, ...]) -> None:
    """Refuse dependencies that lead back to the task itself."""
    seen: set[str] = set()
    ahead = list(depends_on)
    while ahead:
        on = ahead.pop()
        if on == uid:
            raise InvalidArgument("depends_on", "the task would wait for itself", id=uid)
        if on not in seen:
            seen.add(on)
            ahead += queries.depends_on(tx.db, on)


def _remember(tx: Transaction, task: Task) -> None:
    """Save the result of a completed task as a memory (seed 001; docs: protocol, section 6, `task`)."""
    if task.status != "done" or task.result is None:
        return
    known = records.any_memory_of(tx.db, task.uid)
    new = {"title": task.name, "domain": task.domain, "content": task.result}
    if known is None:
        made = Memory(
            id=tx.state_cache.next_id("memory"),
            uid=tx.new_uid(),
            task_uid=task.uid,
            created_at=tx.now,
            updated_at=tx.now,
            deleted=False,
            **new,
        )
        tx.emit("memory.saved", "memory", made.uid, new=as_columns(made), task=task)
    elif known.deleted or any(not _same(name, getattr(known, name), value) for name, value in new.items()):
        new |= {"updated_at": tx.now, "deleted": False}
        tx.emit("memory.saved", "memory", known.uid, old={n: getattr(known, n) for n in new}, new=new, task=task)


@rule(MoveTask)
def move_task(tx: Transaction, op: MoveTask) -> Task:
    """Put a task at another place."""
    task = writable(tx, op.uid)
    if op.uid in (op.before, op.after):
        return task
    home, rank = _new_place(tx, op.list_uid or "", op.before, op.after)
    if home.id != task.list_id:
        if held.holds_new(tx, home):
            raise Conflict(f"what agents put into {home.name} waits for the human: add it there", held=True, id=op.uid)
        if task.status == "in_progress":
            refuse_second_in_progress(tx, home)
    return change_task(tx, task, "task.moved", {"list_id": home.id, "rank": rank})


@rule(SwapTasks)
def swap_tasks(tx: Transaction, op: SwapTasks) -> tuple[Task, Task]:
    """Swap two tasks of one list; those of different lists are refused (docs: protocol, section 6, `tasklist`)."""
    one, two = writable(tx, op.uid1), writable(tx, op.uid2)
    if one.list_id != two.list_id:
        raise InvalidArgument("uid2", "the two tasks are in different lists", id=op.uid2)
    if one.uid != two.uid:
        ranks = one.rank, two.rank
        one = change_task(tx, one, "task.moved", {"rank": ranks[1]})
        two = change_task(tx, two, "task.moved", {"rank": ranks[0]})
    return (one, two) if one.rank <= two.rank else (two, one)


@rule(DeleteTask)
def delete_task(tx: Transaction, op: DeleteTask) -> Task:
    """Delete a task. Its row stays, so that an undo restores it whole."""
    task = writable(tx, op.uid)
    change_task(tx, task, "task.deleted", {"deleted": True})
    tell_agent(tx, task, None)
    return task


@rule(ClearList)
def clear_list(tx: Transaction, op: ClearList) -> int:
    """Delete the tasks that a list had when this began, in steps, but those that are to be kept.

    Held tasks of other agents stay.
    """
    home = queries.list_by_uid(tx.db, op.list_uid)
    ids = queries.ids_of_list(tx.db, home.id)
    for number in ids:
        # Refuse before the first step is committed, which others would see.
        if queries.is_claimed(tx.db, number) and (claimed := queries.task_by_id(tx.db, number)).uid not in op.keep:
            _refuse_claimed(tx, claimed)
        tx.pause()
    count = 0
    for number in ids:
        task = queries.task_by_id(tx.db, number)
        is_there = not task.deleted and task.list_id == home.id
        if is_there and task.uid not in op.keep and held.may_delete(tx, task):
            _refuse_claimed(tx, task)
            change_task(tx, task, "task.deleted", {"deleted": True})
            count += 1
        tx.pause()
    return count


def touched(tx: Transaction, task: Task) -> Task:
    """Return the task as it is after a change to a row beside it, such as a log entry."""
    version = task.version + 1 if tx.first_touch(task.uid) else task.version
    return _replace(task, version=version, updated_at=tx.now, updated_by=tx.actor)


@rule(LogTask)
def log_task(tx: Transaction, op: LogTask) -> LogEntry:
    """Add a log entry; a note of `tasks` is one, too (docs: protocol, section 4)."""
    refuse_too_long({"message": op.message})
    task = touched(tx, writable(tx, op.uid))
    entry = LogEntry(
        id=tx.state_cache.next_id("log"),
        uid=tx.new_uid(),
        task_uid=task.uid,
        at=tx.now,
        agent=tx.actor,
        message=op.message,
        deleted=False,
    )
    tx.emit("task.logged", "log", entry.uid, new=as_columns(entry), task=task)
    return entry


@rule(LinkNodes)
def link_nodes(tx: Transaction, op: LinkNodes) -> Task:
    """Link a task to graph nodes, beside those that it is linked to."""
    task = writable(tx, op.uid)
    nodes = tuple(dict.fromkeys((*task.node_ids, *op.node_ids)))
    return change_task(tx, task, "task.linked", {"node_ids": nodes})


@rule(SaveState)
def save_state(tx: Transaction, op: SaveState) -> SavedState:
    """Save what resuming a task needs; a field left out keeps its last value (docs: protocol, section 6, `tasks`)."""
    task = writable(tx, op.uid)
    known = records.any_state(tx.db, task.uid)
    if known is None or known.deleted:
        empty = SavedState(task.uid, op.agent, None, (), (), (), (), (), None, saved_at=tx.now, deleted=False)
        saved = _replace(empty, **op.fields)
    else:
        saved = _replace(known, **op.fields, agent=op.agent, saved_at=tx.now)
    if known is None:
        tx.emit("state.saved", "state", task.uid, new=as_columns(saved), task=touched(tx, task))
        return saved
    new = {name: value for name, value in as_columns(saved).items() if _encode(value) != _encode(getattr(known, name))}
    if new.keys() - {"saved_at"}:
        old = {name: getattr(known, name) for name in new}
        tx.emit("state.saved", "state", task.uid, old=old, new=new, task=touched(tx, task))
    return saved if new.keys() - {"saved_at"} else known


def require_task(tx: Transaction, uid: str) -> Task:
    """Return the task of an operation that changes no field of it."""
    return queries.task(tx.db, uid)
