"""That an agent is there: which names speak through this process, as long as it lives (docs: protocol, section 10)."""

from __future__ import annotations

import contextlib
from functools import cached_property

from tui_tasks.core import connections, vocab
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations_sessions import Process
from tui_tasks.core.store import Store


class Presence:
    """The names that one session speaks under, kept beside the journal."""

    def __init__(self, store: Store, *, stays: bool) -> None:
        """`stays`: more than one request comes this way; else nobody is there but for a question that waits."""
        self._store = store
        self._stays = stays
        self._names: set[str] = set()

    @cached_property
    def process(self) -> Process:
        """This process."""
        # It takes a while to import, and few requests need it.
        from tui_tasks.runner import processes

        return Process(*processes.identity())

    def heard(self, agents: set[str], now: int) -> None:
        """Note who has spoken; what cannot be written now is noted the next time."""
        new = agents - self._names - vocab.RESERVED_AGENTS
        if not new or not self._stays:
            return
        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            for agent in sorted(new):
                connections.begin(self._store.db, agent, self.process, now)
            self._names |= new

    def asks(self, ask: str) -> None:
        """Note that this process waits for an answer, within the write transaction that has opened the question."""
        connections.put_asker(self._store.db, ask, self.process)

    def leave(self, now: int) -> None:
        """Nobody speaks through this process any more."""
        names, self._names = self._names, set()
        if not names:
            return
        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            for agent in sorted(names):
                connections.end(self._store.db, agent, self.process, now)
