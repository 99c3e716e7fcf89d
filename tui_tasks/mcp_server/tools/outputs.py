"""The output schemas of tools, for clients that take structured content (`mcp --structured`).

In MCP structured content is an object, so a list, or a result that may be null, is its member `result`.
"""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.dialects.base import Tool

_Shape = dict[str, Any]
_TEXT: Final[_Shape] = {"type": "string"}
_INTEGER: Final[_Shape] = {"type": "integer"}
_ANYTHING: Final[_Shape] = {}


def _object(required: str, **others: _Shape) -> _Shape:
    """Return the schema of an object with some members `required`; others are optional. The schema of a member may be
    given.
    """
    names = required.split()
    made: _Shape = {"type": "object", "properties": {name: others.get(name, _ANYTHING) for name in [*names, *others]}}
    return {**made, "required": names} if names else made


def _list(item: _Shape) -> _Shape:
    return {"type": "array", "items": item}


def _or_null(shape: _Shape) -> _Shape:
    return {"anyOf": [shape, {"type": "null"}]}


_TASK = _object("uid name status", uid=_TEXT, name=_TEXT, description=_TEXT, status=_TEXT)
_ENTRY = _object("timestamp message", timestamp=_TEXT, message=_TEXT)
_FULL = _object("uid list name description status priority version", uid=_TEXT, priority=_INTEGER, version=_INTEGER)
_BOARD = _object("", task=_object("task_id title status"), tasks=_list(_object("task_id title status")), total=_INTEGER)
_PLANNED = _object("id title status", id=_TEXT, title=_TEXT, status=_TEXT)
_PENDING = _object("tasks suggested_next", tasks=_list(_PLANNED))
_STATE = _object("task_id agent_id saved_at")
_JOB = _object("uuid name type state", uuid=_TEXT, name=_TEXT)
_RUN = _object("run_id uuid trigger decision outcome", run_id=_TEXT)
_CLAIM = _object("claim expires_at", claim=_TEXT, expires_at=_TEXT)

_OUTPUTS: Final[dict[str, _Shape]] = {
    "control:hello": _object("protocol version agent list read_only seq", agent=_TEXT, seq=_INTEGER),
    "control:history": _object("entries next", entries=_list(_object("event seq at actor"))),
    "control:task": _FULL,
    "control:update_task": _FULL,
    "control:release": _FULL,
    "control:undo": _object("undone", undone=_INTEGER),
    "control:heartbeat": _CLAIM,
    "control:request_check": _object("uid verified", uid=_TEXT),
    "control:claim": _or_null(_object("")),
    "control:agents": _list(_object("agent state")),
    "control:answer_of": _object("ask state answer at", ask=_TEXT, state=_TEXT),
    "ask": _object("", answer=_TEXT, at=_TEXT, ask=_TEXT, state=_TEXT),
    **{
        f"tasklist:{name}": _TASK
        for name in ("add_task", "add_task_before", "add_task_after", "delete_task", "update_task", "get_task")
    },
    **{f"tasklist:set_task_{status}": _TASK for status in ("pending", "in_progress", "done", "failed", "skipped")},
    "tasklist:swap_tasks": _list(_TASK),
    "tasklist:get_tasks": _list(_TASK),
    "tasklist:display": _list(_TASK),
    "tasklist:get_task_in_progress": _or_null(_TASK),
    "tasklist:log_task_progress": _ENTRY,
    "tasklist:get_task_logs": _list(_ENTRY),
    "tasklist:clear": _object("deleted", deleted=_INTEGER),
    "task": _BOARD,
    "memory": _object(""),
    "todo": _object("", todos=_list(_object("id content status"))),
    "create_plan": _object("plan_id title tasks", plan_id=_TEXT, tasks=_list(_PLANNED)),
    "update_task": _PLANNED,
    "get_plans": _object("plans"),
    "get_pending_tasks": _PENDING,
    "get_my_tasks": _PENDING,
    "save_session_state": _STATE,
    "get_session_state": _or_null(_STATE),
    "link_task_nodes": _object("task_id node_ids"),
    "scheduler:list_tasks": _list(_JOB),
    "scheduler:find_task_by_name": _list(_JOB),
    **{
        f"scheduler:{name}": _JOB
        for name in (
            *("show_task", "delete_task", "update_task", "enable_task", "disable_task"),
            *("create_scheduled_task", "create_planned_task", "create_adhoc_task"),
        )
    },
    "scheduler:run_task": _object("uuid run_id state"),
    "scheduler:wait_for_task": _object("uuid run_id state outcome result"),
    "scheduler:get_runs": _object("runs", runs=_list(_RUN)),
    "scheduler:finish_run": _RUN,
}


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the output schema of a tool."""
    shape = _OUTPUTS.get(tool.name, {"type": "object"})
    if shape.get("type") == "object":
        return shape
    return {"type": "object", "properties": {"result": shape}, "required": ["result"]}


def data_of(tool: Tool, result: Any) -> dict[str, Any]:
    """Return a result in the form of that schema."""
    is_plain = _OUTPUTS.get(tool.name, {"type": "object"}).get("type") == "object"
    return result if is_plain and isinstance(result, dict) else {"result": result}
