"""Codex (seen with 0.169.0): the payloads of its hooks, and its record of a session.

No hook reports that the model's service has failed; the record does. It has no prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from tui_tasks.hooks.programs.fields import (
    EventReader,
    Item,
    as_given,
    is_own_prompt,
    number,
    prompted,
    report,
    started,
    table,
    tables,
    text,
    whole_list,
)
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


_OF_TRANSCRIPT: Final = b'"response_item"'
_OUTPUT: Final = "Output:\n"
_FILE: Final = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)")


def items_of_line(line: bytes, seen: dict[str, int]) -> Iterator[Item]:
    """Yield what a line of a record holds for people."""
    if _OF_TRANSCRIPT not in line:
        return
    entry = _decode(line)
    payload = table(entry, "payload")
    kind, name = text(payload, "type"), text(payload, "name") or "?"
    if text(entry, "type") != "response_item":
        return
    if kind == "message":
        words = "\n".join(one for part in tables(payload, "content") if (one := text(part, "text")) is not None)
        if text(payload, "role") == "assistant":
            yield Item("words", words)
        elif text(payload, "role") == "user" and not is_own_prompt(words) and not words.startswith("<"):
            yield Item("prompt", words)
    elif kind == "function_call":
        yield Item("tool", as_given(_arguments(text(payload, "arguments"))), name)
    elif kind == "custom_tool_call":
        given = text(payload, "input") or ""
        if name == "apply_patch":
            yield from _edits(given)
        else:
            yield Item("tool", given, name)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = text(payload, "output") or ""
        yield Item("result", output.partition(_OUTPUT)[2] or output)


def _arguments(given: str | None) -> Any:
    try:
        return _decode(given or "{}")
    except msgspec.DecodeError:
        return given


def _edits(patch: str) -> Iterator[Item]:
    """Yield the edits of a patch in the program's own form, a file each."""
    path = ""
    lines: list[str] = []
    for line in patch.split("\n"):
        if (match := _FILE.fullmatch(line)) is not None:
            if path:
                yield Item("edit", "\n".join(lines), path)
            path, lines = match[1], []
        elif not line.startswith("***"):
            lines.append(line)
    if path:
        yield Item("edit", "\n".join(lines), path)
