"""The payloads of Claude Code's hooks (seen with 2.1.330)."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    InputRequested,
    InputStillRequested,
    MessageWritten,
    ModelFailed,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SubagentEnded,
    SubagentStarted,
    TaskListItem,
    TaskListReported,
    ToolEnded,
    ToolsEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    WentIdle,
)
from tui_tasks.hooks.programs.fields import item_status, table, tables, text, whole_list
from tui_tasks.hooks.programs.hook_payload import EventReader, hook_name, prompted, report, started

_QUESTION: Final = "AskUserQuestion"
# Hooks that run while the agent waits for a person, and do not show whether it still does.
_BESIDE: Final = frozenset({"Notification", "MessageDisplay"})
# The beginning of a message that shows an error of the model's service.
_API_ERROR: Final = re.compile(r"(?:[^.\n]{1,80}\. )?API Error: ")


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    made = report("claude", payload, _READERS)
    if made is not None and hook_name(payload) in _BESIDE:
        made = msgspec.structs.replace(made, ends_waiting=False)
    return made


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    return [ToolStarted(text(payload, "tool_name") or "?", text(payload, "tool_use_id")), *_listed(payload)]


def _tool_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    return [ToolEnded(text(payload, "tool_name") or "?", text(payload, "tool_use_id")), *_listed(payload)]


def _listed(payload: dict[str, Any]) -> list[SessionEvent]:
    """Return the changes that a tool made to the program's own task list."""
    tool, given = text(payload, "tool_name"), table(payload, "tool_input")
    if tool == "TodoWrite":
        return [TaskListReported(whole_list(given, "todos", "content"))]
    if tool == "TaskUpdate" and (key := text(given, "taskId")) is not None:
        status = item_status(text(given, "status"))
        return [
            TaskListReported(
                (TaskListItem(key, text(given, "subject"), text(given, "description"), status),), some=True
            )
        ]
    return []


def _task(payload: dict[str, Any], status: str | None) -> list[SessionEvent]:
    key = text(payload, "task_id")
    if key is None:
        return []
    item = TaskListItem(key, text(payload, "task_subject"), text(payload, "task_description"), status)
    return [TaskListReported((item,), some=True)]


def _tool_failed(payload: dict[str, Any]) -> list[SessionEvent]:
    error = text(payload, "error") or "it failed"
    failed = ToolEnded(text(payload, "tool_name") or "?", text(payload, "tool_use_id"), error)
    return [failed, TurnInterrupted()] if payload.get("is_interrupt") is True else [failed]


def _permission(payload: dict[str, Any]) -> list[SessionEvent]:
    tool, given = text(payload, "tool_name"), payload.get("tool_input")
    if tool == _QUESTION:
        return [InputRequested("question", tool, given, questions=tuple(tables(given, "questions")))]
    return [InputRequested("permission", tool, given, suggestions=payload.get("permission_suggestions"))]


def _elicitation(payload: dict[str, Any]) -> list[SessionEvent]:
    return [InputRequested("question", text(payload, "mcp_server_name"), note=text(payload, "message") or "")]


def _notification(payload: dict[str, Any]) -> list[SessionEvent]:
    kind, note = text(payload, "notification_type"), text(payload, "message") or ""
    if kind == "permission_prompt":
        return [InputStillRequested("permission", note=note)]
    if kind == "elicitation_dialog":
        return [InputStillRequested("question", note=note)]
    # A Stop comes before this, unless the person ended the turn.
    return [WentIdle(has_finished=False)] if kind == "idle_prompt" else []


def _message_written(payload: dict[str, Any]) -> list[SessionEvent]:
    words = text(payload, "delta")
    is_whole = payload.get("final") is True and payload.get("index") == 0
    if words is None or not is_whole:
        return []
    return [MessageWritten(words), *([ModelFailed(words)] if _API_ERROR.match(words) else [])]


def _turn_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    running = [one for one in tables(payload, "background_tasks") if one.get("status", "running") == "running"]
    return [TurnEnded(text(payload, "last_assistant_message"), tuple(str(one.get("id")) for one in running))]


def _turn_failed(payload: dict[str, Any]) -> list[SessionEvent]:
    return [TurnFailed(text(payload, "last_assistant_message") or text(payload, "error"))]


def _subagent_began(payload: dict[str, Any]) -> list[SessionEvent]:
    return [SubagentStarted(text(payload, "agent_id") or "?")]


def _subagent_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    return [SubagentEnded(text(payload, "agent_id") or "?")]


_READERS: Final[dict[str, EventReader]] = {
    "SessionStart": started,
    "UserPromptSubmit": lambda payload: prompted(payload, "prompt_id"),
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PostToolUseFailure": _tool_failed,
    "PostToolBatch": lambda _: [ToolsEnded()],
    "PermissionRequest": _permission,
    "Elicitation": _elicitation,
    "Notification": _notification,
    "MessageDisplay": _message_written,
    "Stop": _turn_ended,
    "StopFailure": _turn_failed,
    "TaskCreated": lambda payload: _task(payload, None),
    "TaskCompleted": lambda payload: _task(payload, "done"),
    "SubagentStart": _subagent_began,
    "SubagentStop": _subagent_ended,
    "SessionEnd": lambda _: [SessionEnded()],
}
