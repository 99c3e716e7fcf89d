"""The tools as methods of the clients. Their types are in `tools.pyi`.

`python -m tests.docs.tools_page` writes the names of the tools; a test holds that they are current.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_READ: Final = (
    "control:agents",
    "control:answer_of",
    "control:find",
    "control:hello",
    "control:history",
    "control:lists",
    "control:task",
    "get_my_tasks",
    "get_pending_tasks",
    "get_plans",
    "get_session_state",
    "memory",
    "scheduler:find_task_by_name",
    "scheduler:get_runs",
    "scheduler:list_tasks",
    "scheduler:show_task",
    "scheduler:wait_for_task",
    "tasklist:display",
    "tasklist:get_task",
    "tasklist:get_task_in_progress",
    "tasklist:get_task_logs",
    "tasklist:get_tasks",
)
_WRITE: Final = (
    "agent",
    "ask",
    "control:claim",
    "control:delete_plan",
    "control:heartbeat",
    "control:link",
    "control:release",
    "control:request_check",
    "control:undo",
    "control:update_task",
    "control:work_ready",
    "create_plan",
    "link_task_nodes",
    "save_session_state",
    "scheduler:create_adhoc_task",
    "scheduler:create_planned_task",
    "scheduler:create_scheduled_task",
    "scheduler:delete_task",
    "scheduler:disable_task",
    "scheduler:enable_task",
    "scheduler:finish_run",
    "scheduler:run_task",
    "scheduler:update_task",
    "task",
    "tasklist:add_task",
    "tasklist:add_task_after",
    "tasklist:add_task_before",
    "tasklist:clear",
    "tasklist:delete_task",
    "tasklist:log_task_progress",
    "tasklist:set_task_done",
    "tasklist:set_task_failed",
    "tasklist:set_task_in_progress",
    "tasklist:set_task_pending",
    "tasklist:set_task_skipped",
    "tasklist:swap_tasks",
    "tasklist:update_task",
    "tasks",
    "todo",
    "update_task",
)

WRITES: Final = frozenset(_WRITE)
# The tools by the names of their methods.
METHODS: Final = {name.replace(":", "_"): name for name in _READ + _WRITE}


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
