"""The payloads of Codex's hooks (seen with 0.169.0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tui_tasks.core.operations.sessions import (
    InputRequested,
    PromptSubmitted,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TaskListReported,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnInterrupted,
    Working,
)
from tui_tasks.hooks.programs.fields import is_own_prompt, text, whole_list


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    session = text(payload, "session_id")
    if session is None:
        return None
    hook = text(payload, "hook_event_name") or ""
    events = _READERS[hook](payload) if hook in _READERS else []
    return SessionReport(
        program="codex",
        session=session,
        events=tuple(events),
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        model=text(payload, "model"),
        mode=text(payload, "permission_mode"),
        subagent=None if hook in ("SubagentStart", "SubagentStop") else text(payload, "agent_id"),
    )


def _started(payload: dict[str, Any]) -> list[SessionEvent]:
    return [SessionStarted(text(payload, "source") or "startup")]


def _prompted(payload: dict[str, Any]) -> list[SessionEvent]:
    prompt = text(payload, "prompt") or ""
    return [Working()] if is_own_prompt(prompt) else [PromptSubmitted(prompt, text(payload, "turn_id"))]


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


_READERS: Final[dict[str, Callable[[dict[str, Any]], list[SessionEvent]]]] = {
    "SessionStart": _started,
    "UserPromptSubmit": _prompted,
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PermissionRequest": _permission,
    "Stop": lambda payload: [TurnEnded(text(payload, "last_assistant_message"))],
    "Interrupt": lambda _: [TurnInterrupted()],
    "SubagentStart": lambda payload: [SubagentStarted(text(payload, "agent_id") or "?")],
    "SubagentStop": lambda payload: [SubagentEnded(text(payload, "agent_id") or "?")],
    "SessionEnd": lambda _: [SessionEnded()],
}
"""What each event tells. An event that is not here says that the session is there, and no more."""
