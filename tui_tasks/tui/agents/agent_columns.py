"""The columns of Agents: which of them fit in a width, and how wide each is. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from tui_tasks.core.read.agents.agent_views import PULSE_MINUTES
from tui_tasks.tui.layout import NARROW, WIDE

# In cells: what stands between two columns, on a small screen less.
GAP: Final = 2
# As wide as `interrupted 300d`, and the gap.
STATE: Final = 18
# In cells: an age, and a space.
AGE: Final = 5
# In cells: what is before a name.
HEAD: Final = 4
_SPENT: Final = 11
# In cells: the least that is left beside name and state where places have a column.
_LEAST_REST: Final = 46


class Filled(NamedTuple):
    """What agents have: the widths in cells of the longest name, place, task and state, and whether any has costs."""

    who: int
    where: int = 10
    task: int = 20
    spent: bool = True
    state: int = STATE


class Columns(NamedTuple):
    """The width of each column in cells, with the space after it; 0: not shown."""

    who: int
    state: int
    matter: int
    where: int
    task: int
    pulse: int
    spent: int

    @property
    def text(self) -> int:
        """The width of what matters most without the space after it."""
        return self.matter - (GAP if self.where or self.task or self.pulse else 1)

    @property
    def name(self) -> int:
        """The width of the task without the space after it."""
        return self.task - (GAP if self.pulse else 1)


def columns(width: int, filled: Filled) -> Columns:
    """Divide a width into columns; those that no agent fills are left out."""
    if width < NARROW:
        who = min(max(filled.who, 6), 10) + 1
        return Columns(who, AGE, max(1, width - HEAD - who - 6), 0, 0, 0, 0)
    if width < WIDE:
        who = min(max(filled.who, 8), 15) + GAP
        rest = width - HEAD - who - filled.state
        where = min(max(filled.where, len("where")), 8) + GAP if filled.where and rest >= _LEAST_REST else 0
        rest -= where
        task = min(filled.task + 1, rest * (8 if where else 9) // 20) if filled.task else 0
        return Columns(who, filled.state, max(1, rest - task), where, task, 0, 0)
    who, where, spent = (
        min(max(filled.who, 8), 20) + GAP,
        min(max(filled.where, len("where")), 10) + GAP if filled.where else 0,
        _SPENT if filled.spent else 0,
    )
    pulse = PULSE_MINUTES + (GAP if spent else 1)
    rest = width - HEAD - who - filled.state - where - pulse - spent
    task = min(filled.task + GAP, rest // 2) if filled.task else 0
    return Columns(who, filled.state, rest - task, where, task, pulse, spent)
