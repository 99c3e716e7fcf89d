"""The payloads of Gemini CLI's hooks (seen with 0.61.0). Its calls of tools have no ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    Asked,
    Busy,
    Ended,
    Fact,
    Heard,
    Listed,
    Prompted,
    Spent,
    Started,
    ToolBegan,
    ToolEnded,
    TurnEnded,
)
from tui_tasks.hooks.programs.fields import is_own_prompt, number, table, tables, text, whole_list


def read(payload: dict[str, Any]) -> Heard | None:
    """Return the facts of a payload."""
    session = text(payload, "session_id")
    if session is None:
        return None
    event = text(payload, "hook_event_name") or ""
    facts = _FACTS[event](payload) if event in _FACTS else []
    return Heard(
        program="gemini",
        session=session,
        facts=tuple(facts),
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        model=text(table(payload, "llm_request"), "model"),
        ends_waiting=event != "Notification" or any(isinstance(fact, Asked) for fact in facts),
    )


def _started(payload: dict[str, Any]) -> list[Fact]:
    return [Started(text(payload, "source") or "startup")]


def _prompted(payload: dict[str, Any]) -> list[Fact]:
    prompt = text(payload, "prompt") or ""
    return [Busy()] if is_own_prompt(prompt) else [Prompted(prompt)]


def _tool_began(payload: dict[str, Any]) -> list[Fact]:
    tool = text(payload, "tool_name") or "?"
    if tool != "write_todos":
        return [ToolBegan(tool)]
    return [ToolBegan(tool), Listed(whole_list(payload.get("tool_input"), "todos", "description"))]


def _tool_ended(payload: dict[str, Any]) -> list[Fact]:
    error = table(table(payload, "tool_response"), "error")
    failed = (text(error, "message") or "it failed") if error else None
    return [ToolEnded(text(payload, "tool_name") or "?", error=failed)]


def _notification(payload: dict[str, Any]) -> list[Fact]:
    """Return the facts of a wait for a person; the tool is known only for one of an MCP server."""
    if text(payload, "notification_type") != "ToolPermission":
        return []
    details, note = table(payload, "details"), text(payload, "message") or ""
    if text(details, "type") == "ask_user":
        return [Asked("question", input=details, note=note)]
    return [Asked("permission", text(details, "toolName"), details, note=note)]


def _spent(payload: dict[str, Any]) -> list[Fact]:
    tokens = number(table(table(payload, "llm_response"), "usageMetadata"), "totalTokenCount")
    return [Busy(), Spent(int(tokens), more=True)] if tokens else [Busy()]


def with_question(heard: Heard, payload: dict[str, Any]) -> Heard:
    """Return the facts of a payload whose hook waits, before the program's own dialog and its notification."""
    given = table(payload, "tool_input")
    asked = Asked("question", text(payload, "tool_name"), given, questions=tuple(tables(given, "questions")))
    return msgspec.structs.replace(heard, facts=(*heard.facts, asked))


_FACTS: Final[dict[str, Callable[[dict[str, Any]], list[Fact]]]] = {
    "SessionStart": _started,
    "BeforeAgent": _prompted,
    "BeforeTool": _tool_began,
    "AfterTool": _tool_ended,
    "BeforeModel": lambda _: [Busy()],
    "AfterModel": _spent,
    "Notification": _notification,
    "AfterAgent": lambda payload: [TurnEnded(text(payload, "prompt_response"))],
    "SessionEnd": lambda _: [Ended()],
}
"""What each event tells. An event that is not here says that the session is there, and no more."""
