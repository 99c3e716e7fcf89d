"""The same tools over MCP, by the official SDK (extra `mcp`): what answers its requests, whatever carries them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from tui_tasks import __version__
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.confinement import shown_tools
from tui_tasks.mcp_server.conversations import Conversation
from tui_tasks.mcp_server.results import result_of
from tui_tasks.mcp_server.tools import BESIDE, beside, described
from tui_tasks.mcp_server.wording import INSTRUCTIONS, mcp_name


class Handlers:
    """Answers MCP's requests; `conversation` tells whose a request is."""

    def __init__(self, conversation: Callable[[], Conversation]) -> None:
        self._conversation = conversation

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        """Every tool that the agent may use."""
        session = self._conversation().session
        shown = shown_tools(session.identity, session.table.tools)
        names = {tool.name for tool in shown}
        return types.ListToolsResult(tools=[described(tool, names) for tool in shown])

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool."""
        conversation = self._conversation()
        tool = _find(conversation, params.name)
        return result_of(await conversation.ask(_request(tool, params)))


def _find(conversation: Conversation, name: str) -> Tool | None:
    return next((tool for tool in conversation.session.table.tools.values() if mcp_name(tool.name) == name), None)


def _request(tool: Tool | None, params: types.CallToolRequestParams) -> dict[str, Any]:
    """A call as the channel has it."""
    arguments: dict[str, Any] = dict(params.arguments or {})
    meta: dict[str, Any] = dict(params.meta or {})
    others = {key: meta[key] for key in BESIDE if key in meta}
    if tool is not None:
        others |= {key: arguments.pop(key) for key in beside(tool) if key in arguments}
    return {**others, "tool": tool.name if tool else params.name, "arguments": arguments}


def make(conversation: Callable[[], Conversation]) -> Server[Any]:
    """The SDK's server with all that is offered."""
    handlers = Handlers(conversation)
    return Server(
        "tui-tasks",
        version=__version__,
        title="tui-tasks",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )
