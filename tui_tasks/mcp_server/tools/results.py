"""Replies of a session as results of MCP tool calls.

Clients show their model either the text of a result or its structured content, hardly ever both. So the content is in
one of them only: as text, which every client shows, or as structured content (`mcp --structured`), described by the
tool's output schema.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
import msgspec

from tui_tasks.dialects.base import Tool
from tui_tasks.mcp_server.tools.outputs import data_of
from tui_tasks.mcp_server.tools.wording import error_for_mcp


def result_of(reply: dict[str, Any]) -> types.CallToolResult:
    """Return a reply as a result, with its note and the human's messages to the agent."""
    result = _content_of(reply)
    if note := reply.get("note"):
        result.content = [*result.content, text_of(note)]
        if result.structured_content is not None:
            result.structured_content = {**result.structured_content, "note": note}
    if messages := reply.get("messages"):
        said = [text_of(f"Message from the human: {message['text']}") for message in messages]
        result.content = [*said, *result.content]
        if result.structured_content is not None:
            result.structured_content = {**result.structured_content, "messages": messages}
        result.meta = {**(result.meta or {}), "tui-tasks/messages": messages}
    return result


def as_data(tool: Tool, result: types.CallToolResult) -> types.CallToolResult:
    """Return a result with its content as structured content; the human's messages stay text."""
    if result.is_error:
        return result
    messages = (result.meta or {}).get("tui-tasks/messages", [])
    said, told, rest = result.content[: len(messages)], result.content[len(messages)], result.content[len(messages) :]
    if result.structured_content is None:
        assert isinstance(told, types.TextContent)
        # Seed 001's deprecated tool may have a text only.
        data = {"text": told.text} if tool.name == "agent" else data_of(tool, msgspec.json.decode(told.text))
        result.structured_content = {**data, "messages": messages} if messages else data
    result.content = [*said, *rest[1:]]
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
    told = text_of(f"{error['code']}: {error['message']}")
    return types.CallToolResult(content=[told], structured_content={"error": error}, is_error=True)


def text_of(text: str) -> types.TextContent:
    """Return a text block."""
    return types.TextContent(type="text", text=text)
