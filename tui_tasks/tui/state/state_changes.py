"""Changes of the state, as the link to the database announces them to the screen."""

from __future__ import annotations

import msgspec

from tui_tasks.core.read.overview import Change


class StateChanges(msgspec.Struct, frozen=True):
    """The changes written after entry `since`, up to entry `seq`. With `all`, anything may have changed."""

    since: int
    seq: int
    entries: tuple[Change, ...]
    all: bool = False
    waiting: frozenset[str] = frozenset()
    """Tasks that depend on one that was changed, and may be blocked, or free, by it; tasks of a check that was run."""

    def touches(self, *entities: str) -> bool:
        """Whether a row of one of the tables was written (`task`, `log`, `list`, `ask`, `agent`, `job`, `run` ...)."""
        return self.all or any(entry.entity in entities for entry in self.entries)

    def tasks(self) -> set[str]:
        """Return the uids of the tasks that the entries are about, and of the tasks in `waiting`."""
        return {entry.task for entry in self.entries if entry.task is not None} | self.waiting

    @property
    def places(self) -> list[tuple[int, str]]:
        """The places where tasks were added, removed or moved; the numbers of the tasks after them may have changed."""
        return [place for entry in self.entries for place in entry.places()]
