"""Claude Code (seen with 2.1.330): payloads of its hooks, its record of a session, and its status file.

Its sum of tokens and dollars (`cost-state`) is written when the process ends; until then the messages are counted. No
message has what a compaction (`/compact`) spent: the conversation that it read is counted, which is a little less.

`claude agents --json` prints the same, but takes 0.4 s of CPU each time; reading the file takes microseconds. No hook
is run when the person ends a turn while the model writes: only this file tells (2.1.330).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks import regular_files
from tui_tasks.core.operations.sessions import (
    InputRequested,
    InputStillRequested,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SubagentEnded,
    SubagentStarted,
    TaskListItem,
    TaskListReported,
    ToolEnded,
    ToolsEnded,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    WentIdle,
)
from tui_tasks.hooks.programs.payload_fields import (
    EventReader,
    hook_name,
    is_own_prompt,
    item_status,
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
from tui_tasks.hooks.session_records import Ending, Item, Part, Record, as_given, diff

_QUESTION: Final = "AskUserQuestion"


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    made = report("claude", payload, _READERS)
    if made is not None and hook_name(payload) == "Notification":
        # It is run while the agent waits for a person, and does not show whether it still does.
        made = msgspec.structs.replace(made, ends_waiting=False)
    return made


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    return [tool_started(payload), *_listed(payload)]


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


def _notification(payload: dict[str, Any]) -> list[SessionEvent]:
    kind, note = text(payload, "notification_type"), text(payload, "message") or ""
    if kind == "permission_prompt":
        return [InputStillRequested("permission", note=note)]
    if kind == "elicitation_dialog":
        return [InputStillRequested("question", note=note)]
    # A Stop comes before this, unless the person ended the turn.
    return [WentIdle(has_finished=False)] if kind == "idle_prompt" else []


def _turn_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    running = [one for one in tables(payload, "background_tasks") if one.get("status", "running") == "running"]
    return [TurnEnded(text(payload, "last_assistant_message"), tuple(str(one.get("id")) for one in running))]


_READERS: Final[dict[str, EventReader]] = {
    "SessionStart": started,
    "UserPromptSubmit": lambda payload: prompted(payload, "prompt_id"),
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PostToolUseFailure": _tool_failed,
    "PostToolBatch": lambda _: [ToolsEnded()],
    "PermissionRequest": _permission,
    "Notification": _notification,
    "Stop": _turn_ended,
    "StopFailure": lambda payload: [TurnFailed(text(payload, "last_assistant_message") or text(payload, "error"))],
    "TaskCreated": lambda payload: _task(payload, None),
    "TaskCompleted": lambda payload: _task(payload, "done"),
    "SubagentStart": lambda payload: [SubagentStarted(text(payload, "agent_id") or "?")],
    "SubagentStop": lambda payload: [SubagentEnded(text(payload, "agent_id") or "?")],
    "SessionEnd": lambda _: [SessionEnded()],
}

MAX_PARTS: Final = 100
_TELLING: Final = (b'"usage"', b'"cost-state"', b'"compact_boundary"')
TOKEN_FIELDS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_GIVEN: Final = TOKEN_FIELDS[:3]
_WINDOWS: Final = (200_000, 1_000_000)
"""The sizes of context windows in tokens. The record does not name one: more tokens than one holds need the next."""
_SPENT_BY_MODEL: Final = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
_OWN_MODEL: Final = "<synthetic>"
"""The model that the program names for messages that it wrote itself."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the files of a record: the session's and those of its subagents."""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
    except (OSError, ValueError):  # a payload may name any path, such as one with a null character
        names = []
    return [path, *(os.path.join(folder, name) for name in names[:MAX_PARTS])]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line of a file; `is_own`: of the session itself."""
    if is_own and line.startswith(b'{"parentUuid"') and b'"type":"user"' in line:
        record.ending = None
    if not any(word in line for word in _TELLING):
        return
    entry = _decode(line)
    if text(entry, "type") == "cost-state":
        _sum(record, entry)
        return
    if text(entry, "subtype") == "compact_boundary":
        part.count(text(entry, "uuid"), int(number(table(entry, "compactMetadata"), "preTokens") or 0))
        return
    record.is_headless = (text(entry, "entrypoint") or "cli") != "cli"
    message = table(entry, "message")
    part.count(text(message, "id"), _count(table(message, "usage"), TOKEN_FIELDS))
    if not is_own:
        return
    if entry.get("isApiErrorMessage") is True:
        words = "\n".join(words for one in tables(message, "content") if (words := text(one, "text")) is not None)
        record.ending = Ending("faltered", words or "its model's service has failed")
    else:
        record.ending = None
        if (model := text(message, "model")) != _OWN_MODEL:
            record.model = model or record.model
            given = _count(table(message, "usage"), _GIVEN)
            record.context = given / next(window for window in _WINDOWS if given <= window or window == _WINDOWS[-1])


def _sum(record: Record, entry: dict[str, Any]) -> None:
    by_model = table(entry, "modelUsage")
    record.total = max(record.total, sum(_count(table(by_model, name), _SPENT_BY_MODEL) for name in by_model))
    if entry.get("hasUnknownModelCost") is False and by_model:
        record.cost_usd = number(entry, "totalCostUSD")


def _count(usage: dict[str, Any], names: tuple[str, ...]) -> int:
    return sum(int(number(usage, name) or 0) for name in names)


_MAX: Final = 65_536


def idle_since(transcript: str, session: str, pid: int) -> int | None:
    """Return since when a session has waited for its person to type; None if it does not, or that is unknown.

    Args:
        transcript: the path of its record, which is in the same settings folder.
        session: the program's id of the session.
        pid: its process.
    """
    settings = os.path.dirname(os.path.dirname(os.path.dirname(transcript)))
    try:
        file = os.path.join(settings, "sessions", f"{pid}.json")
        entry = _decode(regular_files.read_regular(file, _MAX, follow_links=False))
    except (OSError, msgspec.DecodeError):
        return None
    since = number(entry, "statusUpdatedAt")
    if text(entry, "sessionId") != session or text(entry, "status") != "idle" or since is None:
        return None
    return int(since * 1000)


_OF_TRANSCRIPT: Final = (b'"type":"user"', b'"type":"assistant"')


def items_of_line(line: bytes, seen: dict[str, int]) -> Iterator[Item]:
    """Yield what a line of a record holds for people."""
    if not any(word in line for word in _OF_TRANSCRIPT):
        return
    entry = _decode(line)
    if entry.get("isMeta") is True or entry.get("isSidechain") is True:
        return
    message, is_user = table(entry, "message"), text(entry, "type") == "user"
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else tables(message, "content")
    for block in blocks:
        kind, words = text(block, "type"), text(block, "text")
        if kind == "text" and words is not None:
            if not (is_user and is_own_prompt(words)):
                failed = entry.get("isApiErrorMessage") is True
                yield Item("prompt" if is_user else "error" if failed else "words", words)
        elif kind == "tool_use":
            yield Item("tool", as_given(_without_texts(block.get("input"))), text(block, "name") or "?")
        elif kind == "tool_result":
            yield _result(block, entry.get("toolUseResult"))


def _without_texts(given: Any) -> Any:
    """Return what an edit is given without the texts, which its result shows as a diff."""
    if not isinstance(given, dict) or "file_path" not in given:
        return given
    return {name: one for name, one in given.items() if name not in ("old_string", "new_string", "content", "edits")}


def _result(block: dict[str, Any], result: Any) -> Item:
    if (path := text(result, "filePath")) is not None:
        if isinstance(result.get("content"), str) and text(result, "type") == "create":
            return Item("edit", diff("", result["content"]), path)
        lines = [line for hunk in tables(result, "structuredPatch") for line in _hunk(hunk)]
        if lines:
            return Item("edit", "\n".join(lines), path)
    content = block.get("content")
    words = (
        content if isinstance(content, str) else "\n".join(text(one, "text") or "" for one in tables(block, "content"))
    )
    return Item("error" if block.get("is_error") is True else "result", words)


def _hunk(hunk: dict[str, Any]) -> list[str]:
    old, new = (
        f"{int(number(hunk, f'{side}Start') or 0)},{int(number(hunk, f'{side}Lines') or 0)}" for side in ("old", "new")
    )
    lines = hunk.get("lines")
    return [f"@@ -{old} +{new} @@", *map(str, lines)] if isinstance(lines, list) else []
