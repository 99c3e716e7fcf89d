"""Recording that an agent is stuck, or goes on (`core.read.agents.stuck` finds it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.read.agents import activity
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.session_snapshots import Stuck

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


@rule(NoteStuck)
def note_stuck(tx: Transaction, op: NoteStuck) -> bool:
    """Record a cause once, whichever of several processes finds it first."""
    if tx.actor != vocab.SYSTEM:
        raise Forbidden("whether an agent is stuck is told by what it does")
    known = activity.noted(tx.db).get(op.agent)
    if (known.cause if known is not None else None) == op.cause:
        return False
    new = Stuck(op.agent, op.cause, op.text, op.since)
    kind = "agent.stuck" if op.cause is not None else "agent.unstuck"
    tx.emit(kind, "stuck", op.agent, old=asdict(known) if known is not None else None, new=asdict(new))
    return True
