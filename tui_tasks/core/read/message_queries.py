"""Reads of the human's messages to agents, and of pauses."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Agent, HumanMessage
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.agent_tables import AgentRow
from tui_tasks.core.schema.agent_tables import HumanMessageRow as M
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import Entry, reader

# The kinds of entry by which an agent says something; a session of an agent program ends its turn with words.
_WORDS: Final = frozenset({"task.logged", "ask.opened", "session.idle"})
# How many entries after a delivery are searched for its words.
_LOOKED_AT: Final = 200

_COLUMNS = tuple(columns(M).values())
_read = reader(HumanMessage, M)
_WAITING = Statement(
    lambda: M.select(*_COLUMNS).where((M.agent == slot("agent")) & M.delivered_at.is_null()).order_by(M.id)
)
_NEWEST_MESSAGES = Statement(
    lambda: (
        M.select(*_COLUMNS)
        .where((M.agent == slot("agent")) & (M.delivered_at.is_null() | M.delivered_seq.is_null(False)))
        .order_by(M.id.desc())
        .limit(slot("limit"))
    )
)
_PAUSES: Final = ("agent.paused", "agent.resumed")


def _last_act(*more: str) -> str:
    """Return the SQL of the human's newest entry of these kinds and of those that an undo, or a message, looks at."""
    looked_at = {*vocab.UNDOABLE, "ask.answered", "message.sent", *vocab.WORK_ENDS, vocab.WORK_RESTORED, *more}
    return f"""
SELECT kind, uid, change, seq FROM journal WHERE actor = '{vocab.HUMAN}' AND kind IN {(*sorted(looked_at),)}
AND NOT (kind = 'message.sent' AND EXISTS (
    SELECT 1 FROM human_message WHERE uid = journal.uid AND delivered_at IS NOT NULL AND delivered_seq IS NULL
)) ORDER BY seq DESC LIMIT 1
"""


_LAST_ACT: Final = _last_act()
_LAST_ACT_OR_PAUSE: Final = _last_act(*_PAUSES)
_ONE = Statement(lambda: M.select(*_COLUMNS).where(M.uid == slot("uid")))
_DELIVERED_BY = Statement(lambda: M.select(*_COLUMNS).where(M.delivered_seq == slot("seq")))
_SENT_BY = Statement(lambda: M.select(*_COLUMNS).where(M.seq == slot("seq")))
_LAST_DELIVERED = Statement(
    lambda: (
        M.select(*_COLUMNS)
        .where((M.text == slot("text")) & (M.delivered_seq <= slot("until")))
        .order_by(M.delivered_seq.desc())
        .limit(1)
    )
)
_SINCE = Statement(
    lambda: (
        J.select(J.kind).where((J.actor == slot("agent")) & (J.seq > slot("seq"))).order_by(J.seq).limit(slot("limit"))
    )
)

_read_agent = reader(Agent, AgentRow)
_AGENT = Statement(lambda: AgentRow.select(*columns(AgentRow).values()).where(AgentRow.uid == slot("uid")))


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message and its state: `waiting`, `delivered`, or `spoken`: its agent has said something since."""

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


def sent_last(db: Database) -> HumanMessage | None:
    """Return the message that the human has sent for itself, if they have done nothing since and not withdrawn it."""
    row = db.sql(_LAST_ACT).fetchone()
    if row is None or row[0] != "message.sent" or sum(map(len, journal.of_change(db, row[2]))) > 1:
        return None
    return message(db, row[1])


def newest(db: Database, agent: str, limit: int) -> list[Sent]:
    """Return the newest messages to an agent, newest first."""
    return [Sent(one, _state(db, one)) for one in map(_read, db.all(_NEWEST_MESSAGES, agent=agent, limit=limit))]


def _state(db: Database, message: HumanMessage) -> str:
    if message.delivered_seq is None:
        return "waiting"
    later: list[Any] = db.all(_SINCE, agent=message.agent, seq=message.delivered_seq, limit=_LOOKED_AT)
    return "spoken" if any(kind in _WORDS for (kind,) in later) else "delivered"


def agent(db: Database, name: str) -> Agent | None:
    """Return what the human has set for an agent, or None."""
    row = db.one(_AGENT, uid=name)
    return _read_agent(row) if row else None


def paused_last(db: Database) -> Entry | None:
    """Return the entry by which the human has paused or resumed an agent, if they did nothing since; else None."""
    row = db.sql(_LAST_ACT_OR_PAUSE).fetchone()
    return journal.entry(db, row[3]) if row is not None and row[0] in _PAUSES else None
