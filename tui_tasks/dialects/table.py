"""Every tool there is, in one table: the channel, the shell and MCP all serve from it."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Final

from tui_tasks.dialects.base import Table, Tool

# The modules, in the order in which their tools are told of; each holds its table under its own name in capitals.
_MODULES: Final = ("control", "tasklist", "board", "todo", "scheduler", "plans")
# Which of them has the tools whose names begin so, up to a colon.
_BY_NAME: Final = {
    "control": "control",
    "tasklist": "tasklist",
    "task": "board",
    "memory": "board",
    "todo": "todo",
    "scheduler": "scheduler",
    "tasks": "plans",
}


class _Whole(Table):
    """The tools of every dialect. A dialect is imported when one of its tools is asked for: a verb needs but one."""

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """All of them."""
        return {name: tool for module in _MODULES for name, tool in _table(module).tools.items()}

    def find(self, name: str) -> Tool | None:
        """The tool of that name."""
        # What was asked for before is not looked for again: that takes as long as a read of a task does.
        found = self._tools.get(name)
        if found is None:
            module = _BY_NAME.get(name.partition(":")[0])
            found = (_table(module).find(name) if module else None) or super().find(name)
            if found is not None:
                self._tools[name] = found
        return found


def _table(module: str) -> Table:
    table: Table = getattr(import_module(f"tui_tasks.dialects.{module}"), module.upper())
    return table


TABLE: Final = _Whole()
