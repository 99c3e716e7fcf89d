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

_log = logging.getLogger(__name__)

# Seconds until a database that could not be read is asked again.
_RETRY: Final = 0.5


class Conversation:
    """The requests of one agent."""

    def __init__(self, session: Session, has_waits: Callable[[], None]) -> None:
        """`has_waits` is called after a request, while any waits: it may have ended a wait, or wait less long."""
        self.session = session
        self._has_waits = has_waits
        self._ids = itertools.count(1)
        self._replies: dict[Any, dict[str, Any]] = {}
        self._waiting: dict[int, anyio.Event] = {}

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Serve a request, without its id, and return the reply; a wait whose caller is cancelled is given up."""
        number = next(self._ids)
        self._keep(self.session.answer([{**request, "id": number}]))
        if self.session.waits:
            self._has_waits()
        try:
            if number not in self._replies:
                self._waiting[number] = anyio.Event()
                await self._waiting[number].wait()
        except BaseException:
            self.session.waits.abandon(number)
            raise
        finally:
            self._waiting.pop(number, None)
        return self._replies.pop(number)

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
        on_change: called after another process has committed, while anybody wants to know (`wants_changes`).
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._watch = Watch(store.db)
        self._all: list[Conversation] = []
        self._pause: anyio.CancelScope | None = None
        self.on_change: Callable[[], None] | None = None
        self.wants_changes: Callable[[], bool] = lambda: False

    def begin(self, session: Session) -> Conversation:
        """Take in a session."""
        made = Conversation(session, self.wake)
        self._all.append(made)
        return made

    def wake(self) -> None:
        """Look anew at what is waited for, and for how long."""
        if self._pause is not None:
            self._pause.cancel()

    async def run(self) -> None:
        """Answer requests that wait, each as soon as what it waits for has happened; runs until it is cancelled."""
        try:
            while True:
                try:
                    with anyio.CancelScope() as self._pause:
                        await self._sleep()
                    for one in self._all:
                        if one.session.waits:
                            one.settle()
                    if self.on_change is not None:
                        self.on_change()
                except StorageFailed as failure:
                    _log.warning("%s", failure.message)
                    await anyio.sleep(_RETRY)
        finally:
            self._watch.close()

    async def _sleep(self) -> None:
        """Sleep until another process has committed or something is due, while anybody waits."""
        await anyio.sleep(0)
        sessions = [one.session for one in self._all if one.session.waits]
        if not sessions and not self.wants_changes():
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
    return float("inf") if due is None else (due - session.passed()) / 1_000_000
