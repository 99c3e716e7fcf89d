"""Replies of a session as results of MCP's tool calls.

The programs that call tools show their model either the text of a result or its structured content, hardly ever both.
So the content stands in one of them alone: as text, which every client shows, or for clients that take data
(`mcp --structured`) as structured content, whose shape the tool's output schema tells.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
import msgspec

from tui_tasks.dialects.base import Tool
from tui_tasks.mcp_server.tools.outputs import data_of
from tui_tasks.mcp_server.tools.wording import reworded_error


def result_of(reply: dict[str, Any]) -> types.CallToolResult:
    """A reply in MCP's shape, with what it says beside its result, and what the human wrote to the agent."""
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
    """A result with its content as data and not as text, but for what the human wrote."""
    if result.is_error:
        return result
    messages = (result.meta or {}).get("tui-tasks/messages", [])
    said, told, rest = result.content[: len(messages)], result.content[len(messages)], result.content[len(messages) :]
    if result.structured_content is None:
        assert isinstance(told, types.TextContent)
        # Seed 001's deprecated tool may have nothing but a text.
        data = {"text": told.text} if tool.name == "agent" else data_of(tool, msgspec.json.decode(told.text))
        result.structured_content = {**data, "messages": messages} if messages else data
    result.content = [*said, *rest[1:]]
    return result


def _content_of(reply: dict[str, Any]) -> types.CallToolResult:
    if not reply["ok"]:
        return refusal_of(reply["error"])
    held = reply["result"]
    if isinstance(held, dict) and isinstance(held.get("content"), list):
        # Seed 001's results have MCP's shape already: a text for reading, and what it tells of as an object.
        return types.CallToolResult(
            content=[text_of(part["text"]) for part in held["content"]],
            structured_content=held.get("structuredContent"),
        )
    return types.CallToolResult(content=[text_of(msgspec.json.encode(held).decode())])


def refusal_of(error: dict[str, Any]) -> types.CallToolResult:
    """An error in MCP's shape: a sentence for models, and for programs all that is known of it."""
    error = reworded_error(error)
    told = text_of(f"{error['code']}: {error['message']}")
    return types.CallToolResult(content=[told], structured_content={"error": error}, is_error=True)


def text_of(text: str) -> types.TextContent:
    """A block of text."""
    return types.TextContent(type="text", text=text)
