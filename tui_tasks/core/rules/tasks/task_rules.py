"""Tasks: adding, changing and deleting them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit.rank import MAX_CHARS, between
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, StaleClaim
from tui_tasks.core.operations import AtVersion
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks import held_rules
from tui_tasks.core.snapshots import Task, TaskList, full_task
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode
# A change of one of these fields may put a second task in progress for an agent.
_MAY_BE_SECOND: Final = frozenset({"status", "agent", "list_id", "deleted"})
_NOTHING_GIVEN: Final[Mapping[str, Any]] = {}


def writable(tx: Transaction, uid: str) -> Task:
    """Return the task if the speaker may write to it (docs: protocol, section 7, `control:claim`).

    Raises:
        NotFound: there is no such task.
        Conflict: another agent has claimed it.
        StaleClaim: the speaker's own claim on it has lapsed, or was ended by the human.
    """
    task = task_queries.task(tx.db, uid)
    refuse_claimed(tx, task)
    return task


def refuse_claimed(tx: Transaction, task: Task) -> None:
    """Refuse a write to a task that the speaker may not write to, because of a claim (see `writable`).

    Raises:
        Conflict: another agent has claimed it.
        StaleClaim: the speaker's own claim on it has ended without its doing.
    """
    if tx.actor in (vocab.HUMAN, vocab.SYSTEM):
        return
    uid = task.uid
    if tx.actor in task.fenced:
        raise StaleClaim(f"your claim on {named(task)} has lapsed or was ended: claim it again", id=uid)
    if task.claimed_by is not None and task.claimed_by != tx.actor:
        raise Conflict(f"{task.claimed_by} has claimed {named(task)}", claimed_by=task.claimed_by, id=uid)


@rule(AtVersion)
def at_version(tx: Transaction, op: AtVersion) -> Task:
    """Refuse to go on unless the task is at that version (docs: protocol, section 2, `if_version`)."""
    task = task_queries.task(tx.db, op.uid)
    if task.version != op.version:
        raise Conflict(
            f"{named(task)} is at version {task.version}, not {op.version}",
            version=task.version,
            task=_full(tx, task),
        )
    return task


def _full(tx: Transaction, task: Task) -> dict[str, Any]:
    home = tx.state_cache.list_by_id(task.list_id)
    checks = [check.to_json() for check in tx.state_cache.checks_of(task, home)]
    return full_task(task, home.handle, checks, tx.state_cache.works_of(task.uid))


def refuse_second_in_progress(tx: Transaction, home: TaskList, task: Task) -> None:
    """Refuse a task as an agent's second one in progress, in a list that allows one (docs: protocol, section 5).

    Raises:
        Conflict: another task of the list is in progress for the agent.
    """
    if not home.one_in_progress:
        return
    whose = task.who
    first = task_queries.in_progress_for(tx.db, home.id, whose, but=task.uid)
    if first is not None:
        raise Conflict(
            f"{named(first)} of {home.name} is in progress already for {whose}, and the list takes one at a "
            f"time for each agent: first set #{first.number} done, failed, skipped or pending",
            in_progress=first.uid,
        )


@rule(AddTask)
def add_task(tx: Transaction, op: AddTask) -> Task:
    """Add a task at its place."""
    list_uid = tx.run(op.new_list).uid if op.new_list is not None else op.list_uid
    home, rank = new_place(tx, list_uid, op.before, op.after)
    return make_task(tx, op, home, rank)


def unarchive(tx: Transaction, home: TaskList) -> None:
    """Bring back a list that is archived, so that the task that comes to it is seen."""
    if home.archived:
        tx.emit("list.updated", "list", home.uid, old={"archived": True}, new={"archived": False})


def make_task(
    tx: Transaction, op: AddTask, home: TaskList, rank: str, given: Mapping[str, Any] = _NOTHING_GIVEN
) -> Task:
    """Make a task at a place. `given` are fields that no operation of an agent sets: its uid, its instants."""
    refuse_too_long({"name": op.name, "description": op.description})
    is_held = held_rules.holds_new(tx, home)
    if is_held:
        held_rules.refuse_new(tx, op.status)
    unarchive(tx, home)
    if op.key is not None:
        _refuse_same_key(tx, home.id, op.key)
    waiting_on = _waiting_on_of_new(tx, op.depends_on) if op.depends_on else 0
    task = _new_task(tx, op, home, rank, waiting_on + is_held, is_held=is_held)
    if given:
        task = _replace(task, **given)
    if task.status == "in_progress":
        refuse_second_in_progress(tx, home, task)
    if task.status == "done":
        from tui_tasks.core.rules import check_gate  # for what is reported done alone

        check_gate.refuse_unproven(tx, task, home, None)
    tx.first_touch(task.uid)
    tx.emit_new_task(task, home)
    if task.status == "done":
        check_gate.begin(tx, task, home)
        _remember_result(tx, task)
    return _with_short_rank(tx, task)


def _with_short_rank(tx: Transaction, task: Task) -> Task:
    """Return a task that has been given its place, after giving it and its neighbours new ranks if its own is long."""
    if len(task.rank) <= MAX_CHARS:
        return task
    from tui_tasks.core.commit import rebalancing  # few ranks grow long

    return rebalancing.rebalanced(tx, task)


def _waiting_on_of_new(tx: Transaction, depends_on: Iterable[str]) -> int:
    """Return how many of these dependencies block a new task.

    Raises:
        InvalidArgument: there is no task with one of these uids.
    """
    statuses = {on: task_queries.status(tx.db, on) for on in depends_on}
    for on, status in statuses.items():
        if status is None:
            problem = f"no task {on}: use the id of a task of this call, or of an existing one"
            raise InvalidArgument("depends_on", problem, id=on)
    return _count_blocking(statuses.values())


def _new_task(tx: Transaction, op: AddTask, home: TaskList, rank: str, waiting_on: int, *, is_held: bool) -> Task:
    depends_on = tuple(dict.fromkeys(op.depends_on)) if op.depends_on else ()
    # The first by position: the struct searches for each keyword, which takes as long as all the rest.
    task = Task(
        tx.state_cache.next_id("task"),
        tx.new_uid(),
        home.id,
        rank,
        op.name,
        op.status,
        op.priority,
        1,
        tx.now,
        tx.actor,
        tx.now,
        tx.actor,
        op.key,
        op.description,
        op.tags,
        op.domain,
        op.result,
        op.metadata,
        op.agent,
        op.intent,
        depends_on,
        started_at=tx.now if op.status == "in_progress" else None,
        finished_at=tx.now if op.status in vocab.CLOSED else None,
        solo=home.one_in_progress,
        waiting_on=waiting_on,
        held=is_held,
        status_by=None if op.status == "pending" else tx.actor,
    )
    # Most have none: among the other arguments, even an empty dictionary would double their time.
    return _replace(task, **op.fields) if op.fields else task


def _refuse_same_key(tx: Transaction, list_id: int, key: str) -> None:
    """Refuse a caller's own id that another task of the list has (docs: protocol, section 6, `todo`).

    Raises:
        Conflict: another task has it.
    """
    if same := task_queries.task_by_key(tx.db, list_id, key):
        raise Conflict(f"{key!r} is {named(same)} of this list already", id=same.uid)


def _count_blocking(statuses: Iterable[str | None]) -> int:
    """Return how many dependencies with these statuses block a task; a deleted one (None) does not."""
    return sum(status is not None and vocab.blocks_dependents(status, deleted=False) for status in statuses)


def new_place(tx: Transaction, list_uid: str, before: str | None, after: str | None) -> tuple[TaskList, str]:
    """Return the list and the rank of a task that is put right before or after another one, else to the list's end.

    Raises:
        NotFound: there is no such list or task.
    """
    beside = before or after
    if beside is None:
        home = tx.state_cache.list_by_uid(list_uid)
        return home, between(tx.state_cache.last_rank(home.id), None)
    other = task_queries.task(tx.db, beside)
    neighbour = task_queries.rank_beside(tx.db, other.list_id, other.rank, after=before is None)
    rank = between(neighbour, other.rank) if before else between(other.rank, neighbour)
    return tx.state_cache.list_by_id(other.list_id), rank


def change_task(tx: Transaction, task: Task, kind: str, changes: dict[str, Any]) -> Task:
    """Set fields of a task, and those that follow from them. Fields that are equal already are left out.

    Raises:
        Conflict: the task is held or was declined, its key is taken in its new list, its checks have not passed, or
            another is in progress for its agent.
        InvalidArgument: it would depend on itself.
    """
    new = {name: value for name, value in changes.items() if not is_same(name, getattr(task, name), value)}
    held_rules.follow_acceptance(tx, task, new)
    if not new:
        return task
    held_rules.refuse_change(tx, task, new)
    _set_bookkeeping(tx, task, changes, new)
    if "depends_on" in new:
        refuse_cycle(tx, task.uid, new["depends_on"])
    if "list_id" in new and task.key is not None:
        _refuse_same_key(tx, new["list_id"], task.key)
    ends_claim = _clear_claim(tx, task, new)
    changed = _replace(task, **new, waiting_on=_waiting_on(tx, task, new))
    is_reported = changed.status == "done" and not changed.deleted and ("status" in new or "list_id" in new)
    home = tx.state_cache.list_by_id(changed.list_id)
    if changed.status == "in_progress" and not changed.deleted and not _MAY_BE_SECOND.isdisjoint(new):
        refuse_second_in_progress(tx, home, changed)
    if is_reported:
        from tui_tasks.core.rules import check_gate

        check_gate.refuse_unproven(tx, changed, home, task)
    tx.emit(kind, "task", task.uid, old={name: getattr(task, name) for name in new}, new=new, task=changed)
    if is_reported:
        check_gate.begin(tx, changed, home)
    if ends_claim:
        from tui_tasks.core.rules.tasks import claim_rules  # for tasks that are claimed alone

        claim_rules.end_claim(tx, changed)
    if changed.status == "done" and ("status" in new or "result" in new):
        _remember_result(tx, changed)
    if "status" in new and tx.state_cache.has_work:
        from tui_tasks.core.rules import work_rules  # for databases with work alone

        work_rules.follow_status(tx, changed)
    return changed if changed.deleted or "rank" not in new else _with_short_rank(tx, changed)


def _set_bookkeeping(tx: Transaction, task: Task, changes: Mapping[str, Any], new: dict[str, Any]) -> None:
    """Add to the new values of a task its version and author, and what a new status brings with it."""
    if "status" in new and task.decline_reason is not None:
        new.setdefault("decline_reason", None)
    if tx.first_touch(task.uid):
        new["version"] = task.version + 1
    new |= {"updated_at": tx.now, "updated_by": tx.actor}
    # Only an import sets these.
    new |= {name: changes[name] for name in ("version", "updated_at") if name in changes}
    if "status" in new:
        # An undo sets the old values itself.
        set_with_it = {**_instants(new["status"], tx.now), "status_by": tx.actor}
        new |= {name: changes.get(name, value) for name, value in set_with_it.items()}
    if tx.state_cache.has_work and (new.get("deleted") or new.get("status") in vocab.CLOSED):
        from tui_tasks.core.rules import work_rules  # for databases with work alone

        if tx.is_persons_shell and work_rules.has_failed_work(tx, task):
            new["status_by"] = vocab.HUMAN


def _clear_claim(tx: Transaction, task: Task, new: dict[str, Any]) -> bool:
    """Take the claim from a task that its new values delete or end; return whether they do."""
    if task.claimed_by is None or "claimed_by" in new:
        return False
    if new.get("status", "in_progress") == "in_progress" and not new.get("deleted", False):
        return False
    new["claimed_by"] = None
    if tx.actor != task.claimed_by:
        # The holder of the claim has not heard of the change yet.
        new["fenced"] = (*task.fenced, task.claimed_by)
    return True


def _waiting_on(tx: Transaction, task: Task, new: Mapping[str, Any]) -> int:
    """Return how many dependencies block a task with these new values, plus one while it is held."""
    is_held = new.get("held", task.held)
    if "depends_on" not in new:
        return int(task.waiting_on - task.held + is_held)
    return _count_blocking(task_queries.status(tx.db, on) for on in dict.fromkeys(new["depends_on"])) + int(is_held)


def is_same(name: str, old: Any, new: Any) -> bool:
    """Return whether two values of a field are the same as JSON."""
    # True equals 1 in Python, but not in JSON.
    return bool(old == new) and (name not in ("result", "metadata", "content") or _encode(old) == _encode(new))


def _instants(status: str, now: int) -> dict[str, Any]:
    """Return the instants of start and end that a new status sets, in microseconds; None: it has none."""
    if status == "in_progress":
        return {"started_at": now, "finished_at": None}
    if status in vocab.CLOSED:
        return {"finished_at": now}
    return {"started_at": None, "finished_at": None}


@rule(EditTask)
def edit_task(tx: Transaction, op: EditTask) -> Task:
    """Set fields of a task."""
    task = writable(tx, op.uid)
    if "checks" in op.changes and tx.actor != vocab.HUMAN:
        raise Forbidden("only the human gives a task checks or removes them")
    refuse_bad_edit(tx, task, op.changes)
    changed = change_task(tx, task, "task.updated", op.changes)
    _tell_agent(tx, task, op.changes)
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
            task_queries.task(tx.db, on)


def refuse_cycle(tx: Transaction, uid: str, depends_on: tuple[str, ...]) -> None:
    """Refuse dependencies that lead back to the task itself.

    Raises:
        InvalidArgument: they do.
    """
    seen: set[str] = set()
    for first in depends_on:
        ahead = [first]
        while ahead:
            on = ahead.pop()
            if on == uid:
                raise InvalidArgument("depends_on", _cycle_text(tx, uid, first), id=uid)
            if on not in seen:
                seen.add(on)
                ahead += task_queries.depends_on(tx.db, on)


def _cycle_text(tx: Transaction, uid: str, first: str) -> str:
    other, task = (task_queries.any_task(tx.db, each) for each in (first, uid))
    if first == uid or other is None or task is None:
        return "the task would wait for itself"
    return f"#{other.number} already waits for #{task.number}: both would wait for ever"


@rule(DeleteTask)
def delete_task(tx: Transaction, op: DeleteTask) -> Task:
    """Delete a task. Its row stays, so that an undo restores it whole."""
    task = writable(tx, op.uid)
    change_task(tx, task, "task.deleted", {"deleted": True})
    _tell_agent(tx, task, None)
    return task


def _tell_agent(tx: Transaction, task: Task, changes: Mapping[str, Any] | None) -> None:
    """Send a program what the human has changed of its own list; `changes` of None: the task was deleted."""
    if tx.actor == vocab.HUMAN and task.is_of_session:
        # Imported for such tasks alone, which few lists hold.
        from tui_tasks.core.rules.agents.session_tasks import tell_agent

        tell_agent(tx, task, changes)


def _remember_result(tx: Transaction, task: Task) -> None:
    if task.result is not None:
        from tui_tasks.core.rules.tasks import record_rules  # few tasks have a result

        record_rules.remember_result(tx, task)
