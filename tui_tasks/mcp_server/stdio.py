"""MCP on standard input and output."""

from __future__ import annotations

import logging
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from tui_tasks.channel.session import Session
from tui_tasks.mcp_server import server
from tui_tasks.mcp_server.conversations import Conversations
from tui_tasks.mcp_server.lines import StrictLines

_log = logging.getLogger(__name__)


def run(session: Session, *, structured: bool) -> bool:
    """Serve until the client goes; return whether every reply could be written. `structured`: results are data."""
    conversations = Conversations(session.store, session.identity)
    conversation = conversations.begin(session)
    served = server.make(lambda: conversation, conversations.changes, session.table, structured=structured)

    async def serve() -> None:
        lines = StrictLines()
        async with stdio_server(stdin=cast(Any, lines)) as (read, write):
            lines.write = write
            async with anyio.create_task_group() as group:
                group.start_soon(conversations.run)
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
