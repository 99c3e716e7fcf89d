"""What a move of a database to a server, or back to a file, makes of checks and work: they are a machine's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_tasks.core import vocab
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.operations import ChangeMachine
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.tasks.held_rules import UID, recorded
from tui_tasks.core.snapshots import CheckDefinition, CheckPlace

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(ChangeMachine)
def change_machine(tx: Transaction, op: ChangeMachine) -> bool:
    """Change the machine of definitions, runs, work and lists, and say where the recorded settings are."""
    if tx.actor not in (vocab.HUMAN, vocab.SYSTEM):
        raise Forbidden("only the human may move a database")
    before = tx.entries
    settings = recorded(tx.db)
    if settings is not None and (source := _source(settings.source, op)) != settings.source:
        _set(tx, "settings.recorded", "settings", UID, {"source": settings.source}, {"source": source})
    for found in check_queries.every_definition(tx.db):
        new = _to_server(found, op.new) if op.new else _to_file(found, op.old)
        _set(tx, "check.defined", "check_definition", found.uid, {name: getattr(found, name) for name in new}, new)
    machines = {"machine": op.old}, {"machine": op.new}
    for run in check_queries.of_machine(tx.db, op.old):
        _set(tx, "check.queued", "check_run", run, *machines)
    for work in work_queries.of_machine(tx.db, op.old):
        _set(tx, "work.updated", "work", work.uid, *machines)
    for auto in work_queries.all_autos(tx.db):
        if auto.machine == op.old:
            _set(tx, "list.auto", "auto", auto.uid, *machines)
    return tx.entries > before


def _set(tx: Transaction, kind: str, entity: str, uid: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    if new:
        tx.emit(kind, entity, uid, old=old, new=new)


def _source(source: str, op: ChangeMachine) -> str:
    """Return how the new machine names a settings file; that of a third machine stays as it is."""
    before = f"{op.old}:" if op.old else "/"
    if not source.startswith(before):
        return source
    return check_queries.source_on(op.new, source.removeprefix(before) if op.old else source)


def _to_server(found: CheckDefinition, machine: str) -> dict[str, Any]:
    """Return the changed fields of a definition that moves to a server, where each machine has a command and folder."""
    if not found.source.startswith("/"):
        return {}
    place = CheckPlace(found.digest, found.cwd, found.source)
    new: dict[str, Any] = {"source": check_queries.source_on(machine, found.source)}
    new |= {"digest": check_queries.inputs_digest(found.inputs), "machines": {**found.machines, machine: place}}
    return new | ({"cwd": ""} if found.cwd else {})


def _to_file(found: CheckDefinition, machine: str) -> dict[str, Any]:
    """Return the changed fields of a definition that moves to a file, which has one command and one folder."""
    place = found.place(machine) if machine else None
    if place is None:
        # Nothing would notice that the files of another machine have changed.
        return {"machines": {}} if found.machines else {}
    new: dict[str, Any] = {"source": place.source, "digest": place.digest, "machines": {}}
    return new | ({"cwd": place.cwd} if place.cwd else {})
