"""Reads of the requests that programs make to the person at their terminal (docs: protocol, section 10)."""

from __future__ import annotations

from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import fn
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.schema.tables.agents import AskRow
from tui_tasks.core.schema.tables.journal import JournalRow

# How many of the newest questions are searched: a hook waits for about a minute, so its question is among them.
_NEWEST: Final = 200

_OLDEST_LOOKED_AT = AskRow.select(fn.MAX(AskRow.id) - _NEWEST)
_WAITING_AS = Statement(
    AskRow.select(AskRow.uid)
    .where((AskRow.id > _OLDEST_LOOKED_AT) & (fn.json_extract(AskRow.request, "$.answer") == slot("name")))
    .order_by(AskRow.id.desc())
    .limit(1)
)
_ANSWERED_BY = Statement(
    JournalRow.select(JournalRow.actor)
    .where((JournalRow.actor == vocab.HUMAN) & (JournalRow.kind == "ask.answered") & (JournalRow.uid == slot("uid")))
    .order_by(JournalRow.seq.desc())
    .limit(1)
)


def waiting_as(db: Database, name: str) -> str | None:
    """Return the uid of the question for which a hook waits under that name; None if it is not recorded yet."""
    row = db.one(_WAITING_AS, name=name)
    return row[0] if row else None


def is_answered_by_human(db: Database, uid: str) -> bool:
    """Return whether the journal has the human's answer to a question."""
    return db.one(_ANSWERED_BY, uid=uid) is not None
