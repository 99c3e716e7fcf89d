"""Sessions for asyncio: requests of agents over MCP on the store's thread, in the name of the program's session.

That holds for a server that is called by the program's plain name, as `setup` writes it; any other name stays.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import anyio
import msgspec

from tui_tasks.channel.session import Session
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.snapshots import iso
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.hooks import PROGRAM_NAMES, session_processes
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.mcp_server.resources import ResourceSubscriptions
from tui_tasks.state.open_store import read_payloads
from tui_tasks.text.times import SECOND


class SessionSpeaker:
    """Keeps the name of one connection up to date, and hands out the messages that hooks would have given."""

    def __init__(self, plain_name: str) -> None:
        self._plain = plain_name
        self._started_by = session_processes.starters(self._plain) if self._plain in PROGRAM_NAMES else ()
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
            read_payloads(session.store)
            name = session.identity.agent
            agent = session_processes.agent_of(
                session.store.db, self._plain, self._started_by, name, self._client_sessions
            )
            if agent != name and not (name == self._plain and self._is_needed(session)):
                return session.succeeded_by(agent)
        return session

    def _is_needed(self, session: Session) -> bool:
        """Return whether something that has the plain name would be lost under another one."""
        db = session.store.db
        self._claims = {
            uid for uid in self._claims if (claim := task_records.find(db, uid)) and claim.state == "active"
        }
        is_written_to = not session.identity.read_only and message_queries.waiting(db, self._plain)
        if self._has_keys or self._claims or self._asks or is_written_to:
            return True
        agent = message_queries.agent(db, self._plain)
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
            texts = reply_sender.collect(session.store, identity.agent, session.clock())
            return [{"at": iso(message.sent_at), "text": message.text} for message in texts]
        return []


_log = logging.getLogger(__name__)

# Seconds until a failed read is retried.
_RETRY: Final = 0.5


class AsyncSession:
    """The session of one agent, for asyncio."""

    def __init__(self, session: Session, wake: Callable[[], None]) -> None:
        """`wake` is called after each request, as it may have ended a wait or begun one with an earlier deadline."""
        self.session = session
        self.wake = wake
        self._messages: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._replies: dict[Any, dict[str, Any]] = {}
        self._waiting: dict[int, anyio.Event] = {}
        self._speaker: SessionSpeaker | None = None

    def speak_as_session(self) -> None:
        """Speak as the session of the agent program that has started this process, as soon as there is one."""
        self._speaker = SessionSpeaker(self.session.identity.agent)

    def current(self) -> AsyncSession:
        """Return this session, under the name that its agent has now."""
        if self._speaker is not None:
            self.session = self._speaker.look(self.session)
        return self

    def serve(self, client_sessions: tuple[str, ...]) -> None:
        """Speak as the session that the program itself names by one of these ids, where it has several."""
        if self._speaker is not None and self._speaker.serves(client_sessions):
            self.session = self._speaker.look(self.session)

    async def ask(self, request: dict[str, Any], *, is_shown: bool = True) -> dict[str, Any]:
        """Serve a request, given without an id; return the reply. If the caller is cancelled, its wait is abandoned.

        `is_shown`: whether the agent sees the reply; otherwise the human's messages go with the next one.
        """
        number = next(self._ids)
        self._deliver(self.session.answer([{**request, "id": number}]))
        self.wake()
        try:
            if number not in self._replies:
                self._waiting[number] = anyio.Event()
                await self._waiting[number].wait()
        except BaseException:
            self.session.waits.abandon(number)
            raise
        finally:
            self._waiting.pop(number, None)
        reply = self._replies.pop(number)
        self._messages += reply.pop("messages", ())
        if self._speaker is not None:
            self._speaker.note(request, reply)
            self._messages += self._speaker.messages(self.session) if is_shown else ()
        if is_shown and self._messages:
            reply["messages"], self._messages = self._messages, []
        return reply

    def settle(self) -> None:
        """Resolve the requests whose wait is over."""
        self._deliver(self.session.settle())

    def _deliver(self, replies: list[bytes]) -> None:
        for line in replies:
            reply = msgspec.json.decode(line)
            self._replies[reply["id"]] = reply
            if reply["id"] in self._waiting:
                self._waiting[reply["id"]].set()


class AsyncSessions:
    """The sessions of a process, and the loop that ends their waits.

    Attributes:
        changes: the subscriptions to resources.
    """

    def __init__(self, store: Store, identity: Callable[[], Identity]) -> None:
        self.changes = ResourceSubscriptions(store, identity)
        self._watch = Watch(store.db)
        self._all: list[AsyncSession] = []
        self._pause: anyio.CancelScope | None = None
        # `wake` may be called while the loop does not sleep.
        self._is_woken = False

    def add(self, session: Session) -> AsyncSession:
        """Return the async session of a session."""
        made = AsyncSession(session, self.wake)
        self._all.append(made)
        return made

    def wake(self) -> None:
        """Make the loop check the waits and deadlines again."""
        if self._is_needed():
            self._is_woken = True
            if self._pause is not None:
                self._pause.cancel()

    def _is_needed(self) -> bool:
        return self.changes.has_subscribers or any(one.session.waits for one in self._all)

    async def run(self) -> None:
        """Resolve waiting requests, each as soon as its wait is over, until cancelled."""
        try:
            while True:
                try:
                    with anyio.CancelScope() as self._pause:
                        await self._sleep()
                    self._is_woken = False
                    for one in self._all:
                        if one.session.waits:
                            one.settle()
                    await self.changes.notify()
                except StorageFailed as failure:
                    _log.warning("%s", failure.message)
                    await anyio.sleep(_RETRY)
        finally:
            self._watch.close()

    async def _sleep(self) -> None:
        """Sleep until another process has committed or something is due; without waits, until `wake`."""
        await anyio.sleep(0)
        if self._is_woken:
            return
        sessions = [one.session for one in self._all if one.session.waits]
        if not sessions and not self.changes.has_subscribers:
            await anyio.sleep_forever()
        while not self._watch.changed(time.monotonic()):
            left = min((_seconds_left(session) for session in sessions), default=float("inf"))
            if left <= 0:
                return
            with anyio.move_on_after(min(left, self._watch.wait(time.monotonic()))):
                if self._watch.fd is None:
                    await anyio.sleep_forever()
                else:
                    await anyio.wait_readable(self._watch.fd)
                    self._watch.arm(time.monotonic())


def _seconds_left(session: Session) -> float:
    due = session.due()
    return float("inf") if due is None else (due - session.database_now()) / SECOND
