"""The same tools over MCP's stdio transport, by the official SDK (extra `mcp`). Names have `_` for `:`."""

from __future__ import annotations

import itertools
import logging
from typing import Any, cast

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tui_tasks import __version__
from tui_tasks.channel import prime, requests
from tui_tasks.channel.session import Session
from tui_tasks.dialects.arguments import schema
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.confinement import shown_tools
from tui_tasks.mcp_server.lines import StrictLines

_log = logging.getLogger(__name__)

# MCP has no place for lines that come between replies; control_history with `since` gives the same.
_NOT_OVER_MCP = frozenset({"control:subscribe", "control:unsubscribe"})
# Seconds between two looks whether a wait is over.
_PATIENCE = 0.05
# What stands beside the arguments on the channel: a client says it in `_meta`, a model among the arguments.
_BESIDE = ("agent", "list", "if_version", "idempotency_key", *requests.REASONING_KEYS)
_ABOUT = """\
Over MCP, names have `_` for `:`. Beside the arguments of a tool that writes you may give `if_version` (write only if
the task is still at that version, else `conflict`; `control_task` shows it), `idempotency_key` (the same call with the
same key is done once), and `topic`, `observations`, `thoughts`, `reflection` (why you do it; the human reads it in the
log). A client may give all of these, and `list`, in the request's `_meta`; your name is fixed.
"""
# Short: a client puts all of it before its model, once for each tool.
_VERSION = {"type": "integer", "description": "write only if still at this version"}
_KEY = {"type": "string", "description": "do it once however often it is sent"}
_WHY: dict[str, Any] = {
    **{key: {} for key in requests.REASONING_KEYS},
    "thoughts": {"description": "why, for the human to read"},
}


def _beside(tool: Tool) -> dict[str, Any]:
    """What a tool takes beside its own arguments, as properties of JSON Schema."""
    if not tool.ever_writes:
        return {}
    return {**({"if_version": _VERSION} if tool.ever_names_task else {}), "idempotency_key": _KEY, **_WHY}


def input_schema(tool: Tool) -> dict[str, Any]:
    """What a tool takes over MCP."""
    made = schema(tool.arguments)
    return {**made, "properties": {**made["properties"], **_beside(tool)}}


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
        shown = {tool.name for tool in shown_tools(self._session.identity, self._session.table.tools)}
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=tool.description, input_schema=input_schema(tool))
                for name, tool in self._tools.items()
                if tool.name in shown
            ]
        )

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        number = next(self._ids)
        self._keep(self._session.answer([_request(number, tool, params)]))
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


def _request(number: int, tool: Tool | None, params: types.CallToolRequestParams) -> dict[str, Any]:
    """A call as the channel has it."""
    arguments: dict[str, Any] = dict(params.arguments or {})
    meta: dict[str, Any] = dict(params.meta or {})
    beside = {key: meta[key] for key in _BESIDE if key in meta}
    if tool is not None:
        beside |= {key: arguments.pop(key) for key in _beside(tool) if key in arguments}
    return {**beside, "id": number, "tool": tool.name if tool else params.name, "arguments": arguments}


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


def run(session: Session) -> bool:
    """Serve until the client goes; return whether every reply could be written."""
    front = _Front(session)
    server: Server[Any] = Server(
        "tui-tasks",
        version=__version__,
        instructions=f"{prime.RULES}\n{_ABOUT}",
        on_list_tools=front.list_tools,
        on_call_tool=front.call_tool,
    )

    async def serve() -> None:
        lines = StrictLines()
        async with stdio_server(stdin=cast(Any, lines)) as (read, write):
            lines.write = write
            await server.run(read, write, server.create_initialization_options())

    is_written = True
    try:
        anyio.run(serve)
    except* BrokenPipeError:
        _log.info("the client is gone")
    except* OSError as failed:
        _log.error("replies cannot be written (%s): no more requests are served", failed.exceptions[0])
        is_written = False
    return is_written
