"""The payloads of Codex's hooks (seen with 0.169.0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tui_tasks.core.operations.sessions import (
    Asked,
    Busy,
    Ended,
    Fact,
    Heard,
    Interrupted,
    Listed,
    Prompted,
    Started,
    SubagentBegan,
    SubagentEnded,
    ToolBegan,
    ToolEnded,
    TurnEnded,
)
from tui_tasks.hooks.programs.fields import is_own_prompt, text, whole_list


def read(payload: dict[str, Any]) -> Heard | None:
    """Return the facts of a payload."""
    session = text(payload, "session_id")
    if session is None:
        return None
    event = text(payload, "hook_event_name") or ""
    facts = _FACTS[event](payload) if event in _FACTS else []
    return Heard(
        program="codex",
        session=session,
        facts=tuple(facts),
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        model=text(payload, "model"),
        mode=text(payload, "permission_mode"),
        subagent=None if event in ("SubagentStart", "SubagentStop") else text(payload, "agent_id"),
    )


def _started(payload: dict[str, Any]) -> list[Fact]:
    return [Started(text(payload, "source") or "startup")]


def _prompted(payload: dict[str, Any]) -> list[Fact]:
    prompt = text(payload, "prompt") or ""
    return [Busy()] if is_own_prompt(prompt) else [Prompted(prompt, text(payload, "turn_id"))]


def _tool_began(payload: dict[str, Any]) -> list[Fact]:
    tool = text(payload, "tool_name") or "?"
    began = ToolBegan(tool, text(payload, "tool_use_id"))
    return [began, Listed(whole_list(payload.get("tool_input"), "plan", "step"))] if tool == "update_plan" else [began]


def _tool_ended(payload: dict[str, Any]) -> list[Fact]:
    # Success is unknown: the text has no exit status.
    return [ToolEnded(text(payload, "tool_name") or "?", text(payload, "tool_use_id"))]


def _permission(payload: dict[str, Any]) -> list[Fact]:
    return [Asked("permission", text(payload, "tool_name"), payload.get("tool_input"))]


_FACTS: Final[dict[str, Callable[[dict[str, Any]], list[Fact]]]] = {
    "SessionStart": _started,
    "UserPromptSubmit": _prompted,
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PermissionRequest": _permission,
    "Stop": lambda payload: [TurnEnded(text(payload, "last_assistant_message"))],
    "Interrupt": lambda _: [Interrupted()],
    "SubagentStart": lambda payload: [SubagentBegan(text(payload, "agent_id") or "?")],
    "SubagentStop": lambda payload: [SubagentEnded(text(payload, "agent_id") or "?")],
    "SessionEnd": lambda _: [Ended()],
}
"""What each event tells. An event that is not here says that the session is there, and no more."""
