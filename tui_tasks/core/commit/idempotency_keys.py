"""Stores replies by idempotency key, for at least 24 hours (docs: protocol, section 2)."""

from __future__ import annotations

from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.schema.tables import StoredReplyRow as K

RETENTION: Final = 7 * 24 * 3600 * 1_000_000  # microseconds

_FIND = Statement(lambda: K.select(K.fingerprint, K.reply).where((K.agent == slot("agent")) & (K.key == slot("key"))))
_PUT = Statement(
    lambda: K.insert(
        {
            K.agent: slot("agent"),
            K.key: slot("key"),
            K.fingerprint: slot("fingerprint"),
            K.reply: slot("reply"),
            K.at: slot("at"),
        }
    )
)
_DROP = Statement(lambda: K.delete().where((K.agent == slot("agent")) & (K.key == slot("key"))))
_DROP_OLD = Statement(lambda: K.delete().where(K.at < slot("before")))


def find(db: Database, agent: str, key: str) -> tuple[str, str] | None:
    """Return the stored fingerprint and reply of a key, or None."""
    row = db.one(_FIND, agent=agent, key=key)
    return (row[0], row[1]) if row else None


def put(db: Database, agent: str, key: str, fingerprint: str, reply: str, passed: int) -> None:
    """Store a reply in the transaction of its request; delete those older than `RETENTION`.

    `passed` is the database's own instant (`elapsed`): by a wall clock that is days ahead, all would be too old.
    """
    db.run(_DROP_OLD, {"before": passed - RETENTION})
    drop(db, agent, key)
    db.run(_PUT, {"agent": agent, "key": key, "fingerprint": fingerprint, "reply": reply, "at": passed})


def drop(db: Database, agent: str, key: str) -> None:
    """Delete the reply of a key."""
    db.run(_DROP, {"agent": agent, "key": key})
