"""The panes, the screens over them, and the sizes of the terminal at which their layout changes. The code of each pane,
and Textual, is imported when it is first shown.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.screen import Screen

    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.widgets.screen_bases import Pane

PANES: Final = {"list": "List", "board": "Board", "log": "Log", "schedule": "Schedule"}
"""The title of each pane by its name, in the order of the keys 1 to 4; the action `pane_NAME` goes to it."""
_CLASSES: Final = {
    "list": "list.list_pane.ListPane",
    "board": "board.board_pane.BoardPane",
    "log": "log.log_pane.LogPane",
    "schedule": "schedule.schedule_pane.SchedulePane",
    "asks": "inbox.inbox_screen.Inbox",
    "agents": "agents.agents_screen.AgentsScreen",
    "digest": "screens.digest_screen.DigestScreen",
    "stats": "screens.stats_screen.Stats",
}
"""Of panes by their name; of screens by the action that opens each."""

NARROW: Final = 60
"""Columns under which there is room for one thing only."""
WIDE: Final = 100
"""Columns from which two things stand side by side."""
SHORT: Final = 16
"""Rows under which there is room for one thing only."""
AIRY: Final = 36
"""Rows from which empty lines part what stands on a wide screen."""
_HAS_CHANGES: Final = 24
"""Rows from which what has changed has one."""

HORIZONTAL: Final = [(0, "-narrow"), (NARROW, "-stacked"), (WIDE, "-wide")]
VERTICAL: Final = [(0, "-short"), (SHORT, "-tall")]


def around(size: Size) -> int:
    """Return how many lines stand around a pane where there is room for more than one thing: three above it, its foot,
    on a wide screen an empty one above that, and with air one below the agents.
    """
    return (5 if size.width >= WIDE else 4) + has_air(size)


def is_compact(size: Size) -> bool:
    """Return whether there is room only for one line and one pane."""
    return size.width < NARROW or size.height < SHORT


def has_air(size: Size) -> bool:
    """Return whether there is room for an empty line between the parts above a pane."""
    return size.width >= WIDE and size.height >= AIRY


def has_row_of_changes(size: Size) -> bool:
    """Return whether what has changed has a row of its own, below the counts."""
    return not is_compact(size) and size.height >= _HAS_CHANGES


def is_wide(size: Size) -> bool:
    """Return whether there is room for two things side by side."""
    return not is_compact(size) and size.width >= WIDE


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
