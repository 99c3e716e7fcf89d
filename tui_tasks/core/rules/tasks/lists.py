"""Lists and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations.lists import (
    ArchiveList,
    ClearList,
    CreatePlan,
    DeleteList,
    EnsureList,
    RenameList,
    SetListRule,
)
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.limits import refuse_too_long
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks import held
from tui_tasks.core.rules.tasks.tasks import change_task, refuse_claimed
from tui_tasks.core.snapshots import TaskList

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(EnsureList)
def ensure_list(tx: Transaction, op: EnsureList) -> TaskList:
    """Make a list where there is none of that name. One made by `tasklist` holds at most one task in progress (docs:
    protocol, section 5).
    """
    found = queries.find_list(tx.db, op.name)
    if found is None:
        refuse_too_long({"name": op.name})
        solo = op.origin == "tasklist"
        found = make_list(tx, "list", op.name, origin=op.origin, one_in_progress=solo, project=op.project)
    return found


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
    """Switch a list's rule of one task in progress (docs: protocol, section 5); the list must meet it already."""
    found = queries.list_by_uid(tx.db, op.uid)
    if found.one_in_progress == op.one_in_progress:
        return found
    if op.one_in_progress and found.in_progress > 1:
        raise Conflict(f"{found.in_progress} tasks of {found.name} are in progress", in_progress=found.in_progress)
    tx.emit(
        "list.updated",
        "list",
        found.uid,
        old={"one_in_progress": found.one_in_progress},
        new={"one_in_progress": op.one_in_progress},
    )
    return queries.list_by_uid(tx.db, op.uid)


@rule(RenameList)
def rename_list(tx: Transaction, op: RenameList) -> TaskList:
    """Rename a list or plan. Agents name a list by its name, which must be unique, and a plan by its id."""
    found = _changeable(tx, op.uid, "renamed")
    name = op.name.strip()
    if not name or len(name) > vocab.MAX_NAME:
        raise InvalidArgument("name", f"the name of a list holds 1 to {vocab.MAX_NAME:,} characters")
    if name == found.name:
        return found
    refuse_taken_name(tx, found, name)
    tx.emit("list.updated", "list", found.uid, old={"name": found.name}, new={"name": name})
    return queries.list_by_uid(tx.db, op.uid)


def refuse_taken_name(tx: Transaction, home: TaskList, name: str) -> None:
    """Refuse a list's name that another list has. Plans may have the same title."""
    other = queries.find_list(tx.db, name) if home.kind == "list" else None
    if other is not None and other.uid != home.uid:
        raise Conflict(f"{name} is another list", id=other.uid)


@rule(ArchiveList)
def archive_list(tx: Transaction, op: ArchiveList) -> TaskList:
    """Archive a list: its tasks are handed out only where the list is named. A new task in it brings it back."""
    _refuse_agents(tx, "archived")
    found = queries.list_by_uid(tx.db, op.uid)
    if found.archived != op.archived:
        tx.emit("list.updated", "list", op.uid, old={"archived": found.archived}, new={"archived": op.archived})
    return queries.list_by_uid(tx.db, op.uid)


@rule(DeleteList)
def delete_list(tx: Transaction, op: DeleteList) -> TaskList:
    """Delete a list by marking its row, at which reads of its tasks look: a million tasks cost no more than ten."""
    found = _changeable(tx, op.uid, "deleted")
    tx.emit("list.deleted", "list", found.uid, old={"deleted": False}, new={"deleted": True})
    return found


def _refuse_agents(tx: Transaction, done: str) -> None:
    if tx.actor != vocab.HUMAN:
        raise Forbidden(f"a list is {done} by the human alone")


def _changeable(tx: Transaction, uid: str, done: str) -> TaskList:
    """Return the list if the speaker may rename, archive or delete it.

    Raises:
        Forbidden: the speaker is an agent.
        Conflict: a dialect works on it by its name, and would make it anew at its next write.
    """
    _refuse_agents(tx, done)
    found = queries.list_by_uid(tx.db, uid)
    if found.kind == "list" and found.name in vocab.DIALECT_LISTS:
        raise Conflict(f"{found.name} is the list of the tools of that name: it can't be {done}", id=uid)
    return found


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
            refuse_claimed(tx, claimed)
        tx.pause()
    count = 0
    for number in ids:
        task = queries.task_by_id(tx.db, number)
        is_there = not task.deleted and task.list_id == home.id
        if is_there and task.uid not in op.keep and held.may_delete(tx, task):
            refuse_claimed(tx, task)
            change_task(tx, task, "task.deleted", {"deleted": True})
            count += 1
        tx.pause()
    return count
