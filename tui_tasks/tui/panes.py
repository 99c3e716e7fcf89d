"""Which panes and screens there are. The App makes each at the first time it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual.screen import Screen

from tui_tasks.tui.agents import Agents
from tui_tasks.tui.board_pane import BoardPane
from tui_tasks.tui.inbox import Inbox
from tui_tasks.tui.list_pane import ListPane
from tui_tasks.tui.pane import Pane


class _Empty(Pane):
    """Stands in for a pane that is not there yet."""

    can_focus = True


PANES: Final[dict[str, type[Pane]]] = {"list": ListPane, "board": BoardPane, "log": _Empty, "schedule": _Empty}
"""By the name of the action that goes there, less `pane_`; in the order of their keys 1 to 4."""

SCREENS: Final[dict[str, Callable[[], Screen[Any]]]] = {"asks": Inbox, "agents": Agents}
"""By the name of the action that opens each: asks, agents, stats."""
