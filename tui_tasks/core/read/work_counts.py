"""What git last counted of works: their commits and lines, and what stands in the way of a merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import KEPT_COUNTS, WORK_COUNTS, Work
from tui_tasks.core.engine.database import Database

CONFLICTS: Final = "conflicts with "
"""How the text begins that says in which files a work does not merge."""


class Counts(msgspec.Struct, frozen=True, gc=False):
    """What git counted of a work, at an instant. None: unknown.

    `near` is read by the two properties: one column holds what is near for its agent, or the conflicts.
    """

    head: str | None
    ahead: int | None
    behind: int | None
    files: int | None
    insertions: int | None
    deletions: int | None
    dirty: bool | None
    near: str | None
    at: int

    @property
    def limit(self) -> str | None:
        """The limit that its agent is near to, or what its program asks first."""
        return None if self.conflicts is not None else self.near

    @property
    def conflicts(self) -> str | None:
        """In which files it does not merge."""
        return self.near if self.near is not None and self.near.startswith(CONFLICTS) else None


def counts(db: Database, uid: str) -> Counts | None:
    """Return what git last counted of a work; None if it never has."""
    return _counts_where(db, "uid = ?", (uid,)).get(uid)


def _counts_where(db: Database, condition: str, values: Sequence[Any] = ()) -> dict[str, Counts]:
    """Return what git last counted of some works, by their uids."""
    rows = db.sql(f"SELECT uid, {', '.join(KEPT_COUNTS)}, at FROM work_count WHERE {condition}", tuple(values))
    return {uid: _to_counts(row) for uid, *row in rows.fetchall()}


def _to_counts(row: Sequence[Any]) -> Counts:
    named = dict(zip((*KEPT_COUNTS, "at"), row, strict=True))
    return Counts(**named | {"dirty": None if named["dirty"] is None else bool(named["dirty"])})


def counts_json(db: Database, uid: str) -> dict[str, Any]:
    """Return the same by name; empty if git never has counted."""
    counted = counts(db, uid)
    return {} if counted is None else {name: getattr(counted, name) for name in (*WORK_COUNTS, "dirty")}


def counts_text(db: Database, uid: str) -> str:
    """Return what git last counted of a work, for people: `3 files +41 -7, more not committed`; empty without it."""
    return _counts_text(counts(db, uid))


def _counts_text(counted: Counts | None) -> str:
    if counted is None or counted.files is None:
        return ""
    if not counted.files and counted.dirty:
        return "nothing committed yet"
    lines = f"{counted.files} file{'s' * (counted.files != 1)} +{counted.insertions} -{counted.deletions}"
    return f"{lines}, more not committed" if counted.dirty else lines


def obstacle(db: Database, work: Work) -> str:
    """Return what stands in the way of a work that waits for review, for people: why it was not merged, or that it
    conflicts with its base branch; empty if nothing is known to.
    """
    return _obstacle(work, counts(db, work.uid))


def _obstacle(work: Work, counted: Counts | None) -> str:
    if work.message and work.state == "ready":
        return f"not merged: {work.message}"  # then; what was in the way may be gone by now
    return work.message or (counted.conflicts if counted is not None else None) or ""


def review_texts(db: Database, works: Iterable[Work]) -> list[str]:
    """Return, for people, of each work that waits for review what stands in its way, else what git counted of it."""
    counted = _counts_where(db, "uid IN (SELECT uid FROM work WHERE state IN ('ready', 'conflict'))")
    return [_obstacle(work, counted.get(work.uid)) or _counts_text(counted.get(work.uid)) for work in works]
