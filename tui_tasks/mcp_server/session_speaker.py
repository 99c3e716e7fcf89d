"""Lets an MCP server speak as the session of the agent program that has started it, so that both are one agent.

That holds for a server that is called by the program's plain name, as `setup` writes it; any other name stays.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tui_tasks.channel.session import Session
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read import messages
from tui_tasks.core.read.tasks import claims
from tui_tasks.core.snapshots import iso
from tui_tasks.hooks.main import PROGRAMS
from tui_tasks.hooks.presence import own_session
from tui_tasks.hooks.replies import collecting
from tui_tasks.state.opening import take_in_hooks


class SessionSpeaker:
    """Keeps the name of one connection up to date, and hands out the messages that hooks would have given."""

    def __init__(self, plain_name: str) -> None:
        self._plain = plain_name
        self._started_by = own_session.starters(self._plain) if self._plain in PROGRAMS else ()
        self._client_sessions: tuple[str, ...] = ()
        # What was begun under the plain name: claims, questions without an answer that was told, requests with keys.
        self._claims: set[str] = set()
        self._asks: set[str] = set()
        self._has_keys = False

    def serves(self, client_sessions: tuple[str, ...]) -> bool:
        """Note by which ids the program names its session; return whether they are others than before."""
        is_new = bool(client_sessions) and client_sessions != self._client_sessions
        self._client_sessions = client_sessions or self._client_sessions
        return is_new

    def look(self, session: Session) -> Session:
        """Return who speaks from now on: the program's session, if it is known and nothing needs the plain name."""
        if not self._started_by or session.waits:
            return session
        with contextlib.suppress(StorageFailed):
            # Hooks may have told of the start of the session.
            take_in_hooks(session.store)
            name = session.identity.agent
            found = own_session.agent_of(session.store.db, self._plain, self._started_by, name, self._client_sessions)
            if found != name and not (name == self._plain and self._is_needed(session)):
                return session.succeeded_by(found)
        return session

    def _is_needed(self, session: Session) -> bool:
        """Return whether something that has the plain name would be lost under another one."""
        db = session.store.db
        self._claims = {uid for uid in self._claims if (found := claims.find(db, uid)) and found.state == "active"}
        is_written_to = not session.identity.read_only and messages.waiting(db, self._plain)
        if self._has_keys or self._claims or self._asks or is_written_to:
            return True
        agent = messages.agent(db, self._plain)
        return agent is not None and agent.paused

    def note(self, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Note what a request under the plain name has begun or ended."""
        self._has_keys |= "idempotency_key" in request
        result = reply.get("result")
        if not isinstance(result, dict):
            return
        if isinstance(claim := result.get("claim"), str):
            self._claims.add(claim)
        if isinstance(ask := result.get("ask"), str):
            (self._asks.add if result.get("state") == "open" else self._asks.discard)(ask)

    def messages(self, session: Session) -> list[dict[str, Any]]:
        """Return what the human has written to the session, for the next reply; its hooks give the rest.

        One that a job has started is given it by its run.
        """
        identity = session.identity
        if identity.agent == self._plain or identity.read_only or identity.inside_run:
            return []
        with contextlib.suppress(StorageFailed, OSError):
            found = collecting.collect(session.store, identity.agent, session.clock())
            return [{"at": iso(message.sent_at), "text": message.text} for message in found]
        return []
