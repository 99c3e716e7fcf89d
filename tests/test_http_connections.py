"""What the HTTP servers have in common: sockets without delay, and limits for connections that send no request."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

import pytest

from tests.started import DEADLINE
from tui_tasks import http_connections
from tui_tasks.http_connections import MAX_HALF_OPEN, ConnectionGuard, guarded, listen

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Answering(asyncio.Protocol):
    """A server that answers each piece that arrives."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"heard")


def story(script: Callable[[Callable[[], Awaitable[Connection]]], Awaitable[None]], limit: int = 1_000) -> None:
    """Run a script that is given a way to connect to a guarded server."""

    async def run() -> None:
        bound = listen("127.0.0.1", 0)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(guarded(ConnectionGuard(limit), Answering), sock=bound)
        opened: list[asyncio.StreamWriter] = []

        async def connect() -> Connection:
            connection = await asyncio.open_connection(*bound.getsockname())
            opened.append(connection[1])
            return connection

        async with server, asyncio.timeout(DEADLINE):
            await script(connect)
            for writer in opened:
                writer.close()

    asyncio.run(run())


async def is_served(connection: Connection) -> bool:
    """Whether a connection that sends a whole request is answered."""
    try:
        connection[1].write(HEAD)
        return await connection[0].read(5) == b"heard"
    except ConnectionError:
        return False


def test_small_replies_leave_at_once() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()) as client:
        accepted, _ = listening.accept()
        with accepted:
            # asyncio sets TCP_NODELAY on sockets of this protocol alone.
            assert accepted.proto == socket.IPPROTO_TCP
            assert client.proto is not None

    async def script(connect: Callable[[], Awaitable[Connection]]) -> None:
        reader, writer = await connect()
        writer.write(HEAD)
        assert await reader.read(5) == b"heard"

    story(script)


def test_a_new_connection_closes_the_oldest_that_has_sent_no_request() -> None:
    async def script(connect: Callable[[], Awaitable[Connection]]) -> None:
        served = await connect()
        assert await is_served(served)
        half_open = [await connect() for _ in range(MAX_HALF_OPEN)]
        for _, writer in half_open:
            writer.write(b"GET / HTTP/1.1\r\n")
        assert await is_served(await connect())
        with pytest.raises(ConnectionError):
            # What was answered first is closed by an abort; what came before it is read.
            while await half_open[0][0].read(5):
                pass
            raise ConnectionResetError
        assert await is_served(half_open[-1])
        assert await is_served(served)

    story(script)


def test_a_request_whose_head_does_not_arrive_in_time_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(connect: Callable[[], Awaitable[Connection]]) -> None:
        served = await connect()
        assert await is_served(served)
        monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.05)
        slow = await connect()
        slow[1].write(HEAD[:-1])
        with contextlib.suppress(ConnectionError):
            assert await slow[0].read() in (b"", b"heard")
        assert await is_served(served)

    story(script)


def test_a_head_in_pieces_is_a_head() -> None:
    async def script(connect: Callable[[], Awaitable[Connection]]) -> None:
        reader, writer = await connect()
        for byte in HEAD:
            writer.write(bytes((byte,)))
            assert await reader.readexactly(5) == b"heard"
        half_open = [await connect() for _ in range(MAX_HALF_OPEN)]
        assert await is_served(half_open[-1])
        assert await is_served((reader, writer)), "it waits for no head, so that it is not the oldest that does"

    story(script)


def test_more_connections_than_there_is_room_for_are_closed_and_the_others_stay() -> None:
    async def script(connect: Callable[[], Awaitable[Connection]]) -> None:
        first, second = await connect(), await connect()
        assert await is_served(first)
        assert await is_served(second)
        third = await connect()
        assert not await is_served(third)
        first[1].close()
        await first[1].wait_closed()
        while not await is_served(await connect()):
            pass
        assert await is_served(second)

    story(script, limit=2)
