"""Reads of lists that work themselves off: which are on, what is to be started, and how its agents fared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.schema.tables.work import AutoRow
from tui_tasks.core.snapshots import Auto, reader
from tui_tasks.core.vocab import LIVE_WORK

_COLUMNS: Final = ", ".join(Auto.__struct_fields__)
_LIVE: Final = ", ".join(f"'{state}'" for state in sorted(LIVE_WORK))
_read = reader(Auto, AutoRow)


def of_list(db: Database, list_uid: str) -> Auto | None:
    """Return whether and how a list works itself off; None if it never did."""
    return next(iter(_where(db, "uid = ?", (list_uid,))), None)


def find(db: Database, list_uid: str) -> Auto:
    """Return the same.

    Raises:
        NotFound: it never did.
    """
    found = of_list(db, list_uid)
    if found is None:
        raise NotFound("auto", list_uid)
    return found


def switched_on(db: Database) -> list[Auto]:
    """Return the lists that work themselves off."""
    return _where(db, "is_on = 1")


def everything(db: Database) -> list[Auto]:
    """Return the lists that work themselves off, or did."""
    return _where(db, "1")


def to_json(auto: Auto) -> dict[str, Any]:
    """Return it as the shell shows it."""
    return {name: getattr(auto, name) for name in ("program", "at_once", "failures", "stays", "is_on", "message")}


def text(auto: Auto) -> str:
    """Return it for people: `auto 2 claude`, or why it stopped; empty if the human turned it off."""
    if auto.is_on:
        return f"auto {auto.at_once}{f' {auto.program}' if auto.program else ''}"
    return f"auto is off: {auto.message}" if auto.message is not None else ""


def _where(db: Database, condition: str, values: Sequence[Any] = ()) -> list[Auto]:
    rows = db.sql(f"SELECT {_COLUMNS} FROM auto WHERE {condition} ORDER BY uid", tuple(values))
    return [_read(row) for row in rows.fetchall()]


def last_work(db: Database) -> int:
    """Return the id of the newest work; 0 without any."""
    return int(db.sql("SELECT coalesce(max(id), 0) FROM work").fetchone()[0])


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
        f" WHERE edge.task_uid = task.uid AND work.state IN ({_LIVE}))"
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
