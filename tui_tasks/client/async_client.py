"""The client for asyncio, with any number of requests at once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final

from tui_tasks.client import requests
from tui_tasks.client.requests import ServerGone
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
        self._connection: _Connection | None = None
        self._starting = asyncio.Lock()
        self._ids = itertools.count(1)

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool; return its result. See `Client.call`. A call that is cancelled withdraws its question.

        Raises:
            ToolError: the call was refused.
            ServerGone: the server cannot be kept running, or the client was closed meanwhile.
        """
        request = requests.request(next(self._ids), tool, arguments or {}, envelope)
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
            server = await _start(self._command)
            assert server.stdin is not None
            try:
                arguments = {"since": since} if since is not None else {}
                server.stdin.write(requests.line(requests.request(0, requests.SUBSCRIBE, arguments, {})))
                async for message in _messages(server):
                    if "ok" in message:
                        since = requests.result(message, self._on_message)["seq"] if since is None else since
                    elif message["event"] == "lagged":
                        failures, since = 0, message["since"]
                        break
                    else:
                        failures, since = 0, message["seq"]
                        yield message
            finally:
                await _end(server)
        raise ServerGone(f"{' '.join(self._command)} ends again and again")

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self.call(tool, arguments)

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended.

        Raises:
            ServerGone: the client was closed meanwhile.
        """
        async with self._starting:
            if self._connection is None or not self._connection.is_open:
                self._connection = _Connection(await _start(self._command), self._ids)
            connection = self._connection
        return await connection.ask(request)

    async def close(self) -> None:
        """End the server. Whatever it replied to is stored; calls that wait are cancelled."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Connection:
    """A server, and the task that hands each of its replies to the call that waits for it.

    Attributes:
        is_open: whether the server takes requests, as far as is known.
    """

    def __init__(self, server: Process, ids: Iterator[int]) -> None:
        self._server = server
        self._ids = ids
        # The requests without a reply yet; None in place of a reply: the server has ended.
        self._waiting: dict[int, tuple[dict[str, Any], asyncio.Future[dict[str, Any] | None]]] = {}
        self.is_open = True
        self._is_closed = False
        self._reader = asyncio.create_task(self._read())

    async def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the reply to a request; None if the server ended.

        Raises:
            ServerGone: the connection was closed meanwhile.
        """
        future: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self._waiting[request["id"]] = request, future
        try:
            await self._send(request)
            reply = await future
        except asyncio.CancelledError:
            self._cancel(request)
            raise
        finally:
            self._waiting.pop(request["id"], None)
        if reply is None and self._is_closed:
            raise ServerGone("the client was closed while the call waited")
        return reply

    async def _send(self, request: dict[str, Any]) -> None:
        """Write a request. If the server has ended, its output says so."""
        assert self._server.stdin is not None
        with contextlib.suppress(OSError):
            self._server.stdin.write(requests.line(request))
            await self._server.stdin.drain()

    def _cancel(self, request: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        if self.is_open and not self._server.stdin.is_closing():
            self._server.stdin.write(requests.line(requests.cancellation(next(self._ids), request)))

    async def _read(self) -> None:
        async for message in _messages(self._server):
            _, future = self._waiting.get(message.get("id", 0), (None, None)) if "ok" in message else (None, None)
            if future is not None and not future.done():
                future.set_result(message)
        # What it wrote last was no line, or its end: it serves no more.
        self.is_open = False
        for _, future in list(self._waiting.values()):
            if not future.done():
                future.set_result(None)
        await _end(self._server)

    async def close(self) -> None:
        """End the server; calls that wait are cancelled."""
        assert self._server.stdin is not None
        self._is_closed = True
        for request, _ in list(self._waiting.values()):
            self._cancel(request)
        self._server.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), requests.END_SECONDS)
        except TimeoutError:
            self._server.kill()
            await self._reader


async def _start(command: Sequence[str]) -> Process:
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=_MAX_LINE_BYTES)


async def _messages(server: Process) -> AsyncIterator[dict[str, Any]]:
    assert server.stdout is not None
    with contextlib.suppress(OSError):
        while (message := requests.decode(await server.stdout.readline())) is not None:
            yield message


async def _end(server: Process) -> None:
    """End a server by closing its input; kill it if it does not end in time."""
    assert server.stdin is not None
    with contextlib.suppress(OSError):
        server.stdin.close()
    try:
        await asyncio.wait_for(server.wait(), requests.END_SECONDS)
    except TimeoutError:
        server.kill()
        await server.wait()
