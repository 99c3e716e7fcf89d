"""Reads of the tasks and memories that match, for the dialects `task` and `memory` (contract, section 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import models, search
from tui_tasks.core.database import Database
from tui_tasks.core.models import MemoryRow, TaskRow
from tui_tasks.core.orm import fn
from tui_tasks.core.queries import LIVE, TASK, read_memory, read_task
from tui_tasks.core.snapshots import Memory, Task

# All that match are counted, so that to look at each of so many costs less than to go through a long list.
MOST_FOUND: Final = 100_000


def tasks(
    db: Database,
    list_id: int,
    *,
    statuses: Iterable[str] | None = None,
    priorities: Any = None,
    tags: Iterable[str] = (),
    domain: str | None = None,
    query: str | None = None,
    limit: int | None = None,
) -> tuple[list[Task], int]:
    """The tasks of a list that match, most urgent first, then oldest, and how many match in all.

    `priorities` is (lowest number, highest number or None).
    """
    narrow = None if query is None else search.narrowed(db, [query], MOST_FOUND)
    wanted: Any = LIVE & search.of_list(list_id, narrow)
    if statuses is not None:
        wanted &= TaskRow.status.in_(sorted(statuses))
    if priorities is not None:
        lowest, highest = priorities
        wanted &= TaskRow.priority >= lowest
        if highest is not None:
            wanted &= TaskRow.priority <= highest
    for tag in tags:
        wanted &= fn.has_tag(TaskRow.tags, tag) == 1
    if domain is not None:
        wanted &= TaskRow.domain == domain
    if query is not None:
        folded = query.casefold()
        wanted &= (fn.instr(fn.casefold(TaskRow.name), folded) > 0) | (
            fn.instr(fn.casefold(TaskRow.description), folded) > 0
        )
    total = db.query(TaskRow.select(fn.COUNT(TaskRow.id)).where(wanted))[0][0]
    rows = db.query(
        TaskRow.select(*TASK).where(wanted).order_by(TaskRow.priority, TaskRow.id).limit(-1 if limit is None else limit)
    )
    return [read_task(row) for row in rows], total


def memories(
    db: Database,
    *,
    uid: str | None = None,
    query: str | None = None,
    domain: str | None = None,
    limit: int | None = None,
) -> tuple[list[Memory], int]:
    """The memories that match, last updated first, and how many match in all."""
    wanted: Any = MemoryRow.deleted == 0
    if uid is not None:
        wanted &= MemoryRow.uid == uid
    if domain is not None:
        wanted &= MemoryRow.domain == domain
    if query is not None:
        folded = query.casefold()
        # The content is kept as JSON: a text stands in it as JSON writes it.
        within = msgspec.json.encode(folded).decode()[1:-1]
        wanted &= (fn.instr(fn.casefold(MemoryRow.title), folded) > 0) | (
            fn.instr(fn.casefold(MemoryRow.content), within) > 0
        )
    found = MemoryRow.select(*models.columns(MemoryRow).values()).where(wanted)
    total = db.query(MemoryRow.select(fn.COUNT(MemoryRow.id)).where(wanted))[0][0]
    latest_first = found.order_by(MemoryRow.updated_at.desc(), MemoryRow.id.desc())
    rows = db.query(latest_first.limit(-1 if limit is None else limit))
    return [read_memory(row) for row in rows], total
