"""Checks: which there are, which a task has, how a run of one begins and ends (docs: protocol, section 11), and what
becomes of them when a database moves to a server or back: they are a machine's, as work is.

A run is `waiting`, then `running`, and ends once as `passed`, `failed` or `interrupted`. A passed run becomes `stale`
when one of its inputs differs from what it was when the run began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Check, CheckDefinition, CheckPlace, CheckRun
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound
from tui_tasks.core.operations import ChangeMachine
from tui_tasks.core.operations.jobs import (
    AbandonCheck,
    BeginCheck,
    ChangeInputs,
    ClaimCheck,
    DefineChecks,
    EndCheck,
    FreeCheck,
    GiveChecks,
    NamedCheck,
    PlaceChecks,
    ProveTree,
    RecordSettings,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import check_gate, rule
from tui_tasks.core.rules.recorded_settings import UID, recorded
from tui_tasks.core.rules.tasks.task_rules import change_task
from tui_tasks.core.schedule import policy
from tui_tasks.core.snapshots import Task, verified
from tui_tasks.core.unjournaled import heartbeats

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


KEEP_RUNS: Final = policy.Settings().keep_runs
"""So many runs of a check are kept beside those that count for a task, as of a job."""


@rule(DefineChecks)
def define_checks(tx: Transaction, op: DefineChecks) -> bool:
    """Record the checks of one configuration file. Another file adds checks, and takes none away."""
    recorded = tx.state_cache.recorded_settings
    if recorded is not None and recorded.source != op.source:
        raise Forbidden(f"the checks of this database come from {recorded.source}, not from {op.source}")
    before = tx.entries
    known = check_queries.definitions_of(tx.db, op.source)
    named = {check.name: check for check in op.checks}
    for name, check in named.items():
        _define(tx, op.source, check, known.get(name))
    gone = [one for name, one in known.items() if name not in named and name not in op.kept]
    if op.alone:
        gone += [one for one in tx.state_cache.check_definitions if one.source != op.source]
    for one in gone:
        if not one.deleted:
            tx.emit("check.defined", "check_definition", one.uid, old={"deleted": False}, new={"deleted": True})
    return tx.entries > before


@rule(RecordSettings)
def record_settings(tx: Transaction, op: RecordSettings) -> bool:
    """Record the settings file whose checks and reviewed lists hold. Only the human puts another in its place."""
    if tx.actor not in (vocab.HUMAN, vocab.SYSTEM):
        raise Forbidden("only the human says which settings apply")
    known = tx.state_cache.recorded_settings
    if known is not None and known.source != op.source and tx.actor != vocab.HUMAN:
        raise Forbidden(f"the settings of this database come from {known.source}, not from {op.source}")
    new: dict[str, Any] = {"source": op.source, "review_lists": op.lists}
    new |= {"review_limit": op.limit, "review_jobs": op.jobs, "rules": list(op.rules)}
    new |= {"ask_limit": op.ask_limit, "ask_total": op.ask_total}
    if known is None:
        tx.emit("settings.recorded", "settings", UID, new={"uid": UID} | new)
        return True
    old: dict[str, Any] = {"source": known.source, "review_lists": known.policy.lists}
    old |= {"review_limit": known.policy.limit, "review_jobs": known.policy.jobs}
    old |= {"ask_limit": known.asks.limit, "ask_total": known.asks.total}
    old["rules"] = [msgspec.to_builtins(one) for one in known.rules]
    new = {name: value for name, value in new.items() if old[name] != value}
    if new:
        tx.emit("settings.recorded", "settings", UID, old={name: old[name] for name in new}, new=new)
    return bool(new)


def _define(tx: Transaction, source: str, check: NamedCheck, known: CheckDefinition | None) -> None:
    new: dict[str, Any] = {"digest": check.digest, "lists": check.lists, "gate": check.gate, "deleted": False}
    new |= {"cwd": check.cwd, "inputs": check.inputs}
    if known is None:
        uid = str(uuid5(NAMESPACE_URL, f"{source}\0{check.name}"))
        new = {"uid": uid, "source": source, "name": check.name} | new
        tx.emit("check.defined", "check_definition", uid, new=new)
        return
    new = {name: value for name, value in new.items() if getattr(known, name) != value}
    if not new:
        return
    if "digest" in new and known.machines:
        # Each machine says anew how it runs the check with the new inputs.
        new["machines"] = {}
    old = {name: getattr(known, name) for name in new}
    tx.emit("check.defined", "check_definition", known.uid, old=old, new=new)
    if "digest" in new:
        # A run that has not begun will begin with the new command.
        for waiting in check_queries.waiting(tx.db, known.uid):
            _change(tx, waiting, "check.queued", {"digest": check.digest})


@rule(PlaceChecks)
def place_checks(tx: Transaction, op: PlaceChecks) -> bool:
    """Record how this machine runs the checks. Only the human puts another settings file in place."""
    if tx.actor not in (vocab.HUMAN, vocab.SYSTEM):
        raise Forbidden("only the human says which settings apply")
    machine, before = tx.db.machine, tx.entries
    for definition in tx.state_cache.check_definitions:
        known = definition.place(machine)
        if known is not None and known.source != op.source and tx.actor != vocab.HUMAN:
            raise Forbidden(f"the checks of this machine come from {known.source}, not from {op.source}")
        place = CheckPlace(*op.places[definition.name], op.source) if definition.name in op.places else None
        if place == known:
            continue
        places = {name: value for name, value in definition.machines.items() if name != machine}
        if place is not None:
            places[machine] = place
        old, new = {"machines": definition.machines}, {"machines": places}
        tx.emit("check.defined", "check_definition", definition.uid, old=old, new=new)
    return tx.entries > before


@rule(GiveChecks)
def give_checks(tx: Transaction, op: GiveChecks) -> Task:
    """Set the checks of a task. The human's alone; an agent can only have them run."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human gives a task checks or removes them")
    task = task_queries.task(tx.db, op.uid)
    there = {definition.name for definition in tx.state_cache.check_definitions}
    for name in op.names or ():
        if name not in there and name not in (task.checks or ()):
            raise InvalidArgument("names", f"no check is called {name!r} in the configuration file", id=name)
    names = None if op.names is None else tuple(dict.fromkeys(op.names))
    return change_task(tx, task, "task.updated", {"checks": names})


@rule(WaiveChecks)
def waive_checks(tx: Transaction, op: WaiveChecks) -> list[str]:
    """Let a task count as done though checks failed. The human's alone; `verified` stays failed."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human sets a task done although a check has failed")
    task = task_queries.task(tx.db, op.uid)
    checks = tx.state_cache.checks_of(task, tx.state_cache.list_by_id(task.list_id))
    failed = [check for check in checks if check.state == "failed" and not check.is_waived]
    if task.status != "done" or not failed:
        raise Conflict(f"task #{task.number} is not done, or no check of it has failed", id=op.uid, status=task.status)
    check_gate.waive(tx, task, failed, verified(check.state for check in checks))
    return [check.name for check in failed]


@rule(RequestChecks)
def request_checks(tx: Transaction, op: RequestChecks) -> str | None:
    """Run checks of a task now, done or not. What passes before the task is done counts as long as it is not stale."""
    task = task_queries.task(tx.db, op.uid)
    home = tx.state_cache.list_by_id(task.list_id)
    checks = tx.state_cache.checks_of(task, home)
    if not checks:
        give = f"`tui-tasks check give {task.number} NAME`"
        raise Conflict(f"task #{task.number} has no check; the human gives it one by {give}", id=op.uid)
    wanted = [check for check in checks if op.name in (None, check.name)]
    if not wanted:
        raise NotFound("check", str(op.name), f"; task {op.uid} has {', '.join(check.name for check in checks)}")
    if op.unproven_alone:
        wanted = [one for one in wanted if one.state != "passed" or check_gate.is_other_here(tx, one)]
    check_gate.request(tx, task, wanted, check_gate.place_of(tx, task))
    return verified(check.state for check in tx.state_cache.checks_of(task, home))


@rule(ProveTree)
def prove_tree(tx: Transaction, op: ProveTree) -> list[Check]:
    """Have the checks of a task that gate run on a tree. The human's alone, as a worktree is named."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human says where a task's checks run")
    task = task_queries.task(tx.db, op.uid)
    home = tx.state_cache.list_by_id(task.list_id)
    wanted = [check for check in tx.state_cache.checks_of(task, home) if check.gate]
    check_gate.prove(tx, task, wanted, check_gate.CheckPlace(op.repository, op.worktree, op.tree, tx.db.machine))
    return [check for check in tx.state_cache.checks_of(task, home) if check.gate]


@rule(ClaimCheck)
def claim_check(tx: Transaction, op: ClaimCheck) -> CheckRun | None:
    """Claim a waiting run for one process. A run that no task waits for any more is not begun."""
    run, machine = check_queries.run(tx.db, op.uid), tx.db.machine
    begun = check_queries.running_on(tx.db, machine)
    if run is None or run.state != "waiting" or run.machine not in ("", machine) or len(begun) >= op.max_parallel:
        return None
    place = check_queries.definition(tx.db, run.check_uid).place(machine)
    if place is None:
        return None
    if any((other.check_uid, other.cwd) == (run.check_uid, run.cwd) for other in begun):
        # Two runs at once in one folder would disturb each other.
        return None
    if not check_queries.tasks_of(tx.db, run.uid):
        _change(tx, run, "check.ended", {"state": "interrupted", "ended_at": tx.now})
        return None
    heartbeats.put_heartbeat(tx.db, op.by)
    changes = {"state": "running", "started_at": tx.now, "machine": machine, "digest": place.digest}
    return _change(tx, run, "check.started", changes)


@rule(BeginCheck)
def begin_check(tx: Transaction, op: BeginCheck) -> CheckRun | None:
    """Begin a claimed run that has not been ended meanwhile, under one supervisor."""
    run = check_queries.run(tx.db, op.uid)
    held = heartbeats.heartbeat_of(tx.db, op.uid)
    if run is None or run.state != "running" or held is None or held.supervised:
        return None
    heartbeats.put_heartbeat(tx.db, op.by)
    changes = {"inputs": op.inputs, "git_commit": op.commit, "git_diff": op.diff}
    return _change(tx, run, "check.started", changes | ({"tree": op.tree} if run.worktree is not None else {}))


@rule(EndCheck)
def end_check(tx: Transaction, op: EndCheck) -> CheckRun | None:
    """Record how a run ended, unless its end is recorded already."""
    run = check_queries.run(tx.db, op.uid)
    if run is None or run.state != "running":
        return run
    state = op.outcome
    is_same = run.inputs is not None and run.inputs == op.inputs
    if run.worktree is not None:
        is_same = is_same and run.tree is not None and run.tree == op.tree
    if state == "passed" and not is_same:
        state = "stale"
    return _end(tx, run, state, exit_code=op.exit_code, output=op.output)


@rule(AbandonCheck)
def abandon_check(tx: Transaction, op: AbandonCheck) -> bool:
    """End a run whose process has died as interrupted; it proves nothing."""
    run = check_queries.run(tx.db, op.uid)
    if run is None or run.state != "running" or heartbeats.heartbeat_of(tx.db, op.uid) != op.seen:
        return False
    _end(tx, run, "interrupted")
    return True


@rule(FreeCheck)
def free_check(tx: Transaction, op: FreeCheck) -> bool:
    """Let any machine begin a waiting run whose machine is lost. What no other can run is ended, and may be asked anew.

    The files of a worktree are on its own machine alone.
    """
    run = check_queries.run(tx.db, op.uid)
    if run is None or run.state != "waiting" or run.machine != op.machine:
        return False
    if run.worktree is None and check_queries.definition(tx.db, run.check_uid).machines.keys() - {op.machine}:
        _change(tx, run, "check.queued", {"machine": ""})
    else:
        _end(tx, run, "interrupted")
    return True


def _end(tx: Transaction, run: CheckRun, state: str, **fields: Any) -> CheckRun:
    """End a run, and emit an entry for each task that it counts for."""
    ended = _change(tx, run, "check.ended", {"state": state, "ended_at": tx.now, **fields})
    heartbeats.drop_heartbeat(tx.db, run.uid)
    for uid in check_queries.tasks_of(tx.db, run.uid):
        task = task_queries.any_task(tx.db, uid)
        assert task is not None
        checks = tx.state_cache.checks_of(task, tx.state_cache.list_by_id(task.list_id))
        if (check := next((one for one in checks if one.uid == run.check_uid), None)) is not None:
            tx.emit("check.finished", "check", run.uid, new=check.brief(), task=task)
        tx.pause()
    below = check_queries.prunable(tx.db, run.check_uid, KEEP_RUNS)
    if below is not None:
        tx.emit("check.pruned", "check_run", run.check_uid, new={"below": below})
    return ended


@rule(ChangeInputs)
def change_inputs(tx: Transaction, op: ChangeInputs) -> int:
    """Make passed runs stale whose inputs have changed. They stay stale when the inputs change back."""
    changed = [
        run
        for run in check_queries.runs_in(tx.db, "passed")
        if (run.check_uid, run.machine) == (op.check_uid, tx.db.machine)
        and run.digest == op.digest
        and run.inputs != op.inputs
        and (not op.uids or run.uid in op.uids)
    ]
    for run in changed:
        _change(tx, run, "check.stale", {"state": "stale"})
    return len(changed)


def _change(tx: Transaction, run: CheckRun, kind: str, changes: dict[str, Any]) -> CheckRun:
    """Set fields of a run; fields that are equal already are left out."""
    new = {name: value for name, value in changes.items() if getattr(run, name) != value}
    tx.emit(kind, "check_run", run.uid, old={name: getattr(run, name) for name in new}, new=new)
    return msgspec.structs.replace(run, **new)


@rule(ChangeMachine)
def change_machine(tx: Transaction, op: ChangeMachine) -> bool:
    """Change the machine of definitions, runs, work and lists, and say where the recorded settings are."""
    if tx.actor not in (vocab.HUMAN, vocab.SYSTEM):
        raise Forbidden("only the human may move a database")
    before = tx.entries
    settings = recorded(tx.db)
    if settings is not None and (source := _moved_source(settings.source, op)) != settings.source:
        _emit_change(tx, "settings.recorded", "settings", UID, {"source": settings.source}, {"source": source})
    for definition in check_queries.every_definition(tx.db):
        new = _to_server(definition, op.new) if op.new else _to_file(definition, op.old)
        _emit_change(
            tx,
            "check.defined",
            "check_definition",
            definition.uid,
            {name: getattr(definition, name) for name in new},
            new,
        )
    machines = {"machine": op.old}, {"machine": op.new}
    for run in check_queries.of_machine(tx.db, op.old):
        _emit_change(tx, "check.queued", "check_run", run, *machines)
    for work in work_queries.of_machine(tx.db, op.old):
        _emit_change(tx, "work.updated", "work", work.uid, *machines)
    for auto in work_queries.all_autos(tx.db):
        if auto.machine == op.old:
            _emit_change(tx, "list.auto", "auto", auto.uid, *machines)
    return tx.entries > before


def _emit_change(tx: Transaction, kind: str, entity: str, uid: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    if new:
        tx.emit(kind, entity, uid, old=old, new=new)


def _moved_source(source: str, op: ChangeMachine) -> str:
    """Return how the new machine names a settings file; that of a third machine stays as it is."""
    before = f"{op.old}:" if op.old else "/"
    if not source.startswith(before):
        return source
    return check_queries.source_on(op.new, source.removeprefix(before) if op.old else source)


def _to_server(definition: CheckDefinition, machine: str) -> dict[str, Any]:
    """Return the changed fields of a definition that moves to a server, where each machine has a command and folder."""
    if not definition.source.startswith("/"):
        return {}
    place = CheckPlace(definition.digest, definition.cwd, definition.source)
    new: dict[str, Any] = {"source": check_queries.source_on(machine, definition.source)}
    new |= {
        "digest": check_queries.inputs_digest(definition.inputs),
        "machines": {**definition.machines, machine: place},
    }
    return new | ({"cwd": ""} if definition.cwd else {})


def _to_file(definition: CheckDefinition, machine: str) -> dict[str, Any]:
    """Return the changed fields of a definition that moves to a file, which has one command and one folder."""
    place = definition.place(machine) if machine else None
    if place is None:
        # Nothing would notice that the files of another machine have changed.
        return {"machines": {}} if definition.machines else {}
    new: dict[str, Any] = {"source": place.source, "digest": place.digest, "machines": {}}
    return new | ({"cwd": place.cwd} if place.cwd else {})
