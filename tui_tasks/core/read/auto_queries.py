"""Reads of lists that work themselves off (docs: protocol, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tui_tasks.core.agent_snapshots import Auto
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.work_queries import LIVE
from tui_tasks.core.schema.record_tables import AutoRow
from tui_tasks.core.snapshots import reader

_COLUMNS: Final = ", ".join(Auto.__struct_fields__)
_read = reader(Auto, AutoRow)


def auto_of(db: Database, list_uid: str) -> Auto | None:
    """Return whether and how a list works itself off; None if it never did."""
    return next(iter(_autos_where(db, "uid = ?", (list_uid,))), None)


def find_auto(db: Database, list_uid: str) -> Auto:
    """Return the same.

    Raises:
        NotFound: it never did.
    """
    auto = auto_of(db, list_uid)
    if auto is None:
        raise NotFound("auto", list_uid)
    return auto


def switched_on_autos(db: Database) -> list[Auto]:
    """Return the lists that work themselves off by agents of this machine."""
    return _autos_where(db, "is_on = 1 AND machine = ?", (db.machine,))


def all_autos(db: Database) -> list[Auto]:
    """Return the lists that work themselves off, or did."""
    return _autos_where(db, "1")


def auto_set_at(db: Database, auto: Auto) -> int | None:
    """Return the instant at which it was last turned on or changed; None where the journal has it no more."""
    at: int | None = db.scalar("SELECT max(at) FROM journal WHERE uid = ? AND kind = 'list.auto'", (auto.uid,))
    return at


def auto_json(auto: Auto) -> dict[str, Any]:
    """Return it as the shell shows it."""
    return {name: getattr(auto, name) for name in ("program", "at_once", "failures", "stays", "is_on", "message")}


def auto_text(auto: Auto) -> str:
    """Return it for people: `auto 2 claude`, or why it stopped; empty if the human turned it off."""
    if auto.is_on:
        return f"auto {auto.at_once}{f' {auto.program}' if auto.program else ''}"
    return f"auto is off: {auto.message}" if auto.message is not None else ""


def _autos_where(db: Database, condition: str, values: Sequence[Any] = ()) -> list[Auto]:
    rows = db.sql(f"SELECT {_COLUMNS} FROM auto WHERE {condition} ORDER BY uid", tuple(values))
    return [_read(row) for row in rows.fetchall()]


def next_task(db: Database, auto: Auto) -> str | None:
    """Return the uid of the task to start next, or None: ready, unassigned, not tried since it was turned on, and with
    all work on its dependencies merged; most urgent first, then oldest.
    """
    row = db.sql(
        "SELECT task.uid FROM task JOIN list ON list.id = task.list_id"
        " WHERE list.uid = ? AND list.deleted = 0 AND task.deleted = 0 AND task.status = 'pending'"
        " AND 0 == (task.waiting_on > 0) AND task.held = 0 AND task.agent IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM work WHERE work.task_uid = task.uid AND work.id > ?)"
        " AND NOT EXISTS (SELECT 1 FROM edge JOIN work ON work.task_uid = edge.on_uid"
        f" WHERE edge.task_uid = task.uid AND work.state IN ({LIVE}))"
        " ORDER BY task.priority, task.id LIMIT 1",
        (auto.uid, auto.after),
    ).fetchone()
    return None if row is None else str(row[0])


def busy(db: Database, auto: Auto) -> int:
    """Return how many agents are at work on tasks of the list."""
    return sum(state in ("starting", "working") for state in _states(db, auto.uid, 0))


def failed_in_a_row(db: Database, auto: Auto) -> int:
    """Return how many of the list's agents have failed since the last that did not, since it was turned on."""
    ended = [state for state in _states(db, auto.uid, auto.after) if state not in ("starting", "working")]
    return next((at for at, state in enumerate(ended) if state != "failed"), len(ended))


def _states(db: Database, list_uid: str, after: int) -> list[str]:
    """Return the states of the works on tasks of a list, newest first."""
    rows = db.sql(
        "SELECT work.state FROM work JOIN task ON task.uid = work.task_uid JOIN list ON list.id = task.list_id"
        " WHERE list.uid = ? AND work.id > ? ORDER BY work.id DESC",
        (list_uid, after),
    )
    return [state for (state,) in rows.fetchall()]
