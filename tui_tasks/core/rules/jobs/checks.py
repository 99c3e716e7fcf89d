"""Checks: which there are, which a task has, and how a run of one begins and ends (docs: protocol, section 11).

A run is `waiting`, then `running`, and ends once as `passed`, `failed` or `interrupted`. A passed run becomes `stale`
when one of its inputs differs from what it was when the run began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound
from tui_tasks.core.operations.checks import (
    AbandonCheck,
    BeginCheck,
    ChangeInputs,
    ClaimCheck,
    DefineChecks,
    EndCheck,
    GiveChecks,
    NamedCheck,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.jobs import check_steps
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.rules.tasks.tasks import change_task
from tui_tasks.core.schedule import heartbeats, job_settings
from tui_tasks.core.snapshots import CheckDefinition, CheckRun, Task, verified

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

KEEP_RUNS: Final = job_settings.Settings().keep_runs
"""So many runs of a check are kept beside those that count for a task, as of a job."""


@rule(DefineChecks)
def define_checks(tx: Transaction, op: DefineChecks) -> bool:
    """Record the checks of one configuration file. Another file adds checks, and takes none away."""
    before = tx.entries
    known = checks.every_definition(tx.db, op.source)
    named = {check.name: check for check in op.checks}
    for name, check in named.items():
        _define(tx, op.source, check, known.get(name))
    gone = [found for name, found in known.items() if name not in named and name not in op.kept]
    if op.alone:
        gone += [found for found in tx.state_cache.check_definitions if found.source != op.source]
    for found in gone:
        if not found.deleted:
            tx.emit("check.defined", "check_definition", found.uid, old={"deleted": False}, new={"deleted": True})
    return tx.entries > before


def _define(tx: Transaction, source: str, check: NamedCheck, known: CheckDefinition | None) -> None:
    new: dict[str, Any] = {"digest": check.digest, "lists": check.lists, "gate": check.gate, "deleted": False}
    if known is None:
        uid = str(uuid5(NAMESPACE_URL, f"{source}\0{check.name}"))
        new = {"uid": uid, "source": source, "name": check.name} | new
        tx.emit("check.defined", "check_definition", uid, new=new)
        return
    new = {name: value for name, value in new.items() if getattr(known, name) != value}
    if not new:
        return
    old = {name: getattr(known, name) for name in new}
    tx.emit("check.defined", "check_definition", known.uid, old=old, new=new)
    waiting = checks.waiting(tx.db, known.uid)
    if waiting is not None and "digest" in new:
        # A run that has not begun will begin with the new command.
        _change(tx, waiting, "check.queued", {"digest": check.digest})


@rule(GiveChecks)
def give_checks(tx: Transaction, op: GiveChecks) -> Task:
    """Set the checks of a task. The human's alone; an agent can only have them run."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("a task's checks are given and taken by the human alone")
    task = queries.task(tx.db, op.uid)
    there = {found.name for found in tx.state_cache.check_definitions}
    for name in op.names or ():
        if name not in there and name not in (task.checks or ()):
            raise InvalidArgument("names", f"no check is called {name!r} in the configuration file", id=name)
    names = None if op.names is None else tuple(dict.fromkeys(op.names))
    return change_task(tx, task, "task.updated", {"checks": names})


@rule(WaiveChecks)
def waive_checks(tx: Transaction, op: WaiveChecks) -> list[str]:
    """Let a task count as done though checks failed. The human's alone; `verified` stays failed."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("a failed check is passed by by the human alone")
    task = queries.task(tx.db, op.uid)
    found = tx.state_cache.checks_of(task, tx.state_cache.list_by_id(task.list_id))
    failed = [check for check in found if check.state == "failed" and not check.is_waived]
    if task.status != "done" or not failed:
        raise Conflict(f"task {op.uid} is not done, or no check of it has failed", id=op.uid, status=task.status)
    check_steps.waive(tx, task, failed, verified(check.state for check in found))
    return [check.name for check in failed]


@rule(RequestChecks)
def request_checks(tx: Transaction, op: RequestChecks) -> str | None:
    """Run checks of a task now, done or not. What passes before the task is done counts as long as it is not stale."""
    task = queries.task(tx.db, op.uid)
    home = tx.state_cache.list_by_id(task.list_id)
    found = tx.state_cache.checks_of(task, home)
    if not found:
        raise Conflict(f"task {op.uid} has no check", id=op.uid)
    wanted = [check for check in found if op.name in (None, check.name)]
    if not wanted:
        raise NotFound("check", str(op.name), f"; task {op.uid} has {', '.join(check.name for check in found)}")
    check_steps.request(tx, task, (one for one in wanted if not (op.unproven_alone and one.state == "passed")))
    return verified(check.state for check in tx.state_cache.checks_of(task, home))


@rule(ClaimCheck)
def claim_check(tx: Transaction, op: ClaimCheck) -> CheckRun | None:
    """Claim a waiting run for one process. A run that no task waits for any more is not begun."""
    run = checks.run(tx.db, op.uid)
    begun = checks.runs_in(tx.db, "running")
    if run is None or run.state != "waiting" or len(begun) >= op.max_parallel:
        return None
    if any(other.check_uid == run.check_uid for other in begun):
        # Two runs at once in one folder would disturb each other.
        return None
    if not checks.tasks_of(tx.db, run.uid):
        _change(tx, run, "check.ended", {"state": "interrupted", "ended_at": tx.now})
        return None
    heartbeats.put(tx.db, op.by)
    return _change(tx, run, "check.started", {"state": "running", "started_at": tx.now})


@rule(BeginCheck)
def begin_check(tx: Transaction, op: BeginCheck) -> CheckRun | None:
    """Begin a claimed run that has not been ended meanwhile, under one supervisor."""
    run = checks.run(tx.db, op.uid)
    held = heartbeats.find(tx.db, op.uid)
    if run is None or run.state != "running" or held is None or held.supervised:
        return None
    heartbeats.put(tx.db, op.by)
    return _change(tx, run, "check.started", {"inputs": op.inputs, "git_commit": op.commit, "git_diff": op.diff})


@rule(EndCheck)
def end_check(tx: Transaction, op: EndCheck) -> CheckRun | None:
    """Record how a run ended, unless its end is recorded already."""
    run = checks.run(tx.db, op.uid)
    if run is None or run.state != "running":
        return run
    state = op.outcome
    if state == "passed" and (run.inputs is None or run.inputs != op.inputs):
        state = "stale"
    return _end(tx, run, state, exit_code=op.exit_code, output=op.output)


@rule(AbandonCheck)
def abandon_check(tx: Transaction, op: AbandonCheck) -> bool:
    """End a run whose process has died as interrupted; it proves nothing."""
    run = checks.run(tx.db, op.uid)
    if run is None or run.state != "running" or heartbeats.find(tx.db, op.uid) != op.seen:
        return False
    _end(tx, run, "interrupted")
    return True


def _end(tx: Transaction, run: CheckRun, state: str, **fields: Any) -> CheckRun:
    """End a run, and emit an entry for each task that it counts for."""
    ended = _change(tx, run, "check.ended", {"state": state, "ended_at": tx.now, **fields})
    heartbeats.drop(tx.db, run.uid)
    for uid in checks.tasks_of(tx.db, run.uid):
        task = queries.any_task(tx.db, uid)
        assert task is not None
        found = tx.state_cache.checks_of(task, tx.state_cache.list_by_id(task.list_id))
        if (check := next((one for one in found if one.uid == run.check_uid), None)) is not None:
            tx.emit("check.finished", "check", run.uid, new=check.brief(), task=task)
        tx.pause()
    below = checks.prunable(tx.db, run.check_uid, KEEP_RUNS)
    if below is not None:
        tx.emit("check.pruned", "check_run", run.check_uid, new={"below": below})
    return ended


@rule(ChangeInputs)
def change_inputs(tx: Transaction, op: ChangeInputs) -> int:
    """Make passed runs stale whose inputs have changed. They stay stale when the inputs change back."""
    changed = [
        run
        for run in checks.runs_in(tx.db, "passed")
        if run.check_uid == op.check_uid and run.digest == op.digest and run.inputs != op.inputs
    ]
    for run in changed:
        _change(tx, run, "check.stale", {"state": "stale"})
    return len(changed)


def _change(tx: Transaction, run: CheckRun, kind: str, changes: dict[str, Any]) -> CheckRun:
    """Set fields of a run; fields that are equal already are left out."""
    new = {name: value for name, value in changes.items() if getattr(run, name) != value}
    tx.emit(kind, "check_run", run.uid, old={name: getattr(run, name) for name in new}, new=new)
    return msgspec.structs.replace(run, **new)
