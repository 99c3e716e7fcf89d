"""The client for asyncio: any number of requests at once."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from tui_tasks.client import requests
from tui_tasks.client.errors import ServerGone
from tui_tasks.client.tools import AsyncTools

# A reply may be long.
_MOST: Final = 2**30


class AsyncClient(AsyncTools):
    """A conversation with `tui-tasks serve`; a call that waits holds up no other.

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
        """As `Client` takes them."""
        self._command = requests.server(db, agent, list, read_only=read_only, program=program)
        self._on_message = on_message
        self._server: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._awaited: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        self._last_id = 0

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool, and return its result; as `Client.call`.

        Raises:
            ToolError: it is refused.
            ServerGone: the server cannot be kept running.
        """
        self._last_id += 1
        made = requests.request(self._last_id, tool, arguments or {}, envelope)
        for _ in range(requests.TRIES):
            if (reply := await self._ask(made)) is not None:
                return requests.result(reply, self._on_message)
        raise ServerGone(f"{' '.join(self._command)} ends before it answers")

    async def events(self, since: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """Events as they come, as `Client.events`."""
        failures = 0
        while failures < requests.TRIES:
            failures += 1
            server = await self._start()
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                asked = {"since": since} if since is not None else {}
                server.stdin.write(requests.line(requests.request(0, requests.LISTENED_TO, asked, {})))
                while line := await server.stdout.readline():
                    told = requests.decode(line)
                    if "ok" in told:
                        since = requests.result(told, self._on_message)["seq"] if since is None else since
                        continue
                    if told["event"] == "lagged":
                        since = told["since"]
                        break
                    failures, since = 0, told["seq"]
                    yield told
            finally:
                await _end(server)
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self.call(tool, {name: value for name, value in arguments.items() if value is not None})

    async def _start(self) -> Process:
        return await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE, limit=_MOST)

    async def _ask(self, made: dict[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None where the server has ended."""
        async with self._starting:
            if self._server is None:
                self._server = await self._start()
                self._reader = asyncio.create_task(self._read(self._server))
            server = self._server
        assert server.stdin is not None
        answered: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self._awaited[made["id"]] = answered
        try:
            with contextlib.suppress(OSError):
                server.stdin.write(requests.line(made))
                await server.stdin.drain()
            return await answered
        finally:
            self._awaited.pop(made["id"], None)

    async def _read(self, server: Process) -> None:
        """Hand out the replies; at the end of the server all that wait are told."""
        assert server.stdout is not None
        with contextlib.suppress(OSError):
            while line := await server.stdout.readline():
                reply = requests.decode(line)
                waiting = self._awaited.get(reply.get("id")) if "ok" in reply else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply)
        if self._server is server:
            self._server = None
        for waiting in self._awaited.values():
            if not waiting.done():
                waiting.set_result(None)
        await _end(server)

    async def close(self) -> None:
        """End the server; whatever was answered is done."""
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
