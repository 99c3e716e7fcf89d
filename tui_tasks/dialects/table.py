"""The table of all tools, from which the channel, the command line and MCP serve."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Final

from tui_tasks.dialects.base import Table, Tool

# The modules in the order in which their tools are listed; each has its table under its own name in capitals.
_MODULES: Final = ("control", "tasklist", "board", "todo", "scheduler", "plans")
# The module by the part of a tool's name before the colon.
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
    """The tools of every dialect; a dialect is imported on first use, because a command needs only one."""

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """All tools by name."""
        return {name: tool for module in _MODULES for name, tool in _table(module).tools.items()}

    def find(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        # Cached: the lookup takes as long as reading a task.
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
