"""Looks periodically for stuck agents and records the cause (docs: supervising, "Why an agent is stuck")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.read.agents import activity
from tui_tasks.core.read.agents.stuck import Thresholds, causes
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM

EVERY: Final = 15_000_000
"""Microseconds between two looks."""


class StuckWatch:
    """Records the causes that the state does not have yet, so that several processes may look.

    Args:
        thresholds: returns when an agent counts as stuck; called for each look.
    """

    def __init__(self, thresholds: Callable[[], Thresholds]) -> None:
        self._thresholds = thresholds
        self._next = 0

    def look(self, store: Store, now: int) -> int | None:
        """Look unless the last look is recent; return the instant of the next one, None if only a commit requires one.

        `now`: microseconds since the epoch.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        if self._next - EVERY <= now < self._next:
            return self._next
        self._next = now + EVERY
        agents = activity.of_agents(store.db, now)
        found = causes(agents, now, self._thresholds())
        # An open question already shows that its agent waits for the human.
        found = {name: cause for name, cause in found.items() if cause.kind != "human"}
        noted = {one.uid: one.cause for one in activity.stuck_now(store.db)}
        notes = [NoteStuck(name, cause.kind, cause.text, cause.since) for name, cause in found.items()]
        notes = [note for note in notes if noted.get(note.agent) != note.cause]
        notes += [NoteStuck(name, None) for name in sorted(noted.keys() - found.keys())]
        if notes:
            store.commit(*notes, actor=SYSTEM, now=now)
        return self._next if agents else None
