"""Serves one request at a time, for callers without a channel: the command line and MCP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks.channel.session import Session

if TYPE_CHECKING:
    from tui_tasks.core.engine.watch import Watch


def ask(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """Serve one request and return its reply, blocking while the request waits.

    If the caller is interrupted meanwhile, the request is withdrawn.

    Raises:
        StorageFailed: the database cannot be read or written.
    """
    reply: dict[str, Any] = msgspec.json.decode(ask_encoded(session, request))
    return reply


def ask_encoded(session: Session, request: dict[str, Any]) -> bytes:
    """The same, as the line that a channel sends."""
    replies = session.answer([request])
    if not replies:
        replies = _wait_for_reply(session, request.get("id"))
    return replies[0]


def _wait_for_reply(session: Session, id: Any) -> list[bytes]:
    from tui_tasks.core.engine.watch import Watch

    watch = Watch(session.store.db)
    try:
        while not (replies := session.settle()):
            _sleep_until_change(session, watch)
    except BaseException:
        session.waits.abandon(id)
        raise
    finally:
        watch.close()
    return replies


def _sleep_until_change(session: Session, watch: Watch) -> None:
    """Sleep until another process has committed, or something is due."""
    while not watch.changed(time.monotonic()):
        due = session.due()
        left = float("inf") if due is None else (due - session.elapsed_time()) / 1_000_000
        if left <= 0:
            return
        watch.sleep(left)
