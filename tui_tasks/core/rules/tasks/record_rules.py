"""What is recorded beside a task: log entries, links to graph nodes, saved state, and its result as a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict, replace

from tui_tasks.core.operations.tasks import LinkNodes, LogTask, SaveState
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks.task_rules import change_task, is_same, writable
from tui_tasks.core.snapshots import LogEntry, Memory, SavedState, Task
from tui_tasks.core.vocab import refuse_too_long

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_encode = msgspec.json.Encoder().encode


def touched(tx: Transaction, task: Task) -> Task:
    """Return the task as it is after a change to a row beside it, such as a log entry."""
    version = task.version + 1 if tx.first_touch(task.uid) else task.version
    return replace(task, version=version, updated_at=tx.now, updated_by=tx.actor)


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
    tx.emit("task.logged", "log", entry.uid, new=asdict(entry), task=task)
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
    known = task_records.any_state(tx.db, task.uid)
    if known is None or known.deleted:
        empty = SavedState(task.uid, op.agent, None, (), (), (), (), (), None, saved_at=tx.now, deleted=False)
        saved = replace(empty, **op.fields)
    else:
        saved = replace(known, **op.fields, agent=op.agent, saved_at=tx.now)
    if known is None:
        tx.emit("state.saved", "state", task.uid, new=asdict(saved), task=touched(tx, task))
        return saved
    new = {name: value for name, value in asdict(saved).items() if _encode(value) != _encode(getattr(known, name))}
    if new.keys() - {"saved_at"}:
        old = {name: getattr(known, name) for name in new}
        tx.emit("state.saved", "state", task.uid, old=old, new=new, task=touched(tx, task))
    return saved if new.keys() - {"saved_at"} else known


def remember_result(tx: Transaction, task: Task) -> None:
    """Save the result of a done task as its memory; an earlier result of the task is replaced
    (seed 001; docs: protocol, section 6, `task`).
    """
    known = task_records.any_memory_of(tx.db, task.uid)
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
        tx.emit("memory.saved", "memory", made.uid, new=asdict(made), task=task)
    elif known.deleted or any(not is_same(name, getattr(known, name), value) for name, value in new.items()):
        new |= {"updated_at": tx.now, "deleted": False}
        tx.emit("memory.saved", "memory", known.uid, old={n: getattr(known, n) for n in new}, new=new, task=task)
