"""One server process, driven by the SDK's own client, for many tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp
from anyio.from_thread import start_blocking_portal
from mcp.client.stdio import stdio_client

from tui_tasks import clock
from tui_tasks.channel.session import Session
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity, confinement
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.mcp_server.async_sessions import AsyncSessions
from tui_tasks.mcp_server.handlers import make_server
from tui_tasks.mcp_server.tool_listing import NOT_OVER_MCP


def command(db: Path, *options: str) -> mcp.StdioServerParameters:
    return mcp.StdioServerParameters(command=sys.executable, args=["-m", "tui_tasks", "mcp", "--db", str(db), *options])


@asynccontextmanager
async def session_over_stdio(db: Path, *options: str, **client: Any) -> Any:
    """A session of the handshake era with a server of its own."""
    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(stdio_client(command(db, *options)))
        session = await stack.enter_async_context(mcp.ClientSession(read, write, **client))
        await session.initialize()
        yield session


def held(result: Any) -> Any:
    """The content of a tool's result."""
    assert not result.is_error, result.content
    assert result.structured_content is None
    (only,) = result.content
    return json.loads(only.text)


def error(result: Any) -> dict[str, Any]:
    assert result.is_error
    found: dict[str, Any] = result.structured_content["error"]
    return found


class Driven:
    """A session in the language of tests that are not asynchronous.

    Attributes:
        db: the server's database.
    """

    def __init__(self, portal: Any, session: Any, db: Path) -> None:
        self._portal = portal
        self.session = session
        self.db = db

    def run(self, call: Any, *arguments: Any) -> Any:
        return self._portal.call(call, *arguments)

    def call(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        return self._portal.call(lambda: self.session.call_tool(tool, arguments, meta=meta))

    def ok(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        return held(self.call(tool, meta, **arguments))

    def refused(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> dict[str, Any]:
        return error(self.call(tool, meta, **arguments))


@contextmanager
def driven(db: Path, *options: str, **client: Any) -> Iterator[Driven]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(session_over_stdio(db, *options, **client)) as session,
    ):
        yield Driven(portal, session, db)


class Served:
    """A server in this process, and the store it works on."""

    def __init__(self, store: Store, server: Any) -> None:
        self.store = store
        self.server = server

    def answer(self, text: str) -> None:
        """Answer the one open question, as the screen does in another process."""
        with Store(self.store.path) as screen:
            (asked,) = ask_queries.open_asks(screen.db)
            screen.commit(AnswerAsk(asked.uid, text), actor="human", now=clock.now())


@asynccontextmanager
async def served(path: Path, **identity: Any) -> Any:
    """A server that clients of this process talk to without a pipe."""
    with Store(str(path)) as store:
        session = Session(
            store, confinement.without(TABLE, NOT_OVER_MCP), Identity(agent_only=True, **identity), clock.now
        )
        agent_sessions = AsyncSessions(store, lambda: session.identity)
        agent_session = agent_sessions.add(session)
        async with anyio.create_task_group() as group:
            group.start_soon(agent_sessions.run)
            yield Served(store, make_server(lambda: agent_session, agent_sessions.changes, session.table))
            group.cancel_scope.cancel()
