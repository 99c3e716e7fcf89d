"""What the human tells agents: messages, whether they were answered, and pauses."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.tables.agents import AgentRow
from tui_tasks.core.schema.tables.agents import HumanMessageRow as M
from tui_tasks.core.schema.tables.columns import columns
from tui_tasks.core.schema.tables.journal import JournalRow as J
from tui_tasks.core.snapshots import Agent, HumanMessage, reader

# The kinds of entry by which an agent says something; a session of an agent program ends its turn with words.
_ANSWERS: Final = frozenset({"task.logged", "ask.opened", "session.idle"})
# How many entries after a delivery are searched for the answer.
_LOOKED_AT: Final = 200

_COLUMNS = tuple(columns(M).values())
_read = reader(HumanMessage, M)
_WAITING = Statement(M.select(*_COLUMNS).where((M.agent == slot("agent")) & M.delivered_at.is_null()).order_by(M.id))
_NEWEST = Statement(M.select(*_COLUMNS).where(M.agent == slot("agent")).order_by(M.id.desc()).limit(slot("limit")))
_ONE = Statement(M.select(*_COLUMNS).where(M.uid == slot("uid")))
_DELIVERED_BY = Statement(M.select(*_COLUMNS).where(M.delivered_seq == slot("seq")))
_SENT_BY = Statement(M.select(*_COLUMNS).where(M.seq == slot("seq")))
_LAST_DELIVERED = Statement(
    M.select(*_COLUMNS)
    .where((M.text == slot("text")) & (M.delivered_seq <= slot("until")))
    .order_by(M.delivered_seq.desc())
    .limit(1)
)
_SINCE = Statement(
    J.select(J.kind).where((J.actor == slot("agent")) & (J.seq > slot("seq"))).order_by(J.seq).limit(slot("limit"))
)

_read_agent = reader(Agent, AgentRow)
_AGENT = Statement(AgentRow.select(*columns(AgentRow).values()).where(AgentRow.uid == slot("uid")))


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message and its state: waiting, delivered, or answered (the agent has said something since)."""

    message: HumanMessage
    state: str


def waiting(db: Database, agent: str) -> tuple[HumanMessage, ...]:
    """Return the messages that have not been delivered to an agent yet, in the order in which they were sent."""
    return tuple(_read(row) for row in db.all(_WAITING, agent=agent))


def message(db: Database, uid: str) -> HumanMessage:
    """Return the message with that uid, which exists."""
    return _read(db.one(_ONE, uid=uid))


def delivered_by(db: Database, seq: int) -> HumanMessage | None:
    """Return the message whose delivery the entry `seq` records; None if there is none, or it waits again."""
    row = db.one(_DELIVERED_BY, seq=seq)
    return _read(row) if row else None


def last_delivered(db: Database, text: str, until: int) -> HumanMessage | None:
    """Return the message with a text that was delivered last up to the entry `until`; None if there is none."""
    row = db.one(_LAST_DELIVERED, text=text, until=until)
    return _read(row) if row else None


def sent_by(db: Database, seq: int) -> HumanMessage | None:
    """Return the message that the entry `seq` records; None if there is none."""
    row = db.one(_SENT_BY, seq=seq)
    return _read(row) if row else None


def newest(db: Database, agent: str, limit: int) -> list[Sent]:
    """Return the newest messages to an agent, newest first."""
    return [Sent(found, _state(db, found)) for found in map(_read, db.all(_NEWEST, agent=agent, limit=limit))]


def _state(db: Database, found: HumanMessage) -> str:
    if found.delivered_seq is None:
        return "waiting"
    later: list[Any] = db.all(_SINCE, agent=found.agent, seq=found.delivered_seq, limit=_LOOKED_AT)
    return "answered" if any(kind in _ANSWERS for (kind,) in later) else "delivered"


def agent(db: Database, name: str) -> Agent | None:
    """Return what the human has set for an agent, or None."""
    row = db.one(_AGENT, uid=name)
    return _read_agent(row) if row else None
