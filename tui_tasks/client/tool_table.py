"""The names of the tools, and which of them write.

Made from the tool table by `python -m tests.docs.tools_page`; a test holds that it is current.
"""

from __future__ import annotations

from typing import Final

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
