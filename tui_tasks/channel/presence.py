"""Records which agents are connected through this process, as long as it lives (docs: protocol, section 10).

`connections` is imported where it is used: short commands record nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.store import Store

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import Process


_SIGN_EVERY: Final = 10_000_000
"""Microseconds between two records that an agent makes requests; those that write are in the journal as well."""


class Presence:
    """Records the agents of one session, beside the journal."""

    def __init__(self, store: Store, *, stays: bool, project: str | None = None) -> None:
        """`project` is that of the channel.

        `stays`: whether the session is for several requests; otherwise only a waiting question is recorded.
        """
        self._store = store
        self._stays = stays
        self._project = project
        self._names: set[str] = set()
        # When each agent was recorded last.
        self._signs: dict[str, int] = {}

    @cached_property
    def process(self) -> Process:
        """The identity of this process."""
        # Imported on first use: the import is slow, and few requests need it.
        from tui_tasks.core.agent_snapshots import Process
        from tui_tasks.runner import processes

        return Process(*processes.identity(machine=self._store.db.machine))

    def record_speakers(self, agents: set[str], now: int) -> None:
        """Record the agents that made requests now. What the storage refuses is recorded with the next request."""
        if not self._stays:
            return
        heard = sorted(agents - vocab.RESERVED_AGENTS)
        due = [agent for agent in heard if not 0 <= now - self._signs.get(agent, -_SIGN_EVERY) < _SIGN_EVERY]
        if not due:
            return
        from tui_tasks.core.unjournaled import connections

        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            new = [agent for agent in due if agent not in self._names]
            # Another process of the agent may wait.
            there = set(connections.connected_agents(self._store.db)) if new else set()
            for agent in new:
                if agent not in there:
                    connections.drop_wait(self._store.db, agent)
                connections.begin(self._store.db, agent, self.process, now, self._project)
            for agent in due:
                connections.put_sign(self._store.db, agent, now)
            self._names.update(due)
            self._signs.update(dict.fromkeys(due, now))

    def record_waits(self, waits: Iterable[tuple[str, str]], now: int) -> None:
        """Record which agents wait for the answers to which questions."""
        if not (waits := list(waits)):
            return
        from tui_tasks.core.unjournaled import connections

        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            for agent, ask in waits:
                connections.put_wait(self._store.db, agent, ask, now)

    def forget_wait(self, agent: str, ask: str, other: str | None) -> None:
        """Record that an agent no longer waits for the answer to a question, but for that to the `other`, if any."""
        from tui_tasks.core.unjournaled import connections

        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            if other is not None:
                connections.wait_for_other(self._store.db, agent, ask, other)
            else:
                connections.drop_wait(self._store.db, agent, ask)

    def record_asker(self, ask: str) -> None:
        """Record that this process waits for the answer to a question, within the transaction that opened it."""
        from tui_tasks.core.unjournaled import connections

        connections.put_asker(self._store.db, ask, self.process)

    def forget_asker(self, ask: str) -> None:
        """Record that this process no longer waits for the answer to a question.

        Raises:
            StorageFailed: the database cannot be written; call again.
        """
        from tui_tasks.core.unjournaled import connections

        with self._store.db.state_transaction(write=True):
            connections.drop_asker(self._store.db, ask)

    def leave(self, now: int) -> None:
        """Record that the agents are no longer connected through this process."""
        names, self._names = self._names, set()
        if not names:
            return
        from tui_tasks.core.unjournaled import connections

        with contextlib.suppress(StorageFailed), self._store.db.transaction(write=True):
            for agent in sorted(names):
                connections.end(self._store.db, agent, self.process, now)
