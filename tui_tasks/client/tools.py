"""The tools as methods of the clients. Their types are in `tools.pyi`, their names in `tool_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_tasks.client.tool_table import METHODS


class Tools:
    """Each tool as a method that takes its arguments by name: `tools.tasklist_add_task(name="Build")`.

    Type checkers read `tools.pyi`, where the method of an `AsyncTools` returns an awaitable.
    """

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        tool = METHODS.get(name)
        if tool is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

        def method(**arguments: Any) -> Any:
            return self._call(tool, arguments)

        method.__name__ = name
        method.__qualname__ = f"{type(self).__name__}.{name}"
        method.__doc__ = f"Call the tool `{tool}`; docs/tools has its arguments."
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *METHODS]


AsyncTools = Tools
