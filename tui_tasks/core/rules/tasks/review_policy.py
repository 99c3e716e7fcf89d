"""The `[review]` table of the configuration file (docs: protocol, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from tui_tasks.core.snapshots import TaskList

EVERY_LIST: Final = "*"


class ReviewPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lists hold what agents file, by their names, and how many held tasks an agent may have.

    jobs: whether the jobs that agents make are held, too; an agent may have as many of them.
    """

    lists: tuple[str, ...] = ()
    limit: Annotated[int, Meta(ge=1)] = 25
    jobs: bool = False

    def holds(self, home: TaskList) -> bool:
        """Return whether a list is under review: a list by its name, a plan by its title or its id."""
        return bool(self.lists) and any(name in (EVERY_LIST, home.name, home.uid) for name in self.lists)
