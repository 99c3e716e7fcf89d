"""The same tools over MCP's stdio transport, by the official SDK (extra `mcp`). Names have `_` for `:`."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tui_tasks import __version__, prime
from tui_tasks.dialects.arguments import schema
from tui_tasks.dialects.base import Tool
from tui_tasks.session import Session

# MCP has no place for lines that come between replies; control_history with `since` gives the same.
_NOT_OVER_MCP = frozenset({"control:subscribe", "control:unsubscribe"})
# Seconds between two looks whether a wait is over.
_PATIENCE = 0.05


def mcp_name(tool: str) -> str:
    """A tool's name on MCP, which allows no colon."""
    return tool.replace(":", "_")


class _Front:
    """Answers MCP requests from a session; all on the one thread that the session belongs to."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tools = {
            mcp_name(tool.name): tool for tool in session.table.tools.values() if tool.name not in _NOT_OVER_MCP
        }
        self._ids = itertools.count(1)
        self._replies: dict[Any, dict[str, Any]] = {}

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=tool.description, input_schema=schema(tool.arguments))
                for name, tool in self._tools.items()
                if not tool.human
            ]
        )

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        number = next(self._ids)
        request = {"id": number, "tool": tool.name if tool else params.name, "arguments": params.arguments or {}}
        self._keep(self._session.answer([request]))
        try:
            while number not in self._replies:
                await anyio.sleep(_PATIENCE)
                self._keep(self._session.settle())
        except BaseException:
            self._session.waits.abandon(number)
            raise
        return _result(tool, self._replies.pop(number))

    def _keep(self, replies: list[bytes]) -> None:
        for line in replies:
            reply = msgspec.json.decode(line)
            self._replies[reply["id"]] = reply


def _result(tool: Tool | None, reply: dict[str, Any]) -> types.CallToolResult:
    """A reply in MCP's shape; seed 001's results have it already."""
    held = reply.get("result")
    if isinstance(held, dict) and isinstance(held.get("content"), list):
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=part["text"]) for part in held["content"]],
            structured_content=held.get("structuredContent"),
            is_error=not reply["ok"],
        )
    if not reply["ok"]:
        error = reply["error"]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=f"{error['code']}: {error['message']}")],
            structured_content={"error": error},
            is_error=True,
        )
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=msgspec.json.encode(held).decode())],
        structured_content=held if isinstance(held, dict) else {"result": held},
    )


def run(session: Session) -> None:
    """Serve until the client goes."""
    front = _Front(session)
    server: Server[Any] = Server(
        "tui-tasks",
        version=__version__,
        instructions=prime.RULES,
        on_list_tools=front.list_tools,
        on_call_tool=front.call_tool,
    )

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)
