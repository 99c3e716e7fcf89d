"""The limits of MCP over HTTP: how often a token may ask, how long a body may be, that it is strict JSON, and that no
two requests of a session have one id at a time.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import mcp_types as types
import msgspec
from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tui_tasks.channel.line_parser import MAX_LINE
from tui_tasks.core.errors import ParseError
from tui_tasks.dialects.requests import strict_json

# The rate limit of one token, or of one address without a token: a burst, and requests per second.
_BURST_REQUESTS: Final = 200.0
_REQUESTS_PER_SECOND: Final = 50.0
# Seconds that a request may be delayed to keep to the rate; only a longer delay refuses it.
_MAX_DELAY: Final = 2.0
_MAX_CLIENTS: Final = 10_000
# Seconds for the body of a request to arrive.
_BODY_SECONDS: Final = 30.0
_BATCH_REVISION: Final = b"2025-03-26"
_MAX_BATCH: Final = 1_000
# A server without an event store has nothing to replay, and the SDK answers such a request with a 500.
_REPLAY_HEADER: Final = b"last-event-id"


class RequestLimits:
    """Middleware that limits the rate of requests and refuses bodies that are no strict JSON.

    The rate is that of a token: agents of one machine, or behind one proxy, share an address. A request above the rate
    is delayed; if it would be delayed by more than `_MAX_DELAY` seconds, it is refused, and may be sent again after
    `Retry-After`. Its session goes on.

    Args:
        app: the application.
        clock: seconds that never go back.
        sleep: waits for that many seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._app = app
        self._open = RequestIds(app)
        self._clock = clock
        self._sleep = sleep
        # The remaining requests of each client, and the time of that number.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = get_access_token()
        delay = self._delay(f"address {(scope.get('client') or ('',))[0]}" if token is None else token.token)
        if delay > _MAX_DELAY:
            headers = {"Retry-After": str(math.ceil(delay - _MAX_DELAY))}
            await Response("Too many requests", status_code=429, headers=headers)(scope, receive, send)
            return
        if delay:
            await self._sleep(delay)
        if token is None:
            # The application refuses it. Whoever has no token keeps no connection.
            await self._app(scope, receive, _closing(send))
            return
        scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != _REPLAY_HEADER]}
        if scope["method"] == "POST":
            try:
                with anyio.fail_after(_BODY_SECONDS):
                    body, receive = await _body(receive)
            except TimeoutError:
                response: Response | None = _error(408, types.INVALID_REQUEST, "the body did not arrive in time")
            else:
                message, response = _parsed(body)
                if isinstance(message, list) and _takes_batches(scope):
                    response = await self._batch(scope, message)
            if response is None:
                await self._open.serve(message, scope, receive, send)
            else:
                await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _batch(self, scope: Scope, messages: list[Any]) -> Response:
        """Serve the messages of a batch one after another, and return their responses as one array.

        MCP has batches in revision 2025-03-26 alone, and the SDK knows none.
        """
        begins = any(isinstance(message, dict) and message.get("method") == "initialize" for message in messages)
        if begins or not 1 <= len(messages) <= _MAX_BATCH:
            why = f"a batch holds 1 to {_MAX_BATCH:,} messages, and no `initialize`"
            return _error(400, types.INVALID_REQUEST, f"invalid_request: {why}")
        replies: list[Any] = []
        for message in messages:
            reply = _Reply()
            await self._open.serve(message, scope, _sent_whole(msgspec.json.encode(message)), reply.send)
            replies += reply.messages()
        return JSONResponse(replies) if replies else Response(status_code=202)

    def _delay(self, client: str) -> float:
        """Count a request; return the seconds to wait before it. One that will be refused is not counted."""
        now = self._clock()
        left, since = self._left.pop(client, (_BURST_REQUESTS, now))
        left = min(_BURST_REQUESTS, left + (now - since) * _REQUESTS_PER_SECOND) - 1
        delay = max(0.0, -left / _REQUESTS_PER_SECOND)
        self._left[client] = (left + 1 if delay > _MAX_DELAY else left), now
        if len(self._left) > _MAX_CLIENTS:
            self._left.popitem(last=False)
        return delay


class _Reply:
    """The response to one message of a batch."""

    def __init__(self) -> None:
        self._body = b""

    async def send(self, message: Message) -> None:
        """Take a part of the response."""
        self._body += message.get("body", b"")

    def messages(self) -> list[Any]:
        """Return the JSON-RPC messages of the response: its body is one, or a stream of events with one each."""
        if self._body.lstrip()[:1] == b"{":
            return [msgspec.json.decode(self._body)]
        lines = (line[5:].strip() for line in self._body.splitlines() if line.startswith(b"data:"))
        return [msgspec.json.decode(line) for line in lines if line]


def _takes_batches(scope: Scope) -> bool:
    """Whether a request may be of revision 2025-03-26; later ones name themselves in a header."""
    return all(value == _BATCH_REVISION for name, value in scope["headers"] if name == b"mcp-protocol-version")


def _sent_whole(body: bytes) -> Receive:
    """Return a `receive` that yields a request with that body, and then waits for ever."""
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        for part in parts:
            return part
        await anyio.sleep_forever()
        raise AssertionError("it never wakes")

    return receive


def _closing(send: Send) -> Send:
    """Return a `send` whose response closes the connection."""

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await send(message)

    return closing


async def _body(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body of a request, up to the limit, and a `receive` that yields it again."""
    parts: list[Message] = []
    size = 0
    while size <= MAX_LINE:
        message = await receive()
        parts.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    waiting = iter(parts)

    async def again() -> Message:
        part = next(waiting, None)
        return part if part is not None else await receive()

    return b"".join(part.get("body", b"") for part in parts), again


def _parsed(body: bytes) -> tuple[Any, Response | None]:
    """Return the value of a body, and the response to one that is no strict JSON or too long."""
    if len(body) > MAX_LINE:
        return None, _error(413, types.INVALID_REQUEST, f"too_large: a body of over {MAX_LINE:,} bytes")
    try:
        return strict_json.load_line(body), None
    except ParseError as refused:
        return None, _error(400, types.PARSE_ERROR, f"{refused.code}: {refused.message}")


def _error(status: int, code: int, message: str) -> Response:
    payload = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(payload, status_code=status)


# Seconds that a request waits for the end of the one that has its id.
_SAME_ID_SECONDS: Final = 1.0
_SESSION_HEADER: Final = b"mcp-session-id"


class RequestIds:
    """Serves each message once no other request of its session has its id, or refuses it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ends: dict[tuple[bytes, str], anyio.Event] = {}

    async def serve(self, message: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a message, which is the body of the request."""
        session = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        if session is None or not is_request:
            await self._app(scope, receive, send)
            return
        # The SDK takes 1 and "1" for one id.
        key = session, str(message["id"])
        with anyio.move_on_after(_SAME_ID_SECONDS):
            while key in self._ends:
                await self._ends[key].wait()
        if key in self._ends:
            await _refusal(message["id"])(scope, receive, send)
            return
        self._ends[key] = anyio.Event()
        try:
            await self._app(scope, receive, send)
        finally:
            self._ends.pop(key).set()


def _refusal(identifier: Any) -> JSONResponse:
    why = "invalid_request: an open request of this session has this id: give each request an id of its own"
    error = {"code": types.INVALID_REQUEST, "message": why}
    return JSONResponse({"jsonrpc": "2.0", "id": identifier, "error": error}, status_code=400)
