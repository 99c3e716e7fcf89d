"""The payloads of our plugin in opencode (seen with 1.18.33): events, and the hooks around prompts and tools.

An event is `{"type", "properties"}`. A hook has `input` and `output`, whose fields tell which hook it is. Either may be
in an object whose `event` is the event itself or the hook's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tui_tasks.core.operations.sessions import (
    InputRequested,
    MessageWritten,
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
    TurnFailed,
    TurnInterrupted,
    UsageReported,
    WentIdle,
    Working,
)
from tui_tasks.hooks.programs.payload_fields import is_own_prompt, number, table, tables, text, tool_target, whole_list
from tui_tasks.hooks.session_records import Item, as_given, diff

# Events that occur while the agent waits for a person, and do not show whether it still does.
_BESIDE: Final = ("session.status", "session.updated", "session.diff", "message.", "todo.", "file.", "lsp.")
# Fields of a permission that are not what the tool is given.
_ABOUT_REQUEST: Final = frozenset(
    {"id", "sessionID", "permission", "type", "always", "tool", "messageID", "callID", "time"}
)
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    for name in ("event", "stdin", "data", "payload"):
        if isinstance(payload.get(name), dict):
            payload = {**payload, **payload[name]}
    if text(payload, "type") is not None:
        return _event(payload)
    return _hook(table(payload, "input"), table(payload, "output"), text(payload, "cwd"))


def _event(payload: dict[str, Any]) -> SessionReport | None:
    kind, properties = text(payload, "type") or "", table(payload, "properties")
    info = table(properties, "info")
    session = text(properties, "sessionID") or text(info, "sessionID")
    if session is None and kind.startswith("session."):
        session = text(info, "id")
    if session is None:
        return None
    subagent = None
    if (parent := text(info, "parentID")) is not None and kind.startswith("session."):
        # A subagent has a session of its own; its events are about a subagent of the parent session.
        session, subagent = parent, session
        events: list[SessionEvent] = [SubagentStarted(subagent, subagent)] if kind == "session.created" else []
    else:
        events = _READERS[kind](properties) if kind in _READERS else []
    return SessionReport(
        program="opencode",
        session=session,
        events=tuple(events),
        cwd=text(info, "directory") or text(table(info, "path"), "cwd"),
        model=_model(info),
        mode=text(info, "mode") if kind == "message.updated" else text(info, "agent"),
        subagent=subagent,
        ends_waiting=not kind.startswith(_BESIDE),
    )


def _model(info: dict[str, Any]) -> str | None:
    named = table(info, "model")
    return text(info, "modelID") or text(named, "modelID") or text(named, "id")


def _hook(given: dict[str, Any], made: dict[str, Any], cwd: str | None) -> SessionReport | None:
    session = text(given, "sessionID")
    if session is None:
        return None
    tool, call = text(given, "tool"), text(given, "callID")
    message = table(made, "message")
    events: list[SessionEvent] = []
    if tool is not None:
        # The arguments are in the output, where a plugin may change them, only before the tool runs.
        target = tool_target(made.get("args"), cwd)
        events = [ToolEnded(tool, call)] if "args" in given else [ToolStarted(tool, call, target)]
    elif message:
        events = _prompted(made)
    elif (words := text(made, "text")) is not None:
        events = [MessageWritten(words)]
    return SessionReport(
        program="opencode",
        session=session,
        events=tuple(events),
        cwd=cwd,
        model=_model(given) or _model(message),
        mode=text(given, "agent"),
        ends_waiting=tool is not None or bool(message),
    )


def _prompted(made: dict[str, Any]) -> list[SessionEvent]:
    parts = (text(part, "text") for part in tables(made, "parts") if part.get("synthetic") is not True)
    prompt = "\n".join(part for part in parts if part is not None)
    # A message of ours may begin no turn; where it does, `session.status` tells of it.
    return [] if is_own_prompt(prompt) else [PromptSubmitted(prompt)]


def _status(properties: dict[str, Any]) -> list[SessionEvent]:
    kind = text(table(properties, "status"), "type")
    return [Working()] if kind in ("busy", "retry") else [WentIdle()] if kind == "idle" else []


def _updated(properties: dict[str, Any]) -> list[SessionEvent]:
    info = table(properties, "info")
    tokens = table(info, "tokens")
    counted = [number(tokens, name) or 0 for name in ("input", "output", "reasoning")]
    # Before the first reply, 0 means that nothing is known yet.
    spent = UsageReported(int(sum(counted)) or None, number(info, "cost") or None)
    return [spent] if spent.tokens else []


def _failed(properties: dict[str, Any]) -> list[SessionEvent]:
    error = table(properties, "error")
    if text(error, "name") == "MessageAbortedError":
        return [TurnInterrupted()]
    return [TurnFailed(text(table(error, "data"), "message") or text(error, "name"))]


def _permission(properties: dict[str, Any]) -> list[SessionEvent]:
    given = {name: value for name, value in properties.items() if name not in _ABOUT_REQUEST and value not in _EMPTY}
    tool = text(properties, "permission") or text(properties, "type")
    always = properties.get("always")
    # opencode allows all of these patterns from then on, or none.
    suggestions = [always] if isinstance(always, list) and always else None
    return [InputRequested("permission", tool, given, text(properties, "id"), suggestions)]


def _question(properties: dict[str, Any]) -> list[SessionEvent]:
    questions = tuple(tables(properties, "questions"))
    return [
        InputRequested(
            "question", input=properties.get("questions"), request=text(properties, "id"), questions=questions
        )
    ]


_READERS: Final[dict[str, Callable[[dict[str, Any]], list[SessionEvent]]]] = {
    "session.created": lambda _: [SessionStarted()],
    "session.status": _status,
    "session.idle": lambda properties: [WentIdle(), SubagentEnded(text(properties, "sessionID") or "?")],
    "session.updated": _updated,
    "session.error": _failed,
    "session.deleted": lambda _: [SessionEnded()],
    "permission.asked": _permission,
    "permission.updated": _permission,
    "question.asked": _question,
    "todo.updated": lambda properties: [TaskListReported(whole_list(properties, "todos", "content"))],
}
"""Readers by event. Other events report only that the session exists."""


def items_of_export(exported: Any) -> Iterator[Item]:
    """Yield what the program's `export` of a session holds for people."""
    for message in tables(exported, "messages"):
        is_user = text(table(message, "info"), "role") == "user"
        for part in tables(message, "parts"):
            kind, words = text(part, "type"), text(part, "text")
            if kind == "text" and words is not None and part.get("synthetic") is not True:
                if not (is_user and is_own_prompt(words)):
                    yield Item("prompt" if is_user else "words", words)
            elif kind == "tool":
                yield from _tool_items(text(part, "tool") or "?", table(part, "state"))


def _tool_items(tool: str, state: dict[str, Any]) -> Iterator[Item]:
    given = table(state, "input")
    path = text(given, "filePath")
    if path is not None and isinstance(given.get("newString"), str):
        yield Item("edit", diff(text(given, "oldString") or "", given["newString"]), path)
    elif path is not None and isinstance(given.get("content"), str):
        yield Item("edit", diff("", given["content"]), path)
    else:
        yield Item("tool", as_given(given), tool)
    if (error := text(state, "error")) is not None:
        yield Item("error", error)
    elif (output := text(state, "output")) is not None and path is None:
        yield Item("result", output)
