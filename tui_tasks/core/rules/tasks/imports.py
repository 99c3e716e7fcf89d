"""Importing tasks from a file: its lists, tasks and log entries, under the ids that the file gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.imports import ImportList, ImportLog, ImportTask
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.rank import between, is_rank
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.limits import refuse_too_long
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks import held
from tui_tasks.core.rules.tasks.lists import make_list
from tui_tasks.core.rules.tasks.records import touched
from tui_tasks.core.rules.tasks.tasks import (
    change_task,
    make_task,
    refuse_bad_edit,
    refuse_second_in_progress,
    writable,
)
from tui_tasks.core.schema.tables.tasks import ListRow, LogRow
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import LogEntry, Task, TaskList

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_LIST_UID: Final = Statement(ListRow.select(ListRow.id).where(ListRow.uid == slot("uid")))
_LOG_UID: Final = Statement(LogRow.select(LogRow.id).where(LogRow.uid == slot("uid")))
_MAX_RANK: Final = 200


@rule(ImportList)
def import_list(tx: Transaction, op: ImportList) -> TaskList:
    """Find or make the list of an import: a list by its name, a plan by its id. A uid that another list has is not
    taken.
    """
    if op.kind == "list":
        found = queries.find_list(tx.db, op.name)
        if found is not None and found.kind == "list":
            return found
    is_known = tx.db.one(_LIST_UID, uid=op.uid) is not None
    if is_known and op.kind == "plan":
        return _plan(tx, op.uid)
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


def _plan(tx: Transaction, uid: str) -> TaskList:
    """Return the plan of that id. One that was deleted is restored with its tasks."""
    found = queries.any_list(tx.db, uid)
    if found.kind != "plan":
        raise Conflict(f"{uid} is the list {found.name}, and no plan", id=uid)
    if found.deleted:
        tx.emit("list.restored", "list", uid, old={"deleted": True}, new={"deleted": False})
    return queries.any_list(tx.db, uid)


@rule(ImportTask)
def import_task(tx: Transaction, op: ImportTask) -> Task:
    """Make a task, or set the fields that the file has on the task with its uid. Other fields stay as they are."""
    home = tx.state_cache.list_by_uid(op.list_uid)
    task = queries.any_task(tx.db, op.uid)
    if task is None:
        return _make(tx, op, home)
    changes = _columns(op)
    if task.deleted or tx.state_cache.list_by_id(task.list_id).deleted:
        if task.key is not None and queries.task_by_key(tx.db, home.id, task.key):
            raise Conflict(f"{task.key!r} is another task of {home.name} by now", id=task.uid)
        if home.id != task.list_id:
            _refuse_where_held(tx, task, home)
        place = {"list_id": home.id, "rank": _free_rank(tx, op, home) or _last(tx, home)}
        if changes.get("status", task.status) == "in_progress":
            refuse_second_in_progress(tx, home)
        task = change_task(tx, task, "task.restored" if task.deleted else "task.moved", {"deleted": False} | place)
    task = writable(tx, task.uid)
    refuse_bad_edit(tx, task, changes)
    if changes.get("status") == "in_progress" != task.status:
        refuse_second_in_progress(tx, home)
    task = change_task(tx, task, "task.updated", changes)
    return _placed(tx, op, home, task)


def _make(tx: Transaction, op: ImportTask, home: TaskList) -> Task:
    fields = dict(op.fields)
    nodes = tuple(fields.pop("node_ids", ()))
    own = {name: fields.pop(name) for name in FIELDS if name in fields}
    given = {"uid": op.uid, "node_ids": nodes} | {name: at for name, at in op.times.items() if at is not None}
    rank = _free_rank(tx, op, home) or _last(tx, home)
    return make_task(tx, AddTask(list_uid=home.uid, fields=own, **fields), home, rank, given)


def _columns(op: ImportTask) -> dict[str, Any]:
    """Return the columns that the file sets on an existing task. Its key stays: callers know the task by it."""
    changes = {name: value for name, value in op.fields.items() if name != "key"}
    return changes | {name: at for name, at in op.times.items() if name != "created_at"}


def _placed(tx: Transaction, op: ImportTask, home: TaskList, task: Task) -> Task:
    rank = _free_rank(tx, op, home, task.uid)
    if home.id == task.list_id:
        return change_task(tx, task, "task.moved", {"rank": rank}) if rank is not None else task
    _refuse_where_held(tx, task, home)
    if task.status == "in_progress":
        refuse_second_in_progress(tx, home)
    return change_task(tx, task, "task.moved", {"list_id": home.id, "rank": rank or _last(tx, home)})


def _refuse_where_held(tx: Transaction, task: Task, home: TaskList) -> None:
    if held.holds_new(tx, home):
        raise Conflict(f"what agents put into {home.name} waits for the human: add it there", held=True, id=task.uid)


def _free_rank(tx: Transaction, op: ImportTask, home: TaskList, own: str | None = None) -> str | None:
    """Return the rank that the file gives, or a free one beside it where another task has it."""
    if op.rank is None or len(op.rank) > _MAX_RANK or not is_rank(op.rank):
        return None
    return None if queries.at_rank(tx.db, home.id, op.rank) - {own} else op.rank


def _last(tx: Transaction, home: TaskList) -> str:
    return between(tx.state_cache.last_rank(home.id), None)


@rule(ImportLog)
def import_log(tx: Transaction, op: ImportLog) -> bool:
    """Add a log entry with its instant and its agent. A reserved name gets `imported:` before it."""
    if tx.db.one(_LOG_UID, uid=op.uid) is not None:
        return False
    refuse_too_long({"message": op.message})
    task = touched(tx, writable(tx, op.task_uid))
    agent = f"imported:{op.agent}" if op.agent in vocab.RESERVED_AGENTS else op.agent
    entry = LogEntry(
        id=tx.state_cache.next_id("log"),
        uid=op.uid,
        task_uid=task.uid,
        at=op.at,
        agent=agent,
        message=op.message,
        deleted=False,
    )
    tx.emit("task.logged", "log", entry.uid, new=asdict(entry), task=task)
    return True
