"""Every tool there is, in one table: the channel, the shell and MCP all serve from it."""

from __future__ import annotations

from tui_tasks.dialects.base import Table
from tui_tasks.dialects.control import CONTROL
from tui_tasks.dialects.tasklist import TASKLIST

TABLE = Table().add(CONTROL, TASKLIST)
