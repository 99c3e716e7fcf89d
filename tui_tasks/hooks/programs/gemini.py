"""Gemini CLI (seen with 0.61.0): the payloads of its hooks, and its record of a session.

No hook reports that the person has ended a turn; the record does. It has no prices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    InputRequested,
    SessionEnded,
    SessionEvent,
    SessionReport,
    TaskListReported,
    ToolEnded,
    TurnEnded,
    UsageReported,
    Working,
)
from tui_tasks.hooks.programs.payload_fields import (
    EventReader,
    hook_name,
    is_own_prompt,
    number,
    prompted,
    report,
    started,
    table,
    tables,
    text,
    tool_started,
    whole_list,
)
from tui_tasks.hooks.session_records import Ending, Item, Part, Record, as_given


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    made = report("gemini", payload, _READERS)
    if made is None:
        return None
    is_over = hook_name(payload) != "Notification" or any(isinstance(event, InputRequested) for event in made.events)
    return msgspec.structs.replace(made, model=text(table(payload, "llm_request"), "model"), ends_waiting=is_over)


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    began = tool_started(payload)
    if began.tool != "write_todos":
        return [began]
    return [began, TaskListReported(whole_list(payload.get("tool_input"), "todos", "description"))]


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
    about = [part for part in (text(details, "title"), text(details, "command")) if part]
    return [InputRequested("permission", text(details, "toolName"), details, note=": ".join(about) or note)]


def _model_usage(payload: dict[str, Any]) -> list[SessionEvent]:
    tokens = number(table(table(payload, "llm_response"), "usageMetadata"), "totalTokenCount")
    return [Working(), UsageReported(int(tokens), more=True)] if tokens else [Working()]


def with_question(report: SessionReport, payload: dict[str, Any]) -> SessionReport:
    """Return the report of a payload whose hook waits, before the program's own dialog and its notification."""
    given = table(payload, "tool_input")
    asked = InputRequested("question", text(payload, "tool_name"), given, questions=tuple(tables(given, "questions")))
    return msgspec.structs.replace(report, events=(*report.events, asked))


_READERS: Final[dict[str, EventReader]] = {
    "SessionStart": started,
    "BeforeAgent": prompted,
    "BeforeTool": _tool_began,
    "AfterTool": _tool_ended,
    "BeforeModel": lambda _: [Working()],
    "AfterModel": _model_usage,
    "Notification": _notification,
    "AfterAgent": lambda payload: [TurnEnded(text(payload, "prompt_response"))],
    "SessionEnd": lambda _: [SessionEnded()],
}

_WINDOW: Final = 1_048_576
"""The tokens of the context window of its models."""
_CANCELLED: Final = "Request cancelled."
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the only file of a record."""
    return [path]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line; one that sets earlier content (`$set`) adds nothing."""
    if not line.startswith(b'{"id"'):
        return
    entry = _decode(line)
    kind = text(entry, "type")
    if kind == "gemini":
        tokens = table(entry, "tokens")
        part.count(text(entry, "id"), int(number(tokens, "total") or 0))
        record.context = (number(tokens, "input") or 0) / _WINDOW
        record.model = text(entry, "model") or record.model
    if kind in ("user", "gemini"):
        record.ending = None
    elif kind == "info" and text(entry, "content") == _CANCELLED:
        record.ending = Ending("interrupted")
    elif kind == "error":
        record.ending = Ending("failed", text(entry, "content") or "its model's service has failed")


def items_of_line(line: bytes, seen: dict[str, int]) -> Iterator[Item]:
    """Yield what a line of a record holds for people; a message is recorded again once its tools have run.

    `seen` has the number of tools of each message that were yielded.
    """
    if not line.startswith(b'{"id"'):
        return
    entry = _decode(line)
    kind, key = text(entry, "type"), text(entry, "id") or ""
    content = entry.get("content")
    words = (
        content if isinstance(content, str) else "\n".join(text(one, "text") or "" for one in tables(entry, "content"))
    )
    is_new, done = key not in seen, seen.setdefault(key, 0)
    if is_new and words.strip() and not is_own_prompt(words) and not words.startswith("<"):
        yield Item("prompt" if kind == "user" else "words" if kind == "gemini" else "error", words)
    calls = list(tables(entry, "toolCalls"))
    for call in calls[done:]:
        given, display = table(call, "args"), call.get("resultDisplay")
        name = text(call, "name") or "?"
        if isinstance(display, dict) and (diff := text(display, "fileDiff")) is not None:
            yield Item("edit", diff[max(0, diff.find("@@")) :], text(display, "filePath") or name)
            continue
        yield Item("tool", as_given(given), name)
        failed = text(call, "status") == "error"
        yield Item("error" if failed else "result", display if isinstance(display, str) else as_given(display))
    seen[key] = max(done, len(calls))
