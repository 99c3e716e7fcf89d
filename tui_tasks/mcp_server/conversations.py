"""What agents ask over MCP, answered from sessions; all on the one thread that the store belongs to."""

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

_log = logging.getLogger(__name__)

# Seconds until a database that could not be read is asked again.
_RETRY: Final = 0.5


class Conversation:
    """The requests of one agent."""

    def __init__(self, session: Session, wake: Callable[[], None]) -> None:
        """`wake` is called after each request: it may have ended a wait, or wait less long than others."""
        self.session = session
        self.wake = wake
        self._messages: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._replies: dict[Any, dict[str, Any]] = {}
        self._waiting: dict[int, anyio.Event] = {}

    async def ask(self, request: dict[str, Any], *, is_shown: bool = True) -> dict[str, Any]:
        """Serve a request, without its id, and return the reply; a wait whose caller is cancelled is given up.

        Where the agent is not shown the reply, what the human wrote goes with the next one.
        """
        number = next(self._ids)
        self._keep(self.session.answer([{**request, "id": number}]))
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
        if is_shown and self._messages:
            reply["messages"], self._messages = self._messages, []
        return reply

    def settle(self) -> None:
        """Answer the requests whose wait is over."""
        self._keep(self.session.settle())

    def _keep(self, replies: list[bytes]) -> None:
        for line in replies:
            reply = msgspec.json.decode(line)
            self._replies[reply["id"]] = reply
            if reply["id"] in self._waiting:
                self._waiting[reply["id"]].set()


class Conversations:
    """All that goes on in a process, and what wakes those that wait.

    Attributes:
        changes: who is told of changes, and of which.
    """

    def __init__(self, store: Store, identity: Identity) -> None:
        self.changes = ResourceSubscriptions(store, identity)
        self._watch = Watch(store.db)
        self._all: list[Conversation] = []
        self._pause: anyio.CancelScope | None = None
        # It may be called while nobody sleeps.
        self._is_woken = False

    def begin(self, session: Session) -> Conversation:
        """Take in a session."""
        made = Conversation(session, self.wake)
        self._all.append(made)
        return made

    def wake(self) -> None:
        """Look anew at what is waited for, and for how long."""
        if self._has_anybody():
            self._is_woken = True
            if self._pause is not None:
                self._pause.cancel()

    def _has_anybody(self) -> bool:
        return self.changes.is_wanted or any(one.session.waits for one in self._all)

    async def run(self) -> None:
        """Answer requests that wait, each as soon as what it waits for has happened; runs until it is cancelled."""
        try:
            while True:
                try:
                    with anyio.CancelScope() as self._pause:
                        await self._sleep()
                    self._is_woken = False
                    for one in self._all:
                        if one.session.waits:
                            one.settle()
                    await self.changes.tell()
                except StorageFailed as failure:
                    _log.warning("%s", failure.message)
                    await anyio.sleep(_RETRY)
        finally:
            self._watch.close()

    async def _sleep(self) -> None:
        """Sleep until another process has committed or something is due, while anybody waits."""
        await anyio.sleep(0)
        if self._is_woken:
            return
        sessions = [one.session for one in self._all if one.session.waits]
        if not sessions and not self.changes.is_wanted:
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
