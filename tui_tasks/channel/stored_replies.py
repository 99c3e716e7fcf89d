"""The reply that a repeated request gets, stored under its idempotency key (docs: protocol, section 2)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.channel.replies import ReplyEncoder, whole
from tui_tasks.channel.request_reader import PendingRequest
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidRequest
from tui_tasks.dialects.tool_table import Wait

RETENTION: Final = 7 * 24 * 3600 * 1_000_000  # microseconds

# The order of a request's arguments does not matter.
_encode = msgspec.json.Encoder(order="deterministic").encode


def _key_and_fingerprint(pending: PendingRequest) -> tuple[str, str]:
    """Return the key of a request, and a fingerprint that another request with the same key does not have."""
    import hashlib

    assert pending.request is not None
    assert pending.tool is not None
    assert pending.request.idempotency_key is not None
    # An argument of null counts as absent (docs: protocol, section 2).
    arguments = {name: value for name, value in pending.request.arguments.items() if value is not None}
    return pending.request.idempotency_key, hashlib.sha256(_encode([pending.tool.name, arguments])).hexdigest()


def find_stored(db: Database, pending: PendingRequest) -> dict[str, Any] | None:
    """Return the stored `result` and `seq`, or the `waits_for` of a request still waiting; None for a new key.

    Raises:
        InvalidRequest: the key was used with another tool or other arguments.
    """
    key, fingerprint = _key_and_fingerprint(pending)
    stored = find_reply(db, pending.agent, key)
    if stored is None:
        return None
    stored_fingerprint, reply = stored
    if stored_fingerprint != fingerprint:
        raise InvalidRequest(f"the idempotency key {key[:100]} was used with another tool or other arguments")
    stored_reply: dict[str, Any] = msgspec.json.decode(reply)
    return stored_reply


def note_of_stored(db: Database, stored: dict[str, Any]) -> str | None:
    """Return the note of a stored reply: its own, or that the write which it reports was taken back since."""
    from tui_tasks.core.commit.journal import taken_back_by

    change = stored.get("change")
    undo = None if change is None else taken_back_by(db, change)
    if undo is None:
        return stored.get("note")
    return (
        f"This is the reply of the first request with this idempotency key. {undo.actor} has taken that write back "
        f"(entry {undo.seq}). To write it again, use a new key."
    )


def store_reply(
    db: Database, pending: PendingRequest, result: Any, seq: int, passed: int, change: int | None = None
) -> None:
    """Store a reply, or what the request waits for, within the request's own transaction.

    Args:
        passed: the database's instant in microseconds (`database_clock`), from which the key's age counts.
        change: what the request has written, as an undo names it; None: nothing.
    """
    key, fingerprint = _key_and_fingerprint(pending)
    held: dict[str, Any] = {"waits_for": result.subject} if isinstance(result, Wait) else {"result": result, "seq": seq}
    held |= {name: value for name, value in (("note", pending.note), ("change", change)) if value is not None}
    put_reply(db, pending.agent, key, fingerprint, whole(ReplyEncoder().line(held)).decode(), passed)


def drop_stored(db: Database, pending: PendingRequest) -> None:
    """Delete the key of a request whose wait has ended with a refusal."""
    drop_reply(db, pending.agent, _key_and_fingerprint(pending)[0])


def find_reply(db: Database, agent: str, key: str) -> tuple[str, str] | None:
    """Return the stored fingerprint and reply of a key, or None."""
    row = db.sql("SELECT fingerprint, reply FROM kept_reply WHERE agent = ? AND key = ?", (agent, key)).fetchone()
    return (row[0], row[1]) if row else None


def put_reply(db: Database, agent: str, key: str, fingerprint: str, reply: str, passed: int) -> None:
    """Store a reply in the transaction of its request; delete those older than `RETENTION`.

    `passed` is the database's own instant (`database_clock`): by a wall clock that is days ahead, all would be too old.
    """
    db.sql("DELETE FROM kept_reply WHERE at < ?", (passed - RETENTION,))
    drop_reply(db, agent, key)
    db.sql(
        "INSERT INTO kept_reply (agent, key, fingerprint, reply, at) VALUES (?, ?, ?, ?, ?)",
        (agent, key, fingerprint, reply, passed),
    )


def drop_reply(db: Database, agent: str, key: str) -> None:
    """Delete the reply of a key."""
    db.sql("DELETE FROM kept_reply WHERE agent = ? AND key = ?", (agent, key))
