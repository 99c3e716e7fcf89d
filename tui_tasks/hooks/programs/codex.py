"""Codex (seen with 0.169.0): the payloads of its hooks, and its record of a session.

No hook reports that the model's service has failed; the record does. It has no prices.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

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
from tui_tasks.hooks.programs.fields import EventReader, number, prompted, report, started, table, text, whole_list
from tui_tasks.hooks.session_records import Ending, Part, Record


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

_TELLING: Final = (b'"token_count"', b'"task_started"', b'"task_complete"', b'"session_meta"')
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the only file of a record."""
    return [path]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line."""
    if not any(word in line for word in _TELLING):
        return
    entry = _decode(line)
    payload = table(entry, "payload")
    kind = text(payload, "type")
    if text(entry, "type") == "session_meta":
        record.is_headless = text(payload, "source") == "exec"
    elif kind == "token_count":
        info = table(payload, "info")
        record.total = max(record.total, int(number(table(info, "total_token_usage"), "total_tokens") or 0))
        last, window = number(table(info, "last_token_usage"), "total_tokens"), number(info, "model_context_window")
        record.context = last / window if last is not None and window else record.context
    elif kind == "task_started":
        record.ending = None
    elif kind == "task_complete":
        error = table(payload, "error")
        record.ending = Ending("failed", _plain(text(error, "message"))) if error else None


def _plain(message: str | None) -> str:
    """Return the text of an error, which may be JSON of the service."""
    if message is None:
        return "its model's service has failed"
    try:
        entry = _decode(message)
    except msgspec.DecodeError:
        return message
    return text(table(entry, "error"), "message") or text(entry, "message") or message
