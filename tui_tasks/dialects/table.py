"""Every tool there is, in one table: the channel, the shell and MCP all serve from it."""

from __future__ import annotations

from tui_tasks.dialects.base import Table
from tui_tasks.dialects.board import BOARD
from tui_tasks.dialects.control import CONTROL
from tui_tasks.dialects.plans import PLANS
from tui_tasks.dialects.scheduler import SCHEDULER
from tui_tasks.dialects.tasklist import TASKLIST
from tui_tasks.dialects.todo import TODO

TABLE = Table().add(CONTROL, TASKLIST, BOARD, TODO, SCHEDULER, PLANS)
