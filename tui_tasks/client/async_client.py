"""The client for asyncio, with any number of requests at once."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from tui_tasks.client import requests
from tui_tasks.client.errors import ServerGone
from tui_tasks.client.tools import AsyncTools

# The limit of a line; replies may be long.
_MAX_LINE_BYTES: Final = 2**30


class AsyncClient(AsyncTools):
    """A connection to a `tui-tasks serve` process; a waiting call does not block others.

    Each tool is a method: `await client.tasklist_add_task(name="Build")`. `async with AsyncClient(...)` closes it.
    """

    def __init__(
        self,
        db: str | None = None,
        *,
        agent: str | None = None,
        list: str | None = None,
        read_only: bool = False,
        on_message: Callable[[str], None] = lambda text: None,
        program: Sequence[str] | None = None,
    ) -> None:
        """See `Client` for the arguments."""
        self._command = requests.server_command(db, agent, list, read_only=read_only, program=program)
        self._on_message = on_message
        self._server: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._pending: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        self._last_id = 0

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool; return its result. See `Client.call`.

        Raises:
            ToolError: the call was refused.
            ServerGone: the server cannot be kept running.
        """
        self._last_id += 1
        request = requests.request(self._last_id, tool, arguments or {}, envelope)
        for _ in range(requests.TRIES):
            if (reply := await self._ask(request)) is not None:
                return requests.result(reply, self._on_message)
        raise ServerGone(f"{' '.join(self._command)} ends before it answers")

    async def events(self, since: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield events as they happen. See `Client.events`.

        Raises:
            ToolError: the subscription was refused.
            ServerGone: the server cannot be kept running.
        """
        failures = 0
        while failures < requests.TRIES:
            failures += 1
            server = await self._start()
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                arguments = {"since": since} if since is not None else {}
                server.stdin.write(requests.line(requests.request(0, requests.SUBSCRIBE, arguments, {})))
                while line := await server.stdout.readline():
                    message = requests.decode(line)
                    if "ok" in message:
                        since = requests.result(message, self._on_message)["seq"] if since is None else since
                        continue
                    if message["event"] == "lagged":
                        since = message["since"]
                        break
                    failures, since = 0, message["seq"]
                    yield message
            finally:
                await _end(server)
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self.call(tool, {name: value for name, value in arguments.items() if value is not None})

    async def _start(self) -> Process:
        return await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE, limit=_MAX_LINE_BYTES)

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended."""
        async with self._starting:
            if self._server is None:
                self._server = await self._start()
                self._reader = asyncio.create_task(self._read(self._server))
            server = self._server
        assert server.stdin is not None
        reply: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self._pending[request["id"]] = reply
        try:
            with contextlib.suppress(OSError):
                server.stdin.write(requests.line(request))
                await server.stdin.drain()
            return await reply
        finally:
            self._pending.pop(request["id"], None)

    async def _read(self, server: Process) -> None:
        """Resolve each pending request with its reply; when the server ends, the others with None."""
        assert server.stdout is not None
        with contextlib.suppress(OSError):
            while line := await server.stdout.readline():
                reply = requests.decode(line)
                pending = self._pending.get(reply.get("id")) if "ok" in reply else None
                if pending is not None and not pending.done():
                    pending.set_result(reply)
        if self._server is server:
            self._server = None
        for pending in self._pending.values():
            if not pending.done():
                pending.set_result(None)
        await _end(server)

    async def close(self) -> None:
        """End the server. Whatever it replied to is stored."""
        server, reader = self._server, self._reader
        if server is not None and server.stdin is not None:
            server.stdin.close()
        if reader is not None:
            await reader

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _end(server: Process) -> None:
    assert server.stdin is not None
    with contextlib.suppress(OSError):
        server.stdin.close()
    try:
        await asyncio.wait_for(server.wait(), 5)
    except TimeoutError:
        server.kill()
        await server.wait()
