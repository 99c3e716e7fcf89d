"""Importing tasks from a file: its lists, tasks and log entries, under the ids that the file gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from tui_tasks.core import agent_names
from tui_tasks.core.commit.rank import between, is_file_rank
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations.tasks import AddTask, ImportDeletion, ImportList, ImportLog, ImportTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks import held_rules
from tui_tasks.core.rules.tasks.list_rules import make_list
from tui_tasks.core.rules.tasks.record_rules import touched
from tui_tasks.core.rules.tasks.task_rules import change_task, make_task, refuse_bad_edit, refuse_claimed, writable
from tui_tasks.core.schema.record_tables import LogRow
from tui_tasks.core.schema.tables import ListRow
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_LIST_UID: Final = Statement(lambda: ListRow.select(ListRow.id).where(ListRow.uid == slot("uid")))
_LOG_UID: Final = Statement(lambda: LogRow.select(LogRow.id).where(LogRow.uid == slot("uid")))


@rule(ImportList)
def import_list(tx: Transaction, op: ImportList) -> TaskList:
    """Find or make the list of an import: a list by its name, a plan by its id. A uid that another list has is not
    taken.
    """
    if op.kind == "list":
        home = task_queries.find_list(tx.db, op.name)
        if home is not None and home.kind == "list":
            return _replaced(tx, op, home)
    is_known = tx.db.one(_LIST_UID, uid=op.uid) is not None
    if is_known and op.kind == "plan":
        return _replaced(tx, op, _plan(tx, op.uid))
    refuse_too_long({"name": op.name, "description": op.description})
    return make_list(
        tx,
        op.kind,
        op.name,
        op.description,
        op.agent,
        origin=op.origin,
        one_in_progress=op.one_in_progress,
        project=op.project,
        uid=None if is_known else op.uid,
    )


def _replaced(tx: Transaction, op: ImportList, task_list: TaskList) -> TaskList:
    """Give a list what the file says of it, if it is to replace that. A rule that the list does not meet is left."""
    if not op.replaces:
        return task_list
    refuse_too_long({"description": op.description})
    names = ("description", "agent", "origin", "one_in_progress")
    new = {name: getattr(op, name) for name in names if getattr(op, name) != getattr(task_list, name)}
    if new.get("one_in_progress") and task_queries.who_has_several_in_progress(tx.db, task_list.id) is not None:
        del new["one_in_progress"]
    if new:
        tx.emit("list.updated", "list", task_list.uid, old={name: getattr(task_list, name) for name in new}, new=new)
    return task_queries.any_list(tx.db, task_list.uid) if new else task_list


def _plan(tx: Transaction, uid: str) -> TaskList:
    """Return the plan of that id. One that was deleted is restored with its tasks."""
    home = task_queries.any_list(tx.db, uid)
    if home.kind != "plan":
        raise Conflict(f"{uid} is the list {home.name}, not a plan", id=uid)
    if home.deleted:
        tx.emit("list.restored", "list", uid, old={"deleted": True}, new={"deleted": False})
    return task_queries.any_list(tx.db, uid)


@rule(ImportTask)
def import_task(tx: Transaction, op: ImportTask) -> Task:
    """Make a task, or set the fields that the file has on the task with its uid. Other fields stay as they are."""
    home = tx.state_cache.list_by_uid(op.list_uid)
    task = task_queries.any_task(tx.db, op.uid)
    if task is None:
        return _make(tx, op, home)
    changes = _columns(op)
    if task.deleted or tx.state_cache.list_by_id(task.list_id).deleted:
        if task.key is not None and task_queries.task_by_key(tx.db, home.id, task.key):
            raise Conflict(f"{task.key!r} is another task of {home.name} by now", id=task.uid)
        if home.id != task.list_id:
            _refuse_where_held(tx, task, home)
        place = {"list_id": home.id, "rank": _rank(op) or _last(tx, home)}
        # With its new status at once: a task that is done by now takes up nobody's turn.
        back = {name: changes[name] for name in ("status", "agent") if name in changes}
        task = change_task(
            tx, task, "task.restored" if task.deleted else "task.moved", {"deleted": False} | place | back
        )
    task = writable(tx, task.uid)
    refuse_bad_edit(tx, task, changes)
    task = _placed(tx, op, home, task)
    return change_task(tx, task, "task.updated", changes | _changed(op))


@rule(ImportDeletion)
def import_deletion(tx: Transaction, op: ImportDeletion) -> Task:
    """Delete a task, with the version and the instant of its deletion elsewhere."""
    task = task_queries.any_task(tx.db, op.uid)
    if task is None:
        raise NotFound("task", op.uid)
    refuse_claimed(tx, task)
    return change_task(tx, task, "task.deleted", {"deleted": True} | _changed(op))


def _make(tx: Transaction, op: ImportTask, home: TaskList) -> Task:
    fields = dict(op.fields)
    nodes = tuple(fields.pop("node_ids", ()))
    own = {name: fields.pop(name) for name in FIELDS if name in fields}
    given = {"uid": op.uid, "node_ids": nodes} | {name: at for name, at in op.times.items() if at is not None}
    given |= _changed(op)
    rank = _rank(op) or _last(tx, home)
    if op.status_by is not None:
        given["status_by"] = op.status_by
    return make_task(tx, AddTask(list_uid=home.uid, fields=own, **fields), home, rank, given)


def _columns(op: ImportTask) -> dict[str, Any]:
    """Return the columns that the file sets on an existing task. Its key stays: callers know the task by it."""
    changes = {name: value for name, value in op.fields.items() if name != "key"}
    changes |= {name: at for name, at in op.times.items() if name != "created_at"}
    return changes if op.status_by is None else changes | {"status_by": op.status_by}


def _changed(op: ImportTask | ImportDeletion) -> dict[str, int]:
    return {} if op.changed is None else {"version": op.changed[0], "updated_at": op.changed[1]}


def _placed(tx: Transaction, op: ImportTask, home: TaskList, task: Task) -> Task:
    rank = _rank(op)
    if home.id == task.list_id:
        return change_task(tx, task, "task.moved", {"rank": rank}) if rank is not None else task
    _refuse_where_held(tx, task, home)
    return change_task(tx, task, "task.moved", {"list_id": home.id, "rank": rank or _last(tx, home)})


def _refuse_where_held(tx: Transaction, task: Task, home: TaskList) -> None:
    if held_rules.holds_new(tx, home):
        raise Conflict(f"new tasks of agents in {home.name} wait for the human: add it there", held=True, id=task.uid)


def _rank(op: ImportTask) -> str | None:
    """Return the rank that the file gives, if it is one."""
    return op.rank if op.rank is not None and is_file_rank(op.rank) else None


def _last(tx: Transaction, home: TaskList) -> str:
    return between(tx.state_cache.last_rank(home.id), None)


@rule(ImportLog)
def import_log(tx: Transaction, op: ImportLog) -> bool:
    """Add a log entry with its instant and its agent, after `agent_names.IMPORTED`: nobody has written it here."""
    if tx.db.one(_LOG_UID, uid=op.uid) is not None:
        return False
    refuse_too_long({"message": op.message})
    task = touched(tx, writable(tx, op.task_uid))
    entry = LogEntry(
        id=tx.state_cache.next_id("log"),
        uid=op.uid,
        task_uid=task.uid,
        at=op.at,
        agent=agent_names.IMPORTED + op.agent,
        message=op.message,
        deleted=False,
    )
    tx.emit("task.logged", "log", entry.uid, new=asdict(entry), task=task)
    return True
