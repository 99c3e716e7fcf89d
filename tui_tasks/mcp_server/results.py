"""The replies of a session as results of MCP's calls, limited in size.

The content of a result is its text, which every client shows. With `mcp --structured` it is structured content too,
described by the tool's output schema. In MCP structured content is an object, so a list, or a result that may be null,
is its member `result`.
"""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types
import msgspec

from tui_tasks.dialects.tool_table import Tool
from tui_tasks.mcp_server.tool_listing import data_of, for_mcp, mcp_name


def error_for_mcp(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error of the channel adapted to MCP."""
    data = dict(error["data"])
    if "did_you_mean" in data:
        data["did_you_mean"] = [mcp_name(name) for name in data["did_you_mean"]]
    return {**error, "message": for_mcp(error["message"]), "data": data}


def result_of(reply: dict[str, Any]) -> types.CallToolResult:
    """Return a reply as a result, with its note and the human's messages to the agent."""
    result = _content_of(reply)
    if note := reply.get("note"):
        result.content = [*result.content, text_of(note)]
        if result.structured_content is not None:
            result.structured_content = {**result.structured_content, "note": note}
    if messages := reply.get("messages"):
        contents = [text_of(f"Message from the human: {message['text']}") for message in messages]
        result.content = [*contents, *result.content]
        if result.structured_content is not None:
            result.structured_content = {**result.structured_content, "messages": messages}
        result.meta = {**(result.meta or {}), "tui-tasks/messages": messages}
    return result


def as_data(tool: Tool, result: types.CallToolResult) -> types.CallToolResult:
    """Return a result with its content as structured content, beside the text for clients that read no other."""
    if result.is_error:
        return result
    messages = (result.meta or {}).get("tui-tasks/messages", [])
    block = result.content[len(messages)]
    if result.structured_content is None:
        assert isinstance(block, types.TextContent)
        # Seed 001's deprecated tool may have a text only.
        data = {"text": block.text} if tool.name == "agent" else data_of(tool, msgspec.json.decode(block.text))
        result.structured_content = {**data, "messages": messages} if messages else data
    return result


def _content_of(reply: dict[str, Any]) -> types.CallToolResult:
    if not reply["ok"]:
        return refusal_of(reply["error"])
    held = reply["result"]
    if isinstance(held, dict) and isinstance(held.get("content"), list):
        # Results of seed 001 are already in MCP's form: a text and an object.
        return types.CallToolResult(
            content=[text_of(part["text"]) for part in held["content"]],
            structured_content=held.get("structuredContent"),
        )
    return types.CallToolResult(content=[text_of(msgspec.json.encode(held).decode())])


def refusal_of(error: dict[str, Any]) -> types.CallToolResult:
    """Return an error as a result: a sentence for models, and all details for programs."""
    error = error_for_mcp(error)
    block = text_of(f"{error['code']}: {error['message']}")
    return types.CallToolResult(content=[block], structured_content={"error": error}, is_error=True)


def text_of(text: str) -> types.TextContent:
    """Return a text block."""
    return types.TextContent(type="text", text=text)


# 20,000 tokens of four bytes.
MAX_BYTES: Final = 80_000
# The tools whose results say where the next page begins, and the key of an item that says it.
_PAGED: Final = {"control:history": "seq", "control:find": "uid"}
_encode = msgspec.json.Encoder().encode


def truncated(tool: str, arguments: dict[str, Any], result: Any) -> tuple[Any, str]:
    """Return a result within the size limit, unless a `limit` is given, and a note about the cut, or ""."""
    if arguments.get("limit") is not None or len(_encode(result)) <= MAX_BYTES:
        return result, ""
    items, key = _longest(result)
    if not items:
        return result, ""
    # History without `since` has the newest entries: cut the oldest.
    from_end = tool == "control:history" and arguments.get("since") is None
    kept = _prefix(items[::-1] if from_end else items)
    if from_end:
        kept.reverse()
    note = f"Cut: {len(kept):,} of {len(items):,} are shown, for their length."
    if key is None:
        return kept, f"{note} {_hint(kept)}"
    cut = {**result, key: kept}
    if tool in _PAGED and not from_end:
        cut["next"] = kept[-1][_PAGED[tool]] if kept else result["next"]
        return cut, note
    return cut, f"{note} {_hint(kept)}"


def _longest(result: Any) -> tuple[list[Any], str | None]:
    """Return the longest list of a result, and its key; None if the result itself is the list."""
    if isinstance(result, list):
        return result, None
    if not isinstance(result, dict):
        return [], None
    lists = {key: value for key, value in result.items() if isinstance(value, list)}
    key = max(lists, key=lambda name: len(_encode(lists[name])), default=None)
    return (lists[key], key) if key is not None else ([], None)


def _prefix(items: list[Any]) -> list[Any]:
    """Return as many of the first items as fit."""
    size = 0
    for at, item in enumerate(items):
        size += len(_encode(item)) + 1
        if size > MAX_BYTES:
            return items[:at]
    return items


def _hint(kept: list[Any]) -> str:
    last = kept[-1] if kept and isinstance(kept[-1], dict) else {}
    uid = next((last[key] for key in ("uid", "id", "task_id") if key in last), None)
    if uid is None:
        return "Ask for fewer."
    return (
        f'Where the tool takes them: "after": "{uid}" reads on, "brief": true is shorter, "limit" takes more at once.'
    )
