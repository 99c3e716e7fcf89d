"""Which panes and screens there are. Each is imported, and made, at the first time it is shown."""

from __future__ import annotations

import importlib
from typing import Any, Final

from textual.screen import Screen

from tui_tasks.tui.app.context import Context
from tui_tasks.tui.widgets.pane import Pane

PANES: Final = {
    "list": "list.list_pane.ListPane",
    "board": "board.board_pane.BoardPane",
    "log": "log.log_pane.LogPane",
    "schedule": "schedule.schedule_pane.SchedulePane",
}
"""By the name of the action that goes there, less `pane_`; in the order of their keys 1 to 4."""

SCREENS: Final = {"asks": "screens.inbox.Inbox", "agents": "screens.agents.Agents", "stats": "screens.stats.Stats"}
"""By the name of the action that opens each: asks, agents, stats."""


def pane(name: str, context: Context) -> Pane:
    """Make a pane."""
    made: Pane = _found(PANES[name])(context, id=name)
    return made


def screen(name: str) -> Screen[Any]:
    """Make a screen."""
    made: Screen[Any] = _found(SCREENS[name])()
    return made


def _found(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"tui_tasks.tui.{module}"), name)
