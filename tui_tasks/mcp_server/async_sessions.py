"""Sessions for asyncio: the requests of agents over MCP, all on the thread to which the store belongs."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import anyio
import msgspec

from tui_tasks.channel.session import Session
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.mcp_server.changes import ResourceSubscriptions
from tui_tasks.mcp_server.session_speaker import SessionSpeaker

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
    return float("inf") if due is None else (due - session.elapsed_time()) / 1_000_000
