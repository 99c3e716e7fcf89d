"""The payloads of Codex's hooks (seen with 0.169.0)."""

from __future__ import annotations

from typing import Any, Final

from tui_tasks.core.operations.sessions import (
    InputRequested,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SubagentEnded,
    SubagentStarted,
    TaskListReported,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnInterrupted,
)
from tui_tasks.hooks.programs.fields import text, whole_list
from tui_tasks.hooks.programs.hook_payload import EventReader, prompted, report, started


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    return report("codex", payload, _READERS)


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    tool = text(payload, "tool_name") or "?"
    began = ToolStarted(tool, text(payload, "tool_use_id"))
    return (
        [began, TaskListReported(whole_list(payload.get("tool_input"), "plan", "step"))]
        if tool == "update_plan"
        else [began]
    )


def _tool_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    # Success is unknown: the text has no exit status.
    return [ToolEnded(text(payload, "tool_name") or "?", text(payload, "tool_use_id"))]


def _permission(payload: dict[str, Any]) -> list[SessionEvent]:
    return [InputRequested("permission", text(payload, "tool_name"), payload.get("tool_input"))]


_READERS: Final[dict[str, EventReader]] = {
    "SessionStart": started,
    "UserPromptSubmit": lambda payload: prompted(payload, "turn_id"),
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PermissionRequest": _permission,
    "Stop": lambda payload: [TurnEnded(text(payload, "last_assistant_message"))],
    "Interrupt": lambda _: [TurnInterrupted()],
    "SubagentStart": lambda payload: [SubagentStarted(text(payload, "agent_id") or "?")],
    "SubagentStop": lambda payload: [SubagentEnded(text(payload, "agent_id") or "?")],
    "SessionEnd": lambda _: [SessionEnded()],
}
