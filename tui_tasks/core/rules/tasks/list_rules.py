"""Lists and plans, and the places of tasks in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound
from tui_tasks.core.operations.tasks import (
    ArchiveList,
    ClearList,
    CreatePlan,
    DeleteList,
    DeletePlan,
    EnsureList,
    MoveTask,
    OrderTasks,
    RenameList,
    SetListRule,
    SwapTasks,
)
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks import held_rules
from tui_tasks.core.rules.tasks.task_rules import change_task, new_place, refuse_claimed, unarchive, writable
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(EnsureList)
def ensure_list(tx: Transaction, op: EnsureList) -> TaskList:
    """Make a list where there is none of that name. One made by `tasklist` holds at most one task in progress for each
    agent (docs: protocol, section 5).
    """
    task_list = task_queries.find_list(tx.db, op.name)
    if task_list is None:
        refuse_too_long({"name": op.name})
        solo = op.origin == "tasklist"
        project = _project_of_new(op.name, op.project)
        task_list = make_list(tx, "list", op.name, origin=op.origin, one_in_progress=solo, project=project)
    return task_list


def _project_of_new(name: str, project: str | None) -> str | None:
    """Return the project of a new list: that of its maker. The names of dialects' own lists name their project."""
    prefix, _, own = name.rpartition("/")
    if own in vocab.DIALECT_LISTS and "/" not in prefix:
        return prefix or None
    return project


@rule(CreatePlan)
def create_plan(tx: Transaction, op: CreatePlan) -> TaskList:
    """Make a plan of `tasks`, a list of its own (docs: protocol, section 5)."""
    refuse_too_long({"title": op.title, "description": op.description})
    return make_list(tx, "plan", op.title, op.description, op.agent, origin="tasks", project=op.project)


def make_list(
    tx: Transaction,
    kind: str,
    name: str,
    description: str = "",
    agent: str | None = None,
    *,
    origin: str,
    one_in_progress: bool = False,
    project: str | None = None,
    uid: str | None = None,
) -> TaskList:
    """Make a list or a plan, under a uid of its own where none is given."""
    made = TaskList(
        id=tx.state_cache.next_id("list"),
        uid=uid or tx.new_uid(),
        kind=kind,
        name=name,
        description=description,
        agent=agent,
        origin=origin,
        one_in_progress=one_in_progress,
        project=project,
        created_at=tx.now,
        deleted=False,
        pending=0,
        in_progress=0,
        done=0,
        failed=0,
        skipped=0,
        cancelled=0,
    )
    tx.emit("list.created", "list", made.uid, new={name: getattr(made, name) for name in made.__struct_fields__})
    return made


@rule(SetListRule)
def set_list_rule(tx: Transaction, op: SetListRule) -> TaskList:
    """Switch a list's rule of one task in progress for each agent (docs: protocol, section 5); the list must meet it
    already.
    """
    task_list = task_queries.list_by_uid(tx.db, op.uid)
    if task_list.one_in_progress == op.one_in_progress:
        return task_list
    if op.one_in_progress:
        refuse_several_in_progress(tx, task_list)
    tx.emit(
        "list.updated",
        "list",
        task_list.uid,
        old={"one_in_progress": task_list.one_in_progress},
        new={"one_in_progress": op.one_in_progress},
    )
    return task_queries.list_by_uid(tx.db, op.uid)


def refuse_several_in_progress(tx: Transaction, home: TaskList) -> None:
    """Refuse the rule of one task in progress for each agent where an agent has several.

    Raises:
        Conflict: an agent has.
    """
    whose = task_queries.who_has_several_in_progress(tx.db, home.id)
    if whose is None:
        return
    first = task_queries.in_progress_for(tx.db, home.id, whose)
    assert first is not None
    second = task_queries.in_progress_for(tx.db, home.id, whose, but=first.uid)
    assert second is not None
    raise Conflict(
        f"{named(first)} and {named(second)} of {home.name} are both in progress for {whose}",
        in_progress=first.uid,
    )


@rule(RenameList)
def rename_list(tx: Transaction, op: RenameList) -> TaskList:
    """Rename a list or plan. Agents name a list by its name, which must be unique, and a plan by its id."""
    task_list = _changeable(tx, op.uid, "renamed")
    name = op.name.strip()
    if not name or len(name) > vocab.MAX_NAME:
        raise InvalidArgument("name", f"the name of a list holds 1 to {vocab.MAX_NAME:,} characters")
    if name == task_list.name:
        return task_list
    refuse_taken_name(tx, task_list, name)
    tx.emit("list.updated", "list", task_list.uid, old={"name": task_list.name}, new={"name": name})
    return task_queries.list_by_uid(tx.db, op.uid)


def refuse_taken_name(tx: Transaction, home: TaskList, name: str) -> None:
    """Refuse a list's name that another list has. Plans may have the same title."""
    other = task_queries.find_list(tx.db, name) if home.kind == "list" else None
    if other is not None and other.uid != home.uid:
        raise Conflict(f"{name} is another list", id=other.uid)


@rule(ArchiveList)
def archive_list(tx: Transaction, op: ArchiveList) -> TaskList:
    """Archive a list: its tasks are handed out only where the list is named. A new task in it brings it back."""
    _refuse_agents(tx)
    task_list = task_queries.list_by_uid(tx.db, op.uid)
    if task_list.archived != op.archived:
        tx.emit("list.updated", "list", op.uid, old={"archived": task_list.archived}, new={"archived": op.archived})
    return task_queries.list_by_uid(tx.db, op.uid)


@rule(DeleteList)
def delete_list(tx: Transaction, op: DeleteList) -> TaskList:
    """Delete a list by marking its row, at which reads of its tasks look: a million tasks cost no more than ten."""
    task_list = _changeable(tx, op.uid, "deleted")
    tx.emit("list.deleted", "list", task_list.uid, old={"deleted": False}, new={"deleted": True})
    return task_list


@rule(DeletePlan)
def delete_plan(tx: Transaction, op: DeletePlan) -> TaskList:
    """Delete a plan, as `delete_list` does; an agent may, too.

    Raises:
        NotFound: there is no such plan.
        Conflict: another agent has claimed one of its tasks, or one that another has filed waits for the human.
    """
    task_list = task_queries.list_by_uid(tx.db, op.uid, "plan")
    if task_list.kind != "plan":
        raise NotFound("plan", op.uid)
    for task in task_queries.claimed_or_held(tx.db, task_list.id):
        refuse_claimed(tx, task)
        if not held_rules.may_delete(tx, task):
            raise Conflict(f"{named(task)} is held until the human accepts it", held=True, id=task.uid)
    tx.emit("list.deleted", "list", task_list.uid, old={"deleted": False}, new={"deleted": True})
    return task_list


def _refuse_agents(tx: Transaction) -> None:
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human renames, archives and deletes lists")


def _changeable(tx: Transaction, uid: str, done: str) -> TaskList:
    """Return the list if the speaker may rename, archive or delete it.

    Raises:
        Forbidden: the speaker is an agent.
        Conflict: a dialect works on it by its name, and would make it anew at its next write.
    """
    _refuse_agents(tx)
    task_list = task_queries.list_by_uid(tx.db, uid)
    if task_list.kind == "list" and task_list.name in vocab.DIALECT_LISTS:
        raise Conflict(f"{task_list.name} is the list of the tools of that name: it can't be {done}", id=uid)
    return task_list


@rule(ClearList)
def clear_list(tx: Transaction, op: ClearList) -> int:
    """Delete the tasks that a list had when this began, in steps, but those that are to be kept.

    Held tasks of other agents stay.
    """
    home = task_queries.list_by_uid(tx.db, op.list_uid)
    ids = task_queries.ids_of_list(tx.db, home.id)
    for number in ids:
        # Refuse before the first step is committed, which others would see.
        if (
            task_queries.is_claimed(tx.db, number)
            and (claimed := task_queries.task_by_id(tx.db, number)).uid not in op.keep
        ):
            refuse_claimed(tx, claimed)
        tx.pause()
    count = 0
    for number in ids:
        task = task_queries.task_by_id(tx.db, number)
        is_there = not task.deleted and task.list_id == home.id
        if is_there and task.uid not in op.keep and held_rules.may_delete(tx, task):
            refuse_claimed(tx, task)
            change_task(tx, task, "task.deleted", {"deleted": True})
            count += 1
        tx.pause()
    return count


@rule(MoveTask)
def move_task(tx: Transaction, op: MoveTask) -> Task:
    """Put a task at another place."""
    task = writable(tx, op.uid)
    if op.uid in (op.before, op.after):
        return task
    list_uid = tx.run(op.new_list).uid if op.new_list is not None else op.list_uid or ""
    home, rank = new_place(tx, list_uid, op.before, op.after)
    if home.id != task.list_id:
        if held_rules.holds_new(tx, home):
            raise Conflict(f"new tasks of agents in {home.name} wait for the human: add it there", held=True, id=op.uid)
        unarchive(tx, home)
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


@rule(OrderTasks)
def order_tasks(tx: Transaction, op: OrderTasks) -> None:
    """Put tasks in an order. The longest run that is in order already stays; each other task goes right behind the one
    before it.
    """
    stay = _longest_run([task_queries.task(tx.db, uid).rank for uid in op.uids])
    for at, uid in enumerate(op.uids):
        if at in stay:
            continue
        move = MoveTask(uid, after=op.uids[at - 1]) if at else MoveTask(uid, before=op.uids[min(stay)])
        move_task(tx, move)


def _longest_run(ranks: Sequence[str]) -> set[int]:
    """Return the indexes of the longest run of rising ranks, which need not be next to each other."""
    # ends[n] is where the run of n + 1 ends whose last rank is the least; before[at] is what it goes on from.
    ends: list[int] = []
    before: list[int | None] = []
    for at, rank in enumerate(ranks):
        length = bisect_left(ends, rank, key=ranks.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [at]
    run: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        run.add(last)
        last = before[last]
    return run
