"""Values that this database keeps by their keys, outside the journal: no replay, undo or other machine has them.

Most are the human's: when they last looked, when all was seen, their saved filters. Replies to requests are kept by the
idempotency keys of their agents (docs: protocol, section 2).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database

LOOKED: Final = "looked"
SEEN: Final = "seen"
DISMISSED: Final = "hidden"
INBOX: Final = "inbox"
"""The answers typed half in the inbox."""
PUT_OFF: Final = "put_off"
"""The questions that the human has put off in the inbox."""
UNSEEN: Final = "unseen"
"""The changes before the human last looked that they have not seen (`unseen_changes.UnseenChanges`)."""

REPLY_RETENTION: Final = 7 * 24 * 3600 * 1_000_000
"""For how long a reply is kept, in microseconds."""


class Looked(msgspec.Struct, frozen=True, gc=False):
    """When the human last looked: the journal's newest seq then, and the instant in microseconds, UTC."""

    seq: int
    at: int


def get(db: Database, key: str) -> Any:
    """Return what is kept under a key, or None."""
    value = db.scalar("SELECT value FROM view WHERE key = ?", (key,))
    return msgspec.json.decode(value) if value is not None else None


def put(db: Database, key: str, value: Any) -> None:
    """Keep a JSON value under a key, replacing an earlier one; None keeps nothing.

    Raises:
        StorageFailed: nothing was written.
    """
    with db.transaction(write=True):
        if value is None:
            drop_within(db, key)
        else:
            put_within(db, key, value)


def put_within(db: Database, key: str, value: Any) -> None:
    """Do as `put` does, within the write transaction that is open."""
    drop_within(db, key)
    db.sql("INSERT INTO view (key, value) VALUES (?, ?)", (key, msgspec.json.encode(value).decode()))


def drop_within(db: Database, key: str) -> None:
    """Delete what is kept under a key, within the write transaction that is open."""
    db.sql("DELETE FROM view WHERE key = ?", (key,))


def looked(db: Database) -> Looked | None:
    """Return when the human last looked; None if they never did."""
    stored = get(db, LOOKED)
    return None if stored is None else msgspec.convert(stored, Looked)


def seen_at(db: Database) -> int:
    """Return when the human said last that all was seen, in microseconds; 0 if never."""
    return int(get(db, SEEN) or 0)


def put_off(db: Database, now: int) -> dict[str, int]:
    """Return the questions that the human has put off, each with the instant until which it is, which is not over."""
    return {uid: until for uid, until in (get(db, PUT_OFF) or {}).items() if until > now}


def key_of_task(uid: str) -> str:
    """Return the key under which the human dismisses the failure of a task."""
    return f"task:{uid}"


def key_of_job(uid: str) -> str:
    """Return the key under which the human dismisses the failure of a job."""
    return f"job:{uid}"


def key_of_agent(name: str) -> str:
    """Return the key under which the human dismisses the trouble of an agent."""
    return f"stuck:{name}"


def key_of_left(uid: str) -> str:
    """Return the key under which the human dismisses a task that its agent has left."""
    return f"left:{uid}"


def key_of_sent_back(uid: str) -> str:
    """Return the key under which the version of a work is kept that the human has sent back."""
    return f"sent_back:{uid}"


class Dismissed(msgspec.Struct, frozen=True, gc=False):
    """What the human has dismissed: every failure before an instant `at`; and what else, `by_key`, each with the
    instant.
    """

    at: int
    by_key: dict[str, int]

    def has(self, key: str, failed_at: int) -> bool:
        """Return whether a failure was dismissed and has not come again since."""
        return failed_at < self.at or failed_at <= self.by_key.get(key, -1)


def dismissed(db: Database, now: int) -> Dismissed:
    """Return what the human had dismissed at an instant, as far as it is known: of each key, the last time alone."""
    at, by_key = seen_at(db), get(db, DISMISSED) or {}
    return Dismissed(at if at <= now else 0, {key: when for key, when in by_key.items() if when <= now})


_FILTER: Final = "filter:"


def filter_key(name: str) -> str:
    """Return the key under which a filter of that name is kept."""
    return _FILTER + name


def filters(db: Database) -> dict[str, str]:
    """Return the saved filters: the words of each, by name."""
    rows = db.sql("SELECT key, value FROM view WHERE key >= 'filter:' AND key < 'filter;' ORDER BY key").fetchall()
    return {key.removeprefix(_FILTER): msgspec.json.decode(value, type=str) for key, value in rows}


def reply(db: Database, agent: str, key: str) -> tuple[str, str] | None:
    """Return the fingerprint and the reply of an idempotency key, or None."""
    row = db.sql("SELECT fingerprint, reply FROM kept_reply WHERE agent = ? AND key = ?", (agent, key)).fetchone()
    return (row[0], row[1]) if row else None


def put_reply(db: Database, agent: str, key: str, fingerprint: str, text: str, database_now: int) -> None:
    """Store a reply in the transaction of its request; delete those older than `REPLY_RETENTION`.

    By a wall clock that is days ahead, instead of `database_now`, all would be too old.
    """
    db.sql("DELETE FROM kept_reply WHERE at < ?", (database_now - REPLY_RETENTION,))
    drop_reply(db, agent, key)
    db.sql(
        "INSERT INTO kept_reply (agent, key, fingerprint, reply, at) VALUES (?, ?, ?, ?, ?)",
        (agent, key, fingerprint, text, database_now),
    )


def drop_reply(db: Database, agent: str, key: str) -> None:
    """Delete the reply of an idempotency key."""
    db.sql("DELETE FROM kept_reply WHERE agent = ? AND key = ?", (agent, key))
