"""Lists that work themselves off: the human turns one on, and its ready tasks are started as places get free.

`work.auto_lists` starts them, and turns a list off after failures in a row (docs: protocol, section 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.agent_snapshots import Auto
from tui_tasks.core.errors import Conflict, InvalidArgument
from tui_tasks.core.operations.work import HostAuto, SetAuto, StopAuto
from tui_tasks.core.read import auto_queries, work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.work_rules import require_human

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(SetAuto)
def set_auto(tx: Transaction, op: SetAuto) -> Auto:
    """Turn it on, or change it.

    Raises:
        Conflict: the list is archived.
        InvalidArgument: a number is below 1.
    """
    require_human(tx)
    home = task_queries.list_by_uid(tx.db, op.list_uid)
    if home.archived:
        raise Conflict(f"{home.name} is archived", id=home.uid)
    for name in ("at_once", "failures"):
        if getattr(op, name) < 1:
            raise InvalidArgument(name, f"{name} is 1 or more")
    known = auto_queries.auto_of(tx.db, home.uid)
    after = known.after if known is not None and known.is_on else work_queries.last_work(tx.db)
    fields = {name: getattr(op, name) for name in ("program", "folder", "at_once", "failures", "stays", "host")}
    return _set(tx, known, Auto(uid=home.uid, is_on=True, after=after, machine=tx.db.machine, **fields))


@rule(HostAuto)
def host_auto(tx: Transaction, op: HostAuto) -> Auto:
    """Record the process that starts its agents from now on."""
    require_human(tx)
    known = auto_queries.find_auto(tx.db, op.list_uid)
    return _set(tx, known, msgspec.structs.replace(known, host=op.host))


@rule(StopAuto)
def stop_auto(tx: Transaction, op: StopAuto) -> Auto:
    """Turn it off. The agents that are at work continue."""
    require_human(tx)
    known = auto_queries.find_auto(tx.db, op.list_uid)
    return _set(tx, known, msgspec.structs.replace(known, is_on=False, message=op.message))


def _set(tx: Transaction, known: Auto | None, wanted: Auto) -> Auto:
    if known is None:
        tx.emit("list.auto", "auto", wanted.uid, new=asdict(wanted))
        return wanted
    old: dict[str, Any] = asdict(known)
    new = {name: value for name, value in asdict(wanted).items() if old[name] != value}
    if new:
        tx.emit("list.auto", "auto", wanted.uid, old={name: old[name] for name in new}, new=new)
    return wanted
