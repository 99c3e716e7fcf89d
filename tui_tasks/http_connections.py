"""The sockets and connections of the HTTP servers: small packets at once, and limits against half-open connections."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, cast

# Seconds from the connection until the head of its first request has arrived.
HEAD_SECONDS: Final = 10.0
# How many connections of one address may wait for the head of a request. A new one closes the oldest of them.
MAX_HALF_OPEN: Final = 32
# Descriptors that are kept for the database, logs and the program itself.
_KEPT_DESCRIPTORS: Final = 128
_MAX_DESCRIPTORS: Final = 65_536
_END_OF_HEAD: Final = b"\r\n\r\n"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket for a server of asyncio.

    The protocol of the socket is named. Without it, asyncio leaves TCP_NODELAY off, and each reply on a kept connection
    takes 40 ms.

    Raises:
        OSError: the address cannot be used, or the port is no port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listening.bind((host, port))
        except OverflowError:
            raise OSError(errno.EINVAL, "a port is a number from 0 to 65535") from None
        listening.listen(128)
    except BaseException:
        listening.close()
        raise
    return listening


class ConnectionGuard:
    """Limits the connections of a server, so that unfinished requests take no place from others.

    A connection has `HEAD_SECONDS` to send the head of its first request. Of one address, `MAX_HALF_OPEN` may wait at a
    time: a further one closes the oldest. When nearly all descriptors are in use, a new connection is closed at once.

    Args:
        max_connections: how many connections may be open; None: as many as the process has descriptors for.
    """

    def __init__(self, max_connections: int | None = None) -> None:
        self._max = _raise_descriptors() - _KEPT_DESCRIPTORS if max_connections is None else max_connections
        self._half_open: dict[str, OrderedDict[_Guarded, None]] = {}
        self._open = 0

    def guard(self, protocol: asyncio.Protocol) -> asyncio.Protocol:
        """Return a protocol that hands everything to the server's own, within the limits."""
        return _Guarded(self, protocol)

    def opened(self, connection: _Guarded, source: str) -> bool:
        """Count a new connection; return whether there is room for it."""
        if self._open >= self._max:
            return False
        self._open += 1
        waiting = self._half_open.setdefault(source, OrderedDict())
        waiting[connection] = None
        if len(waiting) > MAX_HALF_OPEN:
            oldest, _ = waiting.popitem(last=False)
            oldest.abort()
        return True

    def head_arrived(self, connection: _Guarded, source: str) -> None:
        """Count a connection no longer as half-open."""
        waiting = self._half_open.get(source)
        if waiting is not None:
            waiting.pop(connection, None)
            if not waiting:
                del self._half_open[source]

    def closed(self, connection: _Guarded, source: str) -> None:
        """Count a connection that was open no longer."""
        self._open -= 1
        self.head_arrived(connection, source)


class _Guarded(asyncio.Protocol):
    """A connection on its way to the server's own protocol."""

    def __init__(self, guard: ConnectionGuard, protocol: asyncio.Protocol) -> None:
        self._guard = guard
        self._protocol = protocol
        self._transport: asyncio.Transport | None = None
        self._source = ""
        self._tail = b""
        self._deadline: asyncio.TimerHandle | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._source = str((transport.get_extra_info("peername") or ("",))[0])
        if not self._guard.opened(self, self._source):
            self._is_refused = True
            self._transport.abort()
            return
        self._deadline = asyncio.get_running_loop().call_later(HEAD_SECONDS, self.abort)
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if self._deadline is not None:
            seen = self._tail + data
            if _END_OF_HEAD in seen:
                self._deadline.cancel()
                self._deadline = None
                self._guard.head_arrived(self, self._source)
            else:
                self._tail = seen[-3:]
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self._is_refused else self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_refused:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._guard.closed(self, self._source)
        self._protocol.connection_lost(exc)

    def abort(self) -> None:
        """Close the connection without a reply."""
        if self._transport is not None:
            self._transport.abort()


def guarded(guard: ConnectionGuard, factory: Callable[..., asyncio.Protocol]) -> Callable[..., asyncio.Protocol]:
    """Return a factory of a server's protocols whose connections are limited."""
    return lambda *given, **named: guard.guard(factory(*given, **named))


def _raise_descriptors() -> int:
    """Raise this process's limit of descriptors as far as it may, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return _MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
