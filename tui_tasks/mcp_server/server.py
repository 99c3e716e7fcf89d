"""The same tools over MCP's stdio transport, by the official SDK (extra `mcp`). Names have `_` for `:`."""

from __future__ import annotations

import itertools
import logging
import time
from typing import Any, cast

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tui_tasks import __version__
from tui_tasks.channel import prime, requests
from tui_tasks.channel.session import Session
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.dialects.base import Tool
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.requests.confinement import shown_tools
from tui_tasks.mcp_server.lines import StrictLines

_log = logging.getLogger(__name__)

# MCP has no place for lines that come between replies; control_history with `since` gives the same.
_NOT_OVER_MCP = frozenset({"control:subscribe", "control:unsubscribe"})
# Seconds until a database that could not be read is asked again.
_RETRY = 0.5
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
        self._waiting: dict[int, anyio.Event] = {}
        self._watch = Watch(session.store.db)
        self._pausing: anyio.CancelScope | None = None

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
        if self._pausing is not None and self._session.waits:
            # It may end a wait, or be one that ends sooner than the others.
            self._pausing.cancel()
        try:
            if number not in self._replies:
                self._waiting[number] = anyio.Event()
                await self._waiting[number].wait()
        except BaseException:
            self._session.waits.abandon(number)
            raise
        finally:
            self._waiting.pop(number, None)
        reply = self._replies.pop(number)
        return with_messages(_result(tool, reply), reply)

    async def settle(self) -> None:
        """Answer the calls that wait, each as soon as what it waits for has happened; runs until it is cancelled."""
        try:
            while True:
                try:
                    with anyio.CancelScope() as self._pausing:
                        await self._pause()
                    self._keep(self._session.settle())
                except StorageFailed as failure:
                    _log.warning("%s", failure.message)
                    await anyio.sleep(_RETRY)
        finally:
            self._watch.close()

    async def _pause(self) -> None:
        """Sleep until another process has committed or something is due, while any call waits."""
        await anyio.sleep(0)
        if not self._session.waits:
            await anyio.sleep_forever()
        while not self._watch.changed(time.monotonic()):
            due = self._session.due()
            left = float("inf") if due is None else (due - self._session.passed()) / 1_000_000
            if left <= 0:
                return
            with anyio.move_on_after(min(left, self._watch.wait(time.monotonic()))):
                if self._watch.fd is None:
                    await anyio.sleep_forever()
                else:
                    await anyio.wait_readable(self._watch.fd)
                    self._watch.arm(time.monotonic())

    def _keep(self, replies: list[bytes]) -> None:
        for line in replies:
            reply = msgspec.json.decode(line)
            self._replies[reply["id"]] = reply
            if reply["id"] in self._waiting:
                self._waiting[reply["id"]].set()


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


def with_messages(result: types.CallToolResult, reply: dict[str, Any]) -> types.CallToolResult:
    """A result that brings the human's messages as well.

    Some clients show a model the text alone, some what is structured alone.
    """
    if messages := reply.get("messages"):
        said = [f"Message from the human: {message['text']}" for message in messages]
        result.content = [*(types.TextContent(type="text", text=text) for text in said), *result.content]
        if result.structured_content is not None:
            result.structured_content = {**result.structured_content, "messages": messages}
        result.meta = {**(result.meta or {}), "tui-tasks/messages": messages}
    return result


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
            async with anyio.create_task_group() as group:
                group.start_soon(front.settle)
                await server.run(read, write, server.create_initialization_options())
                group.cancel_scope.cancel()

    is_written = True
    try:
        anyio.run(serve)
    except* BrokenPipeError:
        _log.info("the client is gone")
    except* OSError as failed:
        reason: BaseException = failed
        while isinstance(reason, BaseExceptionGroup):
            reason = reason.exceptions[0]
        _log.error("replies cannot be written (%s): no more requests are served", reason)
        is_written = False
    return is_written
