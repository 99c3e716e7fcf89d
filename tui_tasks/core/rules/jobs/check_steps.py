"""What being reported done means for a task's checks: they are run, and a gate refuses it until they have passed.

docs: protocol, section 11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotProven
from tui_tasks.core.read import checks
from tui_tasks.core.snapshots import Check, CheckRun, Task, TaskList, verified

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


def refuse_unproven(tx: Transaction, task: Task, home: TaskList, *, is_new: bool = False) -> None:
    """Refuse to set a task done before its checks that are gates have passed. The human may do it all the same.

    Raises:
        NotProven: one has not.
    """
    if tx.actor == vocab.HUMAN:
        return
    gates = [check for check in tx.state_cache.checks_of(task, home) if check.gate]
    missing = [check for check in gates if check.state != "passed"]
    if not missing:
        return
    first = min(missing, key=lambda check: vocab.CHECK_STATES.index(check.state))
    state = verified(check.state for check in missing)
    told = "make it first, then set it done" if is_new else "its checks are being run: try again when they have passed"
    raise NotProven(
        f"task {task.uid} is not done before {_names(missing)} has passed ({state}); {told}"
        if not is_new
        else f"a task of {home.name} is not done before {_names(missing)} has passed; {told}",
        None if is_new else task.uid,
        verified=state,
        output=(first.run.output if first.run else None) or "",
        **({} if is_new else {"id": task.uid}),
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
        run = checks.waiting(tx.db, definition.uid) or _new_run(tx, definition.uid, definition.digest)
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
