"""The names of the panes, in the order of their keys 1 to 4. Imports nothing, as commands use it too."""

from __future__ import annotations

from typing import Final

PANES: Final = {"list": "List", "board": "Board", "log": "Log", "schedule": "Schedule"}
"""The title of each, by its name: the action that goes there is `pane_` and that name."""
