"""Looks now and then whether agents are stuck, and has it told (docs: supervising, "Why an agent is stuck")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tui_tasks.core.operations import NoteStuck
from tui_tasks.core.read import activity
from tui_tasks.core.read.stuck import Thresholds, causes
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM

EVERY: Final = 15_000_000
"""Microseconds between two looks."""


class StuckWatch:
    """Any number of processes may look: what one has told, the others do not tell again."""

    def __init__(self, thresholds: Callable[[], Thresholds]) -> None:
        self._thresholds = thresholds
        self._next = 0

    def look(self, store: Store, now: int) -> int | None:
        """Look, unless that was done a moment ago; return when to look again, None: once something is written.

        Raises:
            StorageFailed: the database cannot be read or written.
        """
        if self._next - EVERY <= now < self._next:
            return self._next
        self._next = now + EVERY
        agents = activity.of_agents(store.db)
        found = causes(agents, now, self._thresholds())
        told = {one.uid: one.cause for one in activity.stuck_now(store.db)}
        news = [NoteStuck(name, cause.kind, cause.text, cause.since) for name, cause in found.items()]
        news = [note for note in news if told.get(note.agent) != note.cause]
        news += [NoteStuck(name, None) for name in sorted(told.keys() - found.keys())]
        if news:
            store.commit(*news, actor=SYSTEM, now=now)
        return self._next if agents else None
