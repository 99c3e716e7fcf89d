"""MCP on standard input and output. Lines are strict JSON as on the channel; other lines get an error reply."""

from __future__ import annotations

import fcntl
import logging
import os
import re
from typing import Any, Final, cast

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from tui_tasks.channel.line_parser import MAX_LINE
from tui_tasks.channel.session import Session
from tui_tasks.core.errors import InvalidRequest, ParseError, Refusal, TooLarge
from tui_tasks.dialects.requests import strict_json
from tui_tasks.mcp_server import handlers
from tui_tasks.mcp_server.async_sessions import AsyncSessions

_log = logging.getLogger(__name__)

_CODES: Final = {ParseError: types.PARSE_ERROR, TooLarge: types.INVALID_REQUEST, InvalidRequest: types.INVALID_REQUEST}
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_VALUE: Final = re.compile(rb'\s*:\s*(-?\d{1,19}(?![\d.eE])|"(?:[^"\\]|\\.)*")', re.DOTALL)


def run(session: Session, *, structured: bool) -> bool:
    """Serve until the client disconnects; return whether every reply could be written. `structured`: see `Handlers`."""
    agent_sessions = AsyncSessions(session.store, lambda: agent_session.session.identity)
    agent_session = agent_sessions.add(session)
    agent_session.speak_as_session()
    served = handlers.make_server(agent_session.current, agent_sessions.changes, session.table, structured=structured)

    async def serve() -> None:
        lines = StrictLines()
        async with stdio_server(stdin=cast(Any, lines)) as (read, write):
            lines.write = write
            async with anyio.create_task_group() as group:
                group.start_soon(agent_sessions.run)
                await served.run(read, write, served.create_initialization_options())
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


class StrictLines:
    """Yields the lines that are messages to the SDK, which would silently drop others.

    Attributes:
        write: the stream of messages to the client; set before the first line is read.
    """

    write: Any

    def __init__(self) -> None:
        # Child processes must not read the client's messages.
        own = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._input = os.fdopen(own, "rb", closefd=False)

    def __aiter__(self) -> StrictLines:
        return self

    async def __anext__(self) -> str:
        while line := await self._read(MAX_LINE + 2):
            try:
                if len(line) > MAX_LINE + 1 or (len(line) > MAX_LINE and not line.endswith(b"\n")):
                    await self._pass_over(line)
                if not line.isspace():
                    return _message(line)
            except Refusal as refused:
                await self._refuse(line, refused)
        raise StopAsyncIteration

    async def _read(self, most: int) -> bytes:
        return await to_thread.run_sync(self._input.readline, most)

    async def _pass_over(self, line: bytes) -> None:
        """Read to the end of a line that is too long, without buffering it.

        Raises:
            TooLarge: always, at the end of the line.
        """
        while line and not line.endswith(b"\n"):
            line = await self._read(MAX_LINE)
        raise TooLarge(f"a line of over {MAX_LINE:,} bytes was dropped")

    async def _refuse(self, line: bytes, refused: Refusal) -> None:
        data = types.ErrorData(code=_CODES[type(refused)], message=f"{refused.code}: {refused.message}")
        error = types.JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=data)
        try:
            await self.write.send(SessionMessage(error))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise BrokenPipeError from None  # nobody reads replies any more


def _message(line: bytes) -> str:
    """Return a line as the SDK parses it.

    Raises:
        ParseError: it is not one JSON text.
        InvalidRequest: it is no JSON-RPC message.
    """
    message = strict_json.load_line(line.rstrip(b"\r\n"))
    # The SDK takes a request with another id for a notification, which nobody answers.
    if isinstance(message, dict) and {"id", "method"} <= message.keys() and type(message["id"]) not in (str, int):
        raise InvalidRequest("the id of a request is a text or a whole number")
    text = line.decode()
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        raise InvalidRequest("not a message of JSON-RPC 2.0") from None
    return text


def _id_of(line: bytes) -> str | int | None:
    """Return the id of a request, which must be answered even if it is no JSON; None if there is none to find."""
    depth = 0
    for token in _TOKEN.finditer(line):
        if token[0] in b"{[":
            depth += 1
        elif token[0] in b"}]":
            depth -= 1
        elif depth == 1 and token[0] == b'"id"' and (value := _VALUE.match(line, token.end())):
            try:
                id_: str | int = strict_json.load_line(value[1])
            except ParseError:
                return None
            return id_
    return None
