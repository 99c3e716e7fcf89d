"""Replies: their members, the lines that are sent, and the reply that a repeated request gets, stored under its
idempotency key (docs: protocol, section 2). Lines with long values are not kept in memory.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from tui_tasks.channel.request_reader import PendingRequest
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidRequest, NotFound, Refusal
from tui_tasks.core.unjournaled import local_values
from tui_tasks.dialects.tool_table import Wait

if TYPE_CHECKING:
    from tui_tasks.dialects.long_replies import LongValue


# A random placeholder for a long value while the rest is encoded; it occurs in no text.
_PLACE: Final = msgspec.json.encode(uuid4().hex)
_PART: Final = 64 * 1024
_UID_LENGTH: Final = 36
# Appended to `not_found`: how the caller finds the right name.
_NAME_HINTS: Final = {
    "task": ": name a task by its uid, the uid's first 6 or more characters, or its number, #N",
    "plan": ": name a plan by its plan_id (see list_plans)",
    "list": ": name a list by its name, a plan by its plan_id; leave it out for any",
    "job": ": name a job by its uuid (see scheduler:list_tasks)",
    "run": ": name a run by its run_id (see scheduler:get_runs)",
    "claim": ": name a claim by the id that control:claim returned to you",
}


def served(pending: PendingRequest, result: Any, seq: int) -> dict[str, Any]:
    """Return the reply with the result of a request; `seq` is that of the newest entry."""
    reply: dict[str, Any] = {"id": pending.id, "ok": True, "result": result, "seq": seq}
    if pending.note is not None:
        reply["note"] = pending.note
    return reply


def refused(pending: PendingRequest, refusal: Refusal, seq: int) -> dict[str, Any]:
    """Return the reply that refuses a request; `seq` is that of the newest entry."""
    message = refusal.message
    if isinstance(refusal, NotFound) and not refusal.is_explained and len(refusal.data["id"]) != _UID_LENGTH:
        message += _NAME_HINTS.get(refusal.kind, "")
        if refusal.kind == "task" and re.fullmatch("#?0+", refusal.data["id"]):
            message += "; the numbers of tasks start at #1"
    error = {"code": refusal.code, "message": message, "data": refusal.data}
    reply: dict[str, Any] = {"id": pending.id, "ok": False, "error": error}
    if pending.tool is not None and pending.tool.refusal is not None:
        reply["result"] = pending.tool.refusal(refusal)
    reply["seq"] = seq
    return reply


def newest_seq(db: Database) -> int:
    """Return the seq of the newest entry, for a reply that is not made in a transaction; 0 if it cannot be read."""
    with contextlib.suppress(Exception):
        return journal.newest(db)
    return 0


class LongLine:
    """A line that contains long values."""

    def __init__(self, around: list[bytes], values: list[LongValue]) -> None:
        """`around` has the bytes before, between and after the values."""
        self._around = around
        self._values = values
        self.size = sum(map(len, around)) + sum(value.size for value in values)

    def parts(self) -> Iterator[bytes]:
        """Yield the line in parts."""
        yield self._around[0]
        for value, behind in zip(self._values, self._around[1:], strict=True):
            yield from value.parts(_PART)
            yield behind

    def whole(self) -> bytes:
        """Return the whole line."""
        return b"".join(self.parts())


ReplyLine = bytes | LongLine


class ReplyEncoder:
    """Encodes replies as lines. Used by one thread."""

    def __init__(self) -> None:
        self._values: list[LongValue] = []
        self._encode = msgspec.json.Encoder(enc_hook=self._keep_place).encode

    def line(self, reply: Any) -> ReplyLine:
        """Return a reply, or the replies of a batch, as a line without its newline."""
        self._values = []
        encoded = self._encode(reply)
        return LongLine(encoded.split(_PLACE), self._values) if self._values else encoded

    def _keep_place(self, value: Any) -> msgspec.Raw:
        from tui_tasks.dialects.long_replies import LongValue

        if not isinstance(value, LongValue):
            raise NotImplementedError(f"a {type(value).__name__} is no JSON")
        self._values.append(value)
        return msgspec.Raw(_PLACE)


def whole(line: ReplyLine) -> bytes:
    """Return a line as bytes."""
    return line if isinstance(line, bytes) else line.whole()


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
    stored = local_values.reply(db, pending.agent, key)
    if stored is None:
        return None
    stored_fingerprint, reply = stored
    if stored_fingerprint != fingerprint:
        raise InvalidRequest(f"the idempotency key {key[:100]} was used with another tool or other arguments")
    stored_reply: dict[str, Any] = msgspec.json.decode(reply)
    return stored_reply


def note_of_stored(db: Database, stored: dict[str, Any]) -> str | None:
    """Return the note of a stored reply: its own, or that the write which it reports was undone since."""
    from tui_tasks.core.commit.journal import undone_by

    change = stored.get("change")
    undo = None if change is None else undone_by(db, change)
    if undo is None:
        return stored.get("note")
    return (
        f"This is the reply of the first request with this idempotency key. {undo.actor} has taken that write back "
        f"(entry {undo.seq}). To write it again, use a new key."
    )


def store_reply(
    db: Database, pending: PendingRequest, result: Any, seq: int, database_now: int, change: int | None = None
) -> None:
    """Store a reply, or what the request waits for, within the request's own transaction.

    Args:
        database_now: the database's instant in microseconds (`database_clock`), from which the key's age counts.
        change: what the request has written, as an undo names it; None: nothing.
    """
    key, fingerprint = _key_and_fingerprint(pending)
    held: dict[str, Any] = {"waits_for": result.subject} if isinstance(result, Wait) else {"result": result, "seq": seq}
    held |= {name: value for name, value in (("note", pending.note), ("change", change)) if value is not None}
    local_values.put_reply(db, pending.agent, key, fingerprint, whole(ReplyEncoder().line(held)).decode(), database_now)


def drop_stored(db: Database, pending: PendingRequest) -> None:
    """Delete the key of a request whose wait has ended with a refusal."""
    local_values.drop_reply(db, pending.agent, _key_and_fingerprint(pending)[0])
