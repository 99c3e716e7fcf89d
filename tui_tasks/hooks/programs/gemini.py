"""The payloads of Gemini CLI's hooks (seen with 0.61.0). Its calls of tools have no ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    InputRequested,
    PromptSubmitted,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SessionStarted,
    TaskListReported,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Working,
)
from tui_tasks.hooks.programs.fields import is_own_prompt, number, table, tables, text, whole_list


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    session = text(payload, "session_id")
    if session is None:
        return None
    hook = text(payload, "hook_event_name") or ""
    events = _READERS[hook](payload) if hook in _READERS else []
    return SessionReport(
        program="gemini",
        session=session,
        events=tuple(events),
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        model=text(table(payload, "llm_request"), "model"),
        ends_waiting=hook != "Notification" or any(isinstance(event, InputRequested) for event in events),
    )


def _started(payload: dict[str, Any]) -> list[SessionEvent]:
    return [SessionStarted(text(payload, "source") or "startup")]


def _prompted(payload: dict[str, Any]) -> list[SessionEvent]:
    prompt = text(payload, "prompt") or ""
    return [Working()] if is_own_prompt(prompt) else [PromptSubmitted(prompt)]


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    tool = text(payload, "tool_name") or "?"
    if tool != "write_todos":
        return [ToolStarted(tool)]
    return [ToolStarted(tool), TaskListReported(whole_list(payload.get("tool_input"), "todos", "description"))]


def _tool_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    error = table(table(payload, "tool_response"), "error")
    failed = (text(error, "message") or "it failed") if error else None
    return [ToolEnded(text(payload, "tool_name") or "?", error=failed)]


def _notification(payload: dict[str, Any]) -> list[SessionEvent]:
    """Return the events of a wait for a person; the tool is known only for one of an MCP server."""
    if text(payload, "notification_type") != "ToolPermission":
        return []
    details, note = table(payload, "details"), text(payload, "message") or ""
    if text(details, "type") == "ask_user":
        return [InputRequested("question", input=details, note=note)]
    return [InputRequested("permission", text(details, "toolName"), details, note=note)]


def _spent(payload: dict[str, Any]) -> list[SessionEvent]:
    tokens = number(table(table(payload, "llm_response"), "usageMetadata"), "totalTokenCount")
    return [Working(), UsageReported(int(tokens), more=True)] if tokens else [Working()]


def with_question(report: SessionReport, payload: dict[str, Any]) -> SessionReport:
    """Return the report of a payload whose hook waits, before the program's own dialog and its notification."""
    given = table(payload, "tool_input")
    asked = InputRequested("question", text(payload, "tool_name"), given, questions=tuple(tables(given, "questions")))
    return msgspec.structs.replace(report, events=(*report.events, asked))


_READERS: Final[dict[str, Callable[[dict[str, Any]], list[SessionEvent]]]] = {
    "SessionStart": _started,
    "BeforeAgent": _prompted,
    "BeforeTool": _tool_began,
    "AfterTool": _tool_ended,
    "BeforeModel": lambda _: [Working()],
    "AfterModel": _spent,
    "Notification": _notification,
    "AfterAgent": lambda payload: [TurnEnded(text(payload, "prompt_response"))],
    "SessionEnd": lambda _: [SessionEnded()],
}
"""What each event tells. An event that is not here says that the session is there, and no more."""
