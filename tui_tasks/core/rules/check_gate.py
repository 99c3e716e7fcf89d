"""What being reported done means for a task's checks: they are run, and a gate refuses it until they have passed.

The checks of a task at work run in its worktree: there, the worktree stands for the checkout in which their folders
are. docs: protocol, section 11.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Check, CheckDefinition, CheckRun
from tui_tasks.core.errors import InputsUnread, NotProven
from tui_tasks.core.read import check_queries
from tui_tasks.core.snapshots import Task, TaskList, verified

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


class CheckPlace(NamedTuple):
    """Where the checks of a task at work run.

    Attributes:
        repository: the checkout in which the checks' folders are.
        worktree: the worktree that stands for it.
        tree: the hash of the files that a run must be about; None: of whichever are there.
        machine: the machine that has the worktree; see `Database.machine`.
    """

    repository: str
    worktree: str
    tree: str | None = None
    machine: str = ""

    def folder_of(self, definition: CheckDefinition | None) -> str | None:
        """Return the folder of a check in the worktree; None: its folder is not in the checkout."""
        place = None if definition is None else definition.place(self.machine)
        if place is None or not place.cwd:
            return None
        # As text: `pathlib` takes as long to import as all that a short command does.
        path = os.path.realpath(place.cwd)
        if not f"{path}/".startswith(f"{self.repository}/"):
            return None
        return self.worktree + path[len(self.repository) :]


def place_of(tx: Transaction, task: Task) -> CheckPlace | None:
    """Return where the checks of a task run: in the worktree of the speaker's work on it, else of the newest."""
    if not tx.state_cache.has_work:
        return None
    from tui_tasks.core.read import work_queries  # for databases with work alone

    live = [work for work in work_queries.of_task(tx.db, task.uid) if work.state in vocab.LIVE_WORK]
    own = [work for work in live if work.agent == tx.actor] or live
    return CheckPlace(own[-1].repository, own[-1].worktree, machine=own[-1].machine) if own else None


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
    place = place_of(tx, task) if gates else None
    missing = [check for check in gates if not _has_passed(tx, check, place)]
    if not missing:
        _refuse_unread(tx, task, gates)
        return
    first = min(missing, key=lambda check: vocab.CHECK_STATES.index(check.state))
    state = verified(check.state for check in missing)
    output = (first.run.output if first.run else None) or ""
    if stored is None:
        reason = f"a task of {home.name} is not done before {_names(missing)} has passed"
        raise NotProven(reason, "make it first, then set it done", None, verified=state, output=output)
    reason = f"task #{task.number} is not done before {_names(missing)} has passed ({state})"
    unable = [check for check in missing if not _can_run(tx, check, place)]
    if unable and place is not None:
        from tui_tasks.core.unjournaled import heartbeats  # for a check of another machine alone

        host = heartbeats.machine_name(tx.db, place.machine)
        reason = f"{reason}: {host}, where the work on it is, has no command for {_names(unable)}"
        raise NotProven(reason, "tell the human", None, verified=state, output=output, id=task.uid)
    if _are_checks_of(tx, stored, missing):
        advice, uid = "its checks run now: try again when they have passed", task.uid
    else:
        # They become its checks only by this change, which is refused.
        advice, uid = f"make it pending, move it to {home.name}, then set it done", None
    raise NotProven(reason, advice, uid, verified=state, output=output, id=task.uid)


def _has_passed(tx: Transaction, check: Check, place: CheckPlace | None) -> bool:
    """Return whether a check has passed, for a task at work in its worktree."""
    if check.state != "passed" or place is None:
        return check.state == "passed"
    if place.folder_of(_definition(tx, check)) is None:
        return _can_run(tx, check, place)
    return check.run is not None and (check.run.machine, check.run.worktree) == (place.machine, place.worktree)


def _can_run(tx: Transaction, check: Check, place: CheckPlace | None) -> bool:
    """Return whether the machine that has the worktree of a task has a command for a check."""
    definition = _definition(tx, check)
    return place is None or definition is None or definition.place(place.machine) is not None


def _definition(tx: Transaction, check: Check) -> CheckDefinition | None:
    return next((definition for definition in tx.state_cache.check_definitions if definition.uid == check.uid), None)


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
    of_runs = {
        check.run.uid: check for check in passed if check.run is not None and (check.run.inputs or check.run.worktree)
    }
    known = tx.inputs_read
    unread = sorted(of_runs.keys() - known.keys()) if known is not None else []
    if unread:
        raise InputsUnread(unread)
    failed = [check for uid, check in of_runs.items() if not (known or {}).get(uid, False)]
    if not failed:
        return
    if elsewhere := [check for check in failed if is_other_here(tx, check)]:
        why = f"{_names(elsewhere)} passed on another machine, with different files"
        advice = "its checks run here now: try again when they have passed"
    else:
        why = f"the inputs of {_names(failed)} could not be read again here"
        advice = "set it done by the channel, or ask for control:request_check first"
    message = f"task #{task.number} is not done: {why}"
    raise NotProven(message, advice, task.uid, verified="stale", output="", id=task.uid)


def is_other_here(tx: Transaction, check: Check) -> bool:
    """Return whether a check passed on another machine, and this one has read other inputs of it, so must run it."""
    run, definition = check.run, _definition(tx, check)
    if run is None or definition is None or run.machine == tx.db.machine or run.worktree is not None:
        return False
    return definition.place(tx.db.machine) is not None and (tx.inputs_read or {}).get(run.uid) is False


def _names(checks: list[Check]) -> str:
    return ", ".join(check.name for check in checks)


def begin(tx: Transaction, task: Task, home: TaskList) -> None:
    """Run the checks of a task that was set done, except those that have passed. Record a gate that was passed by."""
    checks = tx.state_cache.checks_of(task, home)
    place = place_of(tx, task) if checks else None
    request(tx, task, [check for check in checks if not _has_passed(tx, check, place)], place)
    passed_by = [check for check in checks if check.gate and check.state != "passed"]
    if passed_by:
        waive(tx, task, passed_by, verified(check.state for check in checks))


def waive(tx: Transaction, task: Task, waived: list[Check], state: str | None) -> None:
    """Record that the human lets a task be done though checks have not passed; `state` is what was verified."""
    new = {"names": [check.name for check in waived], "verified": state, "waives": [check.uid for check in waived]}
    tx.emit("check.waived", "task_check", task.uid, new=new, task=task)


def request(tx: Transaction, task: Task, wanted: Iterable[Check], place: CheckPlace | None = None) -> None:
    """Have checks of a task run. A run that has not begun serves every task that asks until it begins.

    A run that has begun goes on; changes of inputs made after its beginning make it stale. `place`: where they run, if
    not in their own folders.
    """
    for check in wanted:
        definition = _definition(tx, check)
        if definition is None or not _can_run(tx, check, place):
            continue
        folder = place.folder_of(definition) if place is not None else None
        at = place if folder is not None else None
        machine = tx.db.machine if place is None else place.machine
        # Who has no folder of the check is content with any.
        machine = machine if definition.place(machine) is not None else ""
        if check.run is not None and check.run.state in ("waiting", "running") and _is_at(check.run, machine, at):
            continue
        waiting = [run for run in check_queries.waiting(tx.db, definition.uid) if _is_at(run, machine, at)]
        link(tx, task, check, waiting[0] if waiting else _new_run(tx, definition, machine, folder, at))


def _is_at(run: CheckRun, machine: str, place: CheckPlace | None) -> bool:
    """Return whether a run that has not ended is about the files of a place; `machine`: it must be that one's."""
    if machine not in ("", run.machine):
        return False
    if place is None:
        return run.worktree is None
    return run.worktree == place.worktree and (place.tree is None or run.tree in (None, place.tree))


def prove(tx: Transaction, task: Task, wanted: Iterable[Check], place: CheckPlace) -> None:
    """Let what has passed on the tree of a place count, and have the rest run there."""
    for check in wanted:
        definition = _definition(tx, check)
        if definition is None or place.folder_of(definition) is None:
            request(tx, task, [check] if check.state != "passed" else [])
            continue
        run = check_queries.on_tree(tx.db, check.uid, place.tree or "")
        if run is None or check_queries.state_of(definition, run) != "passed":
            request(tx, task, [check], place)
        elif check.run is None or check.run.uid != run.uid:
            link(tx, task, check, run)


def link(tx: Transaction, task: Task, check: Check, run: CheckRun) -> None:
    """Count a run for a check of a task."""
    uid, old = f"{task.uid} {check.uid}", check.run
    if old is None:
        new = {"uid": uid, "task_uid": task.uid, "check_uid": check.uid, "run_uid": run.uid}
        tx.emit("check.requested", "task_check", uid, new=new, task=task)
        return
    before: dict[str, Any] = {"run_uid": old.uid} | ({"waived": True} if check.is_waived else {})
    after: dict[str, Any] = {"run_uid": run.uid} | ({"waived": False} if check.is_waived else {})
    tx.emit("check.requested", "task_check", uid, old=before, new=after, task=task)


def _new_run(
    tx: Transaction, definition: CheckDefinition, machine: str, folder: str | None, place: CheckPlace | None
) -> CheckRun:
    blank: dict[str, Any] = dict.fromkeys(CheckRun.__struct_fields__)
    blank |= {"id": tx.state_cache.next_id("check_run"), "uid": tx.new_uid(), "check_uid": definition.uid}
    blank |= {"digest": definition.digest, "state": "waiting", "requested_by": tx.actor, "requested_at": tx.now}
    blank["machine"] = machine
    if place is not None:
        blank |= {"cwd": folder, "worktree": place.worktree, "tree": place.tree}
    run = CheckRun(**blank)
    tx.emit("check.queued", "check_run", run.uid, new=msgspec.structs.asdict(run))
    return run
