"""Questions to the human: those of agents, and the requests that programs make to the person at their terminal."""

from __future__ import annotations

from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.schema.tables.agents import AskRow
from tui_tasks.core.schema.tables.columns import columns
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.snapshots import Ask, reader

# How many of the newest questions are searched: a hook waits for about a minute, so its question is among them.
_NEWEST: Final = 200

_COLUMNS = tuple(columns(AskRow).values())
_read = reader(Ask, AskRow)
_ASK = Statement(AskRow.select(*_COLUMNS).where(AskRow.uid == slot("uid")))
_OPEN_ASKS = Statement(AskRow.select(*_COLUMNS).where(AskRow.state == SQL("'open'")).order_by(AskRow.opened_at))
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


def ask(db: Database, uid: str) -> Ask:
    """Return the question with that id.

    Raises:
        NotFound: there is none.
    """
    row = db.one(_ASK, uid=uid)
    if row is None:
        raise NotFound("question", uid)
    return _read(row)


def open_asks(db: Database) -> list[Ask]:
    """Return the questions that wait for the human, oldest first."""
    return [_read(row) for row in db.all(_OPEN_ASKS)]


def open_by_agent(db: Database) -> dict[str, list[Ask]]:
    """Return the questions that wait for the human by the agent that asks, oldest first."""
    found: dict[str, list[Ask]] = {}
    for one in open_asks(db):
        found.setdefault(one.agent, []).append(one)
    return found


def waiting_as(db: Database, name: str) -> str | None:
    """Return the uid of the question for which a hook waits under that name; None if it is not recorded yet."""
    row = db.one(_WAITING_AS, name=name)
    return row[0] if row else None


def is_answered_by_human(db: Database, uid: str) -> bool:
    """Return whether the journal has the human's answer to a question."""
    return db.one(_ANSWERED_BY, uid=uid) is not None
