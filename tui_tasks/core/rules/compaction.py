"""Compaction of the journal: the human's alone (docs: protocol, section 3, `cursor_expired`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, Forbidden
from tui_tasks.core.journal import compaction
from tui_tasks.core.journal.compaction import Base
from tui_tasks.core.operations.changes import CompactJournal
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.jobs.run_steps import refuse_inside_run

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(CompactJournal)
def compact(tx: Transaction, op: CompactJournal) -> int:
    """Record which entries compaction removes; `compaction.drop_some` deletes them afterwards, in parts."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human drops entries of the journal")
    refuse_inside_run(tx)
    tables = compaction.copied(tx.db, op.copy)
    oldest, hashed = compaction.old_entries(tx.db, op.last)
    if op.last > tables:
        raise Conflict("the tables were copied before that: nothing was dropped")
    tx.emit("journal.compacted", "journal", "", new={"last": op.last, "hash": hashed.hex(), "before": op.before})
    compaction.keep_base(tx.db, Base(tx.seq, op.last, hashed, tables, op.copy))
    return op.last + 1 - oldest
