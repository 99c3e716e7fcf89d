"""What being reported done means for a task's checks: they are run, and a gate refuses it until they have passed.

docs: protocol, section 11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import InputsUnread, NotProven
from tui_tasks.core.read import check_queries
from tui_tasks.core.snapshots import Check, CheckRun, Task, TaskList, verified

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def refuse_unproven(tx: Transaction, task: Task, home: TaskList, stored: Task | None) -> None:
    """Refuse to set a task done before its checks that are gates have passed. The human may do it all the same.

    Args:
        task: the task as it would be.
        home: the list that it would be in.
        stored: the task as it is; None if it is new.

    Raises:
        NotProven: one has not.
        InputsUnread: they have, but their inputs must be read again first.
    """
    if tx.actor == vocab.HUMAN:
        return
    gates = [check for check in tx.state_cache.checks_of(task, home) if check.gate]
    missing = [check for check in gates if check.state != "passed"]
    if not missing:
        _refuse_unread(tx, task, gates)
        return
    first = min(missing, key=lambda check: vocab.CHECK_STATES.index(check.state))
    state = verified(check.state for check in missing)
    output = (first.run.output if first.run else None) or ""
    if stored is None:
        reason = f"a task of {home.name} is not done before {_names(missing)} has passed"
        raise NotProven(reason, "make it first, then set it done", None, verified=state, output=output)
    reason = f"task {task.uid} is not done before {_names(missing)} has passed ({state})"
    if _are_checks_of(tx, stored, missing):
        advice, uid = "its checks are being run: try again when they have passed", task.uid
    else:
        # They become its checks only by this change, which is refused.
        advice, uid = f"make it pending, move it to {home.name}, then set it done", None
    raise NotProven(reason, advice, uid, verified=state, output=output, id=task.uid)


def _are_checks_of(tx: Transaction, stored: Task, missing: list[Check]) -> bool:
    """Return whether a task as it is stored has all these checks."""
    has = {check.uid for check in tx.state_cache.checks_of(stored, tx.state_cache.list_by_id(stored.list_id))}
    return all(check.uid in has for check in missing)


def _refuse_unread(tx: Transaction, task: Task, passed: list[Check]) -> None:
    """Refuse unless the inputs of passed checks were read again for this transaction, and are as they were.

    Raises:
        InputsUnread: they can be read.
        NotProven: they cannot.
    """
    of_runs = {check.run.uid: check for check in passed if check.run is not None and check.run.inputs}
    known = tx.inputs_read
    unread = sorted(of_runs.keys() - known.keys()) if known is not None else []
    if unread:
        raise InputsUnread(unread)
    failed = [check for uid, check in of_runs.items() if not (known or {}).get(uid, False)]
    if failed:
        raise NotProven(
            f"task {task.uid} is not done: the inputs of {_names(failed)} could not be read again here",
            "set it done by the channel, or ask for control:request_check first",
            task.uid,
            verified="stale",
            output="",
            id=task.uid,
        )


def _names(found: list[Check]) -> str:
    return ", ".join(check.name for check in found)


def begin(tx: Transaction, task: Task, home: TaskList) -> None:
    """Run the checks of a task that was set done, except those that have passed. Record a gate that was passed by."""
    found = tx.state_cache.checks_of(task, home)
    request(tx, task, (check for check in found if check.state != "passed"))
    passed_by = [check for check in found if check.gate and check.state != "passed"]
    if passed_by:
        waive(tx, task, passed_by, verified(check.state for check in found))


def waive(tx: Transaction, task: Task, waived: list[Check], state: str | None) -> None:
    """Record that the human lets a task be done though checks have not passed; `state` is what was verified."""
    new = {"names": [check.name for check in waived], "verified": state, "waives": [check.uid for check in waived]}
    tx.emit("check.waived", "task_check", task.uid, new=new, task=task)


def request(tx: Transaction, task: Task, wanted: Iterable[Check]) -> None:
    """Have checks of a task run. A run that has not begun serves every task that asks until it begins.

    A run that has begun goes on; changes of inputs made after its beginning make it stale.
    """
    for check in wanted:
        definition = next((found for found in tx.state_cache.check_definitions if found.uid == check.uid), None)
        if definition is None or (check.run is not None and check.run.state in ("waiting", "running")):
            continue
        run = check_queries.waiting(tx.db, definition.uid) or _new_run(tx, definition.uid, definition.digest)
        uid, old = f"{task.uid} {definition.uid}", check.run
        if old is None:
            new = {"uid": uid, "task_uid": task.uid, "check_uid": definition.uid, "run_uid": run.uid}
            tx.emit("check.requested", "task_check", uid, new=new, task=task)
        else:
            before: dict[str, Any] = {"run_uid": old.uid} | ({"waived": True} if check.is_waived else {})
            after: dict[str, Any] = {"run_uid": run.uid} | ({"waived": False} if check.is_waived else {})
            tx.emit("check.requested", "task_check", uid, old=before, new=after, task=task)


def _new_run(tx: Transaction, check_uid: str, digest: str) -> CheckRun:
    blank: dict[str, Any] = dict.fromkeys(CheckRun.__struct_fields__)
    blank |= {"id": tx.state_cache.next_id("check_run"), "uid": tx.new_uid(), "check_uid": check_uid, "digest": digest}
    run = CheckRun(**blank | {"state": "waiting", "requested_by": tx.actor, "requested_at": tx.now})
    tx.emit("check.queued", "check_run", run.uid, new=msgspec.structs.asdict(run))
    return run
