"""The panes and the screens over them. The code of each, and Textual, is imported when it is first shown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.widgets.bases import Pane

PANES: Final = {"list": "List", "board": "Board", "log": "Log", "schedule": "Schedule"}
"""The title of each pane by its name, in the order of the keys 1 to 4; the action `pane_NAME` goes to it."""
_CLASSES: Final = {
    "list": "list.list_pane.ListPane",
    "board": "board.board_pane.BoardPane",
    "log": "log.log_pane.LogPane",
    "schedule": "schedule.schedule_pane.SchedulePane",
    "asks": "inbox.inbox_screen.Inbox",
    "agents": "agents.fleet_screen.Fleet",
    "digest": "screens.digest_screen.DigestScreen",
    "stats": "screens.stats_screen.Stats",
}
"""Of panes by their name; of screens by the action that opens each."""


def pane(name: str, context: Context) -> Pane:
    """Make a pane."""
    made: Pane = _class(name)(context, id=name)
    return made


def screen(name: str, context: Context) -> Screen[Any]:
    """Make a screen."""
    made: Screen[Any] = _class(name)(context)
    return made


def _class(name: str) -> Any:
    module, attribute = _CLASSES[name].rsplit(".", 1)
    return getattr(importlib.import_module(f"tui_tasks.tui.{module}"), attribute)
