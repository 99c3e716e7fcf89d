"""Requests that may come twice: the first reply is the reply to both (docs: protocol, section 2, `idempotency_key`)."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from tui_tasks.channel.pending_request import PendingRequest
from tui_tasks.channel.replies import ReplyEncoder, whole
from tui_tasks.core import idempotency_keys
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidRequest
from tui_tasks.dialects.base import Wait

# Arguments are the same in whatever order they are written.
_encode = msgspec.json.Encoder(order="deterministic").encode


def _named(job: PendingRequest) -> tuple[str, str]:
    """The key of a request, and what tells it from another request with the same key."""
    assert job.request is not None
    assert job.tool is not None
    assert job.request.idempotency_key is not None
    # Null is as good as absent (docs: protocol, section 2).
    arguments = {name: value for name, value in job.request.arguments.items() if value is not None}
    return job.request.idempotency_key, hashlib.sha256(_encode([job.tool.name, arguments])).hexdigest()


def find(db: Database, job: PendingRequest, agent: str) -> dict[str, Any] | None:
    """The `result` and `seq` of the first time, or what it `waits_for` still; None when this is the first.

    Raises:
        InvalidRequest: the key was used with another tool or other arguments.
    """
    key, fingerprint = _named(job)
    stored = idempotency_keys.find(db, agent, key)
    if stored is None:
        return None
    was, reply = stored
    if was != fingerprint:
        raise InvalidRequest(f"the idempotency key {key[:100]} was used with another tool or other arguments")
    held: dict[str, Any] = msgspec.json.decode(reply)
    return held


def keep(db: Database, job: PendingRequest, agent: str, result: Any, seq: int, passed: int) -> None:
    """Keep a reply, or what it waits for, within the transaction of what it tells of; `passed` as `kept` has it."""
    key, fingerprint = _named(job)
    held = {"waits_for": result.subject} if isinstance(result, Wait) else {"result": result, "seq": seq}
    idempotency_keys.keep(db, agent, key, fingerprint, whole(ReplyEncoder().line(held)).decode(), passed)


def drop(db: Database, job: PendingRequest, agent: str) -> None:
    """Keep nothing of a request whose wait has ended as a refusal."""
    idempotency_keys.drop(db, agent, _named(job)[0])
